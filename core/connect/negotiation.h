// From a negotiation over some other channel (a TCP connection) to a port on a link: what streams (core/stream) and
// calls (core/rpc) have in common. The caller carries two opaque messages: the connector's offer and the listener's
// answer. Links to the same peer process are found and shared here, whatever is on them.
#ifndef SKEIN_CORE_CONNECT_NEGOTIATION_H_
#define SKEIN_CORE_CONNECT_NEGOTIATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/fallback.h"
#include "core/connect/fabrics.h"
#include "core/connect/route.h"
#include "core/link/link.h"
#include "core/wait/source.h"
#include "core/wire/negotiation.h"

namespace skein::link {
class Shares;
}

namespace skein::connect {

// Of links, whatever is on them.
struct Options {
  size_t ring_bytes = 1 << 20;  // receive ring per link; multiple of 64 KiB
  uint64_t max_staging_bytes = uint64_t{64}
                               << 20;  // largest ring of a peer, where the fabric needs as much memory here
  // Of the passive side's. On shared memory, where no NIC has to remember queue pairs, as many ports between two
  // processes have a link each: none waits for the thread that polls for another. Further ports are shared out.
  // Elsewhere all share one.
  size_t links = 1;
  // As LinkOptions has them; null: the passive side has its own, by real time.
  std::shared_ptr<link::Shares> shares = nullptr;
  bool combines = true;  // the same
};

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
  // Of the asked end: whether its peers are all given the same memory.
  virtual bool shares_memory() const { return false; }
  virtual std::shared_ptr<link::Port> MakePort(Place place) = 0;
};

// What has become of a negotiation.
struct Placement {
  std::shared_ptr<link::Port> port;
  // Why there is none; with a port, why none of a better fabric (kNone: it is of the best).
  Fallback why;
  // Without a port: the peer knows that there is none. Otherwise it has a port that will never be used, and whose end
  // it sees when the other channel closes.
  bool both_know = false;
  // Whether the peer has been reached by the fabric itself. If not, Flushing::When says whether it can be.
  bool reached = false;
  // Those of the offered features that the listening end has, too. None if it is of an earlier version.
  uint8_t features = 0;
};

// The asking end; one per process. Thread-safe. Nothing blocks beyond a handful of local system calls.
class Connector {
 public:
  // One negotiation. Destroying it unfinished withdraws the offer.
  class Attempt {
   public:
    virtual ~Attempt() = default;
    // Bytes for the peer's Listener::Accept; at most kMaxOfferBytes.
    virtual absl::string_view offer() const = 0;
    // The peer's answer, whatever it is (hostile bytes give kProtocol). Call once.
    virtual Placement Complete(absl::string_view answer) = 0;
  };
  virtual ~Connector() = default;
  // FallbackError when no fabric may lead along this route. `features`: what the caller could do on the port, as bits.
  virtual absl::StatusOr<std::unique_ptr<Attempt>> Begin(const Route& route, uint8_t features = 0) = 0;
};

// The asked end; one per process. Thread-safe.
class Listener {
 public:
  struct Result {
    std::string answer;  // bytes for the peer's Attempt::Complete; at most kMaxAnswerBytes
    Placement placement;
  };
  virtual ~Listener() = default;
  // Judges an offer. A peer may have a way that this end does not: it is told why that is none. When the placement has
  // a port, all memory is mapped already and the port may be written to as soon as the peer has attached (its window
  // opens then). `features` as in Begin.
  virtual Result Accept(absl::string_view offer, const Route& route, uint8_t features = 0) = 0;
};

inline constexpr size_t kMaxOfferBytes = 256;
inline constexpr size_t kMaxAnswerBytes = 1024;

// `waiter` outlives what is returned. Windows are the service's. After fork() the child's copies refuse with kResources
// rather than touch the parent's links.
std::unique_ptr<Connector> CreateConnector(std::shared_ptr<Fabrics> fabrics, const Options& options,
                                           wait::Watcher* waiter, std::shared_ptr<Service> service);
std::unique_ptr<Listener> CreateListener(std::shared_ptr<Fabrics> fabrics, const Options& options,
                                         wait::Watcher* waiter, std::shared_ptr<Service> service);

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_NEGOTIATION_H_
