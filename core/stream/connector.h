// From a negotiation over some other channel (a TCP connection) to a Stream: core/connect's, with streams for ports.
#ifndef SKEIN_CORE_STREAM_CONNECTOR_H_
#define SKEIN_CORE_STREAM_CONNECTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/fallback.h"
#include "core/connect/fabrics.h"
#include "core/connect/negotiation.h"
#include "core/connect/route.h"
#include "core/stream/stream.h"
#include "core/wait/source.h"

namespace skein::stream {

struct StreamOptions {
  connect::Options link = {};     // of the links that streams are on
  size_t window_bytes = 1 << 20;  // receive window per stream
  int64_t large_payload = -1;     // bytes of one Write that the peer reads by rendezvous; 0: none; -1: see below
};

// By default, over a device. A shared-memory channel has none: it carries large payloads itself.
inline constexpr size_t kLargePayload = 64 << 10;

// What connect::Placement says, with the port's stream.
struct Outcome {
  std::shared_ptr<Stream> stream;
  Fallback why;
  bool both_know = false;
  // If the peer has not been reached by the fabric itself, Stream::WhenReached says whether it can be.
  bool reached = false;
  uint8_t features = 0;
};

// The asking end, as connect::Connector is.
class Connector {
 public:
  class Attempt {
   public:
    virtual ~Attempt() = default;
    virtual absl::string_view offer() const = 0;
    virtual Outcome Complete(absl::string_view answer) = 0;
  };
  virtual ~Connector() = default;
  virtual absl::StatusOr<std::unique_ptr<Attempt>> Begin(const connect::Route& route, uint8_t features = 0) = 0;
};

// The asked end, as connect::Listener is.
class Listener {
 public:
  struct Result {
    std::string answer;
    Outcome outcome;
  };
  virtual ~Listener() = default;
  // If the peer never attaches to the outcome's stream, Abort it when the other channel closes.
  virtual Result Accept(absl::string_view offer, const connect::Route& route, uint8_t features = 0) = 0;
};

// An answer that says no to any offer.
Listener::Result Decline(Fallback why);

// `waiter` outlives what is returned.
std::unique_ptr<Connector> CreateConnector(std::shared_ptr<connect::Fabrics> fabrics, const StreamOptions& options,
                                           wait::Watcher* waiter);
std::unique_ptr<Listener> CreateListener(std::shared_ptr<connect::Fabrics> fabrics, const StreamOptions& options,
                                         wait::Watcher* waiter);

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_CONNECTOR_H_
