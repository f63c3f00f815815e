// The thread that takes the records of all others. It is there only while it is wanted.
#ifndef SKEIN_CORE_TRACE_COLLECTOR_H_
#define SKEIN_CORE_TRACE_COLLECTOR_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "core/trace/aggregate.h"
#include "core/trace/record.h"
#include "core/trace/recording.h"
#include "core/trace/ring_registry.h"

namespace skein::trace {

// Any thread. Once it was started it must stay for ever: its thread may see the end of the process.
class Collector {
 public:
  using Callback = std::function<void(const Record&)>;

  // All stay as long.
  Collector(RingRegistry& rings, Aggregate& aggregate, Recording& recording)
      : rings_(rings), aggregate_(aggregate), recording_(recording) {}

  // False: no thread is to be had.
  bool Start();
  // The thread delivers what was pushed before, and ends. Returns at once.
  void Stop();
  // Returns when it has, or was started again and has delivered; from the callback, at once.
  void WaitUntilStopped();
  // Returns when all that was pushed before has been delivered; from the callback, or when it is stopped, at once.
  void Flush();
  // Called with each record, on the collector's thread; may be empty. What it throws is ignored. The former one is no
  // longer called when this returns (but from within itself: after the records at hand).
  void SetCallback(Callback callback);

 private:
  void Run();
  uint64_t Ask();
  void Deliver(std::unique_lock<std::mutex>& lock);
  bool Inside() const { return running_ && std::this_thread::get_id() == thread_; }

  RingRegistry& rings_;
  Aggregate& aggregate_;
  Recording& recording_;
  // The standard library's, for its condition, whose timeouts go by a clock that nobody sets.
  std::mutex mu_;  // guards all below
  std::condition_variable asked_changed_;
  std::condition_variable state_changed_;
  bool running_ = false;     // the thread is there
  bool stopping_ = false;    // and is to end
  bool delivering_ = false;  // without the lock
  uint64_t deliveries_ = 0;  // that are over
  // Numbers of requests to deliver at once: the last that was made, and the last that was done.
  uint64_t asked_ = 0;
  uint64_t done_ = 0;
  std::thread::id thread_;
  std::shared_ptr<const Callback> callback_;
  std::chrono::milliseconds pause_{};  // until the next look
};

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_COLLECTOR_H_
