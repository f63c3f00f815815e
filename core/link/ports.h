// The streams of a link, by their numbers; and those that the poller has to tell something.
#ifndef SKEIN_CORE_LINK_PORTS_H_
#define SKEIN_CORE_LINK_PORTS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/link/port.h"
#include "core/link/send_queue.h"

namespace skein::link {

// Any thread, but for the poller's part. Lock: mu_, before the sender's place.
class Ports {
 public:
  // `queue` outlives it.
  explicit Ports(SendQueue& queue) : queue_(queue) {}

  // The passive side names streams. 0 when there are no more numbers or the link is lost.
  uint32_t NewNumber();
  // UNAVAILABLE when the link is lost.
  absl::Status Add(const std::shared_ptr<Port>& port);
  // Nothing that comes for the stream reaches the port after this. A call of what has come before may be under way, or
  // still begin (Notify, OnSpace, OnLost). True if none is left.
  bool Remove(uint32_t stream);
  // The port, which may have been removed, has lost its owner. Whether no more than kMostAbandoned on this link have:
  // a peer that never closes its side of streams has them kept.
  static constexpr size_t kMostAbandoned = 4096;
  bool Abandoned(Port& port);
  // No stream is left whose owner waits for anything.
  bool unused() const;
  size_t size() const;
  // Takes no port any more, if it is unused: true.
  bool CloseIfUnused();
  bool lost() const { return lost_.load(std::memory_order_acquire); }

  // The poller's ------------------------------------------------------------------------------------------------------
  struct Found {
    std::shared_ptr<Port> port;  // null: there is none
    uint32_t highest = 0;        // without a port: the highest number that was given
  };
  Found Find(uint32_t stream);
  // Notify is due. Until NotifyTouched the port lives.
  void Touch(std::shared_ptr<Port> port);
  // Those that have waited may send.
  void TellOfSpace(const std::vector<std::shared_ptr<Port>>& waiters);
  void NotifyTouched();
  // The link is lost. Takes no port any more, and gives those that there were.
  std::vector<std::shared_ptr<Port>> Lose();

 private:
  std::shared_ptr<Port> Recent(uint32_t stream) const;

  SendQueue& queue_;
  std::atomic<bool> lost_ = false;  // release by Lose; acquire by lost()

  mutable Mutex mu_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<Port>> ports_ ABSL_GUARDED_BY(mu_);
  size_t abandoned_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t highest_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;  // the link is about to be

  // The poller's.
  std::vector<std::shared_ptr<Port>> touched_;
  uint32_t recent_stream_ = 0;  // that was found last
  std::weak_ptr<Port> recent_;
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_PORTS_H_
