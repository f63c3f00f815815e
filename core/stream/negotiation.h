// From a negotiation over some other channel to a port on a link: what streams (connector.h) and calls (core/rpc) have
// in common. Links to the same peer process are found and shared here, whatever is on them.
#ifndef SKEIN_CORE_STREAM_NEGOTIATION_H_
#define SKEIN_CORE_STREAM_NEGOTIATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/fallback.h"
#include "core/link/link.h"
#include "core/progress/progress.h"
#include "core/stream/connector.h"
#include "core/stream/fabrics.h"
#include "core/wire/negotiation.h"

namespace skein::stream {

// Where a port is to be: of both ends the same stream number on the same link.
struct Place {
  std::shared_ptr<link::Link> link;
  uint32_t stream = 0;
  uint64_t send_window = 0;      // what the peer lets this end send to begin with
  std::function<void()> on_end;  // to be called once, without locks, when the port has left the link
  // To be called without locks when the port has lost its owner, whether or not it has ended. May be null.
  std::function<void()> on_abandoned = nullptr;
  bool opened = true;  // false: the peer may not know the stream yet; its open item says when it does
};

// What the two ends of a place are. Any thread.
class Service {
 public:
  virtual ~Service() = default;
  virtual wire::Service name() const = 0;
  // What the peer may send to begin with, in the service's own unit.
  virtual uint64_t window() const = 0;
  // Whether its ports take blocks.
  virtual bool takes_blocks() const { return false; }
  // Whether its ports read and write the peer's memory.
  virtual bool one_sided() const { return false; }
  // Of the asked end: whether its peers are all given the same memory.
  virtual bool shares_memory() const { return false; }
  virtual std::shared_ptr<link::Port> MakePort(Place place) = 0;
};

// The same as Outcome, of any service.
struct Placement {
  std::shared_ptr<link::Port> port;
  Fallback why;
  bool both_know = false;
  bool reached = false;
  uint8_t features = 0;
};

// The asking end, as Connector is. `waiter` outlives it.
class LinkConnector {
 public:
  class Attempt {
   public:
    virtual ~Attempt() = default;
    virtual absl::string_view offer() const = 0;
    virtual Placement Complete(absl::string_view answer) = 0;
  };
  virtual ~LinkConnector() = default;
  virtual absl::StatusOr<std::unique_ptr<Attempt>> Begin(const Route& route, uint8_t features = 0) = 0;
};

// The asked end, as Listener is.
class LinkListener {
 public:
  struct Result {
    std::string answer;
    Placement placement;
  };
  virtual ~LinkListener() = default;
  virtual Result Accept(absl::string_view offer, const Route& route, uint8_t features = 0) = 0;
};

// Of `options`, windows are the service's.
std::unique_ptr<LinkConnector> CreateLinkConnector(std::shared_ptr<Fabrics> fabrics, const StreamOptions& options,
                                                   progress::Waiter* waiter, std::shared_ptr<Service> service);
std::unique_ptr<LinkListener> CreateLinkListener(std::shared_ptr<Fabrics> fabrics, const StreamOptions& options,
                                                 progress::Waiter* waiter, std::shared_ptr<Service> service);

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_NEGOTIATION_H_
