// One stream's place on a link: what the link tells it. Lives until Ports::Remove and as long as a poll is under way.
#ifndef SKEIN_CORE_LINK_PORT_H_
#define SKEIN_CORE_LINK_PORT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/received_bytes.h"
#include "core/link/hop.h"

namespace skein::link {

class Blocks;
class Bulk;
class Outgoing;
class Ports;
class Receiver;
class SendQueue;

// The On* methods are called by the one thread that polls the link at the time, in the order of the wire. They take
// note; an error they return is the peer's protocol error and ends the link. Notify then follows, once per batch,
// with no lock of the link held: the place to call observers from. Never two calls at once.
class Port : public std::enable_shared_from_this<Port> {
 public:
  explicit Port(uint32_t stream) : stream_(stream) {}
  virtual ~Port() = default;

  // `payload` is in the ring: copy it before anything looks at it.
  virtual absl::Status OnData(absl::Span<const std::byte> payload) = 0;
  // `size` bytes more, which lie with the peer for now. Whether they are wanted: then OnPulled brings them, after those
  // of earlier blocks. On links that take blocks only.
  virtual absl::StatusOr<bool> OnBlock(size_t /*size*/) { return absl::DataLossError("a block for what takes none"); }
  virtual void OnPulled(ReceivedBytes /*bytes*/, size_t /*size*/) {}
  virtual absl::Status OnOpen(uint64_t window) = 0;
  virtual absl::Status OnWindow(uint64_t bytes) = 0;
  virtual absl::Status OnCloseWrite() = 0;
  virtual void OnAbort(std::string text) = 0;
  virtual void OnSpace() = 0;  // after Link::Send took less than it was given for lack of space
  virtual void OnLost(const absl::Status& why) = 0;
  virtual void Notify() = 0;

  uint32_t stream() const { return stream_; }
  // The owner is gone, and only good manners keep the port: it still takes what the peer sends.
  bool abandoned() const { return abandoned_.load(std::memory_order_relaxed); }

 protected:
  // During OnData and OnBlock: of the message that carried it, if it is traced.
  const Arrival& arrival() const { return arrival_; }
  // Ports::Abandoned is to follow.
  void set_abandoned() { abandoned_.store(true, std::memory_order_relaxed); }

 private:
  friend class Blocks;
  friend class Bulk;
  friend class Outgoing;
  friend class Ports;
  friend class Receiver;
  friend class SendQueue;
  const uint32_t stream_;
  std::atomic<bool> abandoned_{false};  // relaxed: nothing else is read by it
  std::atomic<bool> removed_{false};    // by Ports::Remove, release; acquire by the poller, who looks it up no more
  bool counted_as_abandoned_ = false;   // under the lock of the link's ports
  // Of the sender's place:
  uint32_t next_out_ = 0;          // sequence
  uint64_t window_to_return_ = 0;  // bytes read, not told yet
  bool waits_for_space_ = false;
  bool waits_for_block_ = false;  // under the lock of the link's blocks
  // Of the polling thread:
  Arrival arrival_;
  uint32_t next_in_ = 0;
  bool touched_ = false;
  bool aborted_in_ = false;  // by the peer
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_PORT_H_
