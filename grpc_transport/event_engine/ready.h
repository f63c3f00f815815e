// gRPC's callbacks that a poll has made ready. A stream's observer runs inside the poll of its link, where no callback
// of gRPC's may run: it would come back to the stream, or take a lock that the poller's caller holds. So the thread
// that polls keeps the callbacks, and runs them when the poll is over. On another thread they go to gRPC's engine.
//
// Two kinds of callbacks come here. The callbacks of an endpoint (on_read, on_writable) are gRPC's own work, which gRPC
// keeps short: a thread runs all of them, one after the other. A closure that gRPC gives its engine (EventEngine::Run)
// may end in a program's code, which may block, also until another such closure has run. So a thread keeps at most one
// of these, and runs it last, when nothing waits behind it; meanwhile the thread counts as one that does not poll.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_READY_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_READY_H_

#include <deque>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "grpc_transport/event_engine/engine_types.h"

namespace skein::grpc_transport {

// While one exists, its thread polls, or runs what its polls have made ready. All of it belongs to that thread: nothing
// here is shared, and other threads see only what they are given by the engine.
class Ready {
 public:
  using Callback = absl::AnyInvocable<void()>;

  // kPoller: a thread of ours, which keeps closures, too. kCaller: one of the program's, whose locks the program may
  // hold: a closure that took one of them would wait for its own thread.
  enum class Thread { kPoller, kCaller };

  explicit Ready(Thread thread);
  Ready(const Ready&) = delete;
  Ready& operator=(const Ready&) = delete;
  // Callbacks that are left go to their engine.
  ~Ready();

  // A callback of an endpoint's. Any thread, under any lock: runs nothing before it returns.
  static void RunSoon(const std::shared_ptr<EventEngine>& engine, Callback callback);
  // By Run() of the engine that wraps `engine`. True: this thread has taken `closure`, and runs it soon. False:
  // `engine` has to.
  static bool Keep(const std::shared_ptr<EventEngine>& engine, Callback& closure);

  // The calling thread is one of ours (kPoller), also while it runs what it has kept.
  static bool IsPollersThread();

  bool empty() const { return callbacks_.empty(); }
  // All, on this thread. Under no lock, and not inside a poll.
  void RunHere();
  // All, on the engine's threads.
  void RunElsewhere();

  // A thread that runs callbacks waits for something, for as long as this lives. Callbacks behind
  // that one go to the engine, and so do those that become ready meanwhile.
  class Waits {
   public:
    Waits();
    Waits(const Waits&) = delete;
    Waits& operator=(const Waits&) = delete;
    ~Waits();

   private:
    Ready* const ready_;  // null: this thread runs no callbacks
  };

 private:
  struct Item {
    std::shared_ptr<EventEngine> engine;
    Callback callback;
  };

  const Thread thread_;
  std::deque<Item> callbacks_;
  bool running_ = false;
  Item kept_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_READY_H_
