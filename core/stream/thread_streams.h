// Streams of a process whose threads block in them: what polls their links, and where they come from.
#ifndef SKEIN_CORE_STREAM_THREAD_STREAMS_H_
#define SKEIN_CORE_STREAM_THREAD_STREAMS_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/stream/blocking_stream.h"
#include "core/stream/stream.h"
#include "core/wait/background_poller.h"
#include "core/wait/reminders.h"
#include "core/wait/wait_set.h"

namespace skein::stream {

// The waiter of connectors and listeners. Links are polled by whoever waits for something of theirs, and by the
// background thread when nobody does. Any thread.
class ThreadStreams final : public wait::Watcher {
 public:
  explicit ThreadStreams(const wait::SpinPolicy& policy) : background_(policy), spaces_(policy, &background_) {}
  ~ThreadStreams() override;  // ends all links

  // `stream` was made with this waiter; `tcp`: see BlockingStream. Does not outlive this.
  std::unique_ptr<BlockingStream> Block(std::shared_ptr<Stream> stream, int tcp);

  // For who does not block: the background thread polls for it, and looks at what it adds there.
  std::shared_ptr<wait::WaitSet> SpaceOf(const Stream& stream);

  // Of whoever uses a stream: the background thread reminds. Made at the first call; null: there is no timer to be had.
  std::shared_ptr<wait::Reminders> Reminders() ABSL_LOCKS_EXCLUDED(mu_);

  void Watch(std::shared_ptr<wait::Source> source) override;

 private:
  wait::BackgroundPoller background_;
  wait::WaitSets spaces_;
  Mutex mu_;
  std::shared_ptr<wait::Reminders> reminders_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_THREAD_STREAMS_H_
