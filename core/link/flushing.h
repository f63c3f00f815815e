// Whether all that was sent has reached the peer's memory, and who wants to hear of that.
#ifndef SKEIN_CORE_LINK_FLUSHING_H_
#define SKEIN_CORE_LINK_FLUSHING_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "core/base/mutex.h"
#include "core/link/blocks.h"
#include "core/link/send_queue.h"

namespace skein::link {

// Any thread, but for the poller's part. Lock: mu_, before the sender's place.
class Flushing {
 public:
  // Both outlive it.
  Flushing(SendQueue& queue, Blocks& blocks) : queue_(queue), blocks_(blocks) {}

  // Whether that is so, what the peer has to pull included. If not, `on_flushed` (see below) is called when it is.
  bool Flushed() { return Flush(/*tells=*/false); }
  // Calls `then` once that is so, or with why it never will be: from a poll, or at once; with no lock held.
  void When(std::function<void(const absl::Status&)> then);
  // Called by the poller with no lock held, when that is so or the link is lost. Set before the link is shared.
  void set_on_flushed(std::function<void()> on_flushed) { on_flushed_ = std::move(on_flushed); }

  // The poller's. Whether somebody has heard no, and nobody has told since; and to tell, if it is so now.
  bool wanted() { return blocks_.flush_wanted() || queue_.events().IsDue(Events::kFlush); }
  void Tell();

 private:
  bool Flush(bool tells);

  SendQueue& queue_;
  Blocks& blocks_;
  std::function<void()> on_flushed_;
  Mutex mu_;
  std::vector<std::function<void(const absl::Status&)>> waiters_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_FLUSHING_H_
