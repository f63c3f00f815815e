// Which fabrics may reach a peer, by what is known before it is asked.
#ifndef SKEIN_CORE_CONNECT_FABRICS_H_
#define SKEIN_CORE_CONNECT_FABRICS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/fallback.h"
#include "core/channel/ring/ring_group.h"
#include "core/connect/fabric_kind.h"
#include "core/connect/route.h"
#include "core/fabric/fabric.h"

namespace skein::connect {

// Either a transport, or why there is none.
struct Candidate {
  std::string kind;  // "shm", "rdma"
  std::shared_ptr<channel::Transport> transport;
  Fallback why_not;
  bool named = false;  // by a user, who knows whom it reaches: addresses of the connection are not compared
};

// Any thread.
class Fabrics {
 public:
  virtual ~Fabrics() = default;
  // Best first, each kind once.
  virtual std::vector<Candidate> For(const Route& route) = 0;
  // Judges what a peer of that route says of its end of a queue pair, before it is connected. FallbackError.
  virtual absl::Status CheckPeer(const Route& route, absl::string_view kind, absl::string_view queue_pair) = 0;
  // A link of that kind failed, or never came to be, while the connection of `route` was well: it is left alone for a
  // while.
  virtual void Failed(const Route& route, absl::string_view kind) = 0;
};

// The same transport for every peer; of a device: rings on its queue pairs.
class OneFabric final : public Fabrics {
 public:
  explicit OneFabric(std::shared_ptr<channel::Transport> transport) : transport_(std::move(transport)) {}
  explicit OneFabric(std::shared_ptr<fabric::Device> device)
      : OneFabric(std::make_shared<channel::RingTransport>(std::move(device))) {}
  std::vector<Candidate> For(const Route&) override { return {{FabricKind(transport_->name()), transport_, {}}}; }
  absl::Status CheckPeer(const Route&, absl::string_view, absl::string_view) override { return absl::OkStatus(); }
  void Failed(const Route&, absl::string_view) override {}

 private:
  const std::shared_ptr<channel::Transport> transport_;
};

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_FABRICS_H_
