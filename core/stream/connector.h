// From a negotiation over some other channel (a TCP connection) to a Stream. The adapter carries two opaque messages:
// the connector's offer and the listener's answer. Links to the same peer process are found and shared here.
#ifndef SKEIN_CORE_STREAM_CONNECTOR_H_
#define SKEIN_CORE_STREAM_CONNECTOR_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/fallback.h"
#include "core/progress/progress.h"
#include "core/schedule/pool_size.h"
#include "core/stream/fabrics.h"
#include "core/stream/stream.h"

namespace skein::link {
class Shares;
}

namespace skein::stream {

struct StreamOptions {
  size_t ring_bytes = 1 << 20;                     // receive ring per link; multiple of 64 KiB
  size_t window_bytes = 1 << 20;                   // receive window per stream
  uint64_t max_mirror_bytes = uint64_t{64} << 20;  // largest ring of a peer, where the fabric needs as much memory here
  uint16_t queue_pairs = 4;                        // per link, when its streams contend for them
  // Of the passive side's. Where posts copy, and no NIC has to remember each queue pair: as many streams between two
  // processes have a link each, so that none waits for the thread that polls for another; further ones are shared out.
  // Elsewhere all share one.
  size_t links = 1;
  int64_t large_payload = -1;  // bytes of one Write that the peer pulls; 0: none; -1: see below
  // As LinkOptions has them: the active side's, and the passive side's (null: its own, by real time).
  std::function<schedule::PoolWish(uint32_t percent, size_t lanes)> pool = schedule::PoolSize();
  std::shared_ptr<link::Shares> shares = nullptr;
  bool combines = true;  // the same
};

// Unless asked for, nothing is pulled where posts copy: there the ring is faster, and keeps what a dead process wrote.
inline constexpr size_t kLargePayload = 64 << 10;

struct Outcome {
  std::shared_ptr<Stream> stream;
  // Why there is none; with a stream, why none of a better fabric (kNone: it is of the best).
  Fallback why;
  // Without a stream: the peer knows that there is none. Otherwise it has a stream that will never be used, and whose
  // end it sees when the other channel closes.
  bool both_know = false;
  // Whether the peer has been reached by the fabric itself. If not, Stream::WhenReached says whether it can be.
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
    virtual Outcome Complete(absl::string_view answer) = 0;
  };
  virtual ~Connector() = default;
  // FallbackError when no fabric may lead along this route. `features`: what the adapter could do on the stream, as
  // bits.
  virtual absl::StatusOr<std::unique_ptr<Attempt>> Begin(const Route& route, uint8_t features = 0) = 0;
};

// The asked end; one per process. Thread-safe.
class Listener {
 public:
  struct Result {
    std::string answer;  // bytes for the peer's Attempt::Complete; at most kMaxAnswerBytes
    Outcome outcome;
  };
  virtual ~Listener() = default;
  // Judges an offer. A peer may have a way that this end does not: it is told why that is none. When the outcome has a
  // stream, all memory is mapped already and the stream may be written to as soon as the peer has attached (its window
  // opens then); if the peer never attaches, Abort it when the other channel closes.
  // `features` as in Begin.
  virtual Result Accept(absl::string_view offer, const Route& route, uint8_t features = 0) = 0;
};

// An answer that says no to any offer.
Listener::Result Decline(Fallback why);

inline constexpr size_t kMaxOfferBytes = 256;
inline constexpr size_t kMaxAnswerBytes = 1024;

// `waiter` outlives what is returned. After fork() the child's copies refuse with kResources rather than touch the
// parent's links.
std::unique_ptr<Connector> CreateConnector(std::shared_ptr<Fabrics> fabrics, const StreamOptions& options,
                                           progress::Waiter* waiter);
std::unique_ptr<Listener> CreateListener(std::shared_ptr<Fabrics> fabrics, const StreamOptions& options,
                                         progress::Waiter* waiter);

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_CONNECTOR_H_
