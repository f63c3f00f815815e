// The sender's place of a link (core/channel/README.md, "Two places"): one thread at a time stands in it, and owns the
// sending half of the link's channel. The combining queue is what keeps the others out; there is no lock below it.
//
//              Join, Enter, Ask                           Leave: the next one in the queue leads
//     free  ----------------------->  taken by a leader  ------------------------------------>  taken by the next
//       ^                                    |
//       \_______ Leave: nobody waits ________/
//
// Senders Join: a leader does the requests of those behind it. Visitors (Enter) do their own work when it is their
// turn. A poller that has read messages does not wait for senders: it asks for upkeep (Ask), and does that itself
// if the place is free; otherwise the leader does it before it leaves.
//
//     nothing asked  ---Ask--->  asked  ---the thread in the place, by one exchange--->  nothing asked
//
// Nothing asked is forgotten. The asker changes asked_, then looks whether the place is free. The leader frees
// the place, then changes asked_ (by a fetch_or of nothing) and sees what it was. Of these two changes one comes first:
//   - the asker's: the leader finds the question, and enters once more; if it cannot, a thread has entered later. The
//     same holds of that thread, and so of the last one that leaves;
//   - the leader's: the asker has acquired it, so it finds the place free, or taken by a thread that entered later.
//
// | atomic | written | synchronises with |
// |---|---|---|
// | asked_ | by Ask, acquire and release | release: the exchange of the thread in the place, which then sees what the
// |        |                             | asker has done. Acquire: the fetch_or of the last leader, see above |
// |        | by the thread in the place, exchange, acquire | Ask |
// |        | by the thread that has freed the place, fetch_or of nothing, release | Ask |
// | those of the queue | | core/coalesce/README.md |
//
// Tested in all interleavings by tests/unit/link/send_place_test.cc.
#ifndef SKEIN_CORE_LINK_SEND_PLACE_H_
#define SKEIN_CORE_LINK_SEND_PLACE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "core/coalesce/combining_queue.h"

namespace skein::link {

template <class Policy>
class ABSL_LOCKABLE BasicSendPlace {
 public:
  // A thread's turn, on its stack. `alone`: a visitor's; no leader does it.
  class Request : public coalesce::Entry<Request, Policy> {
   public:
    explicit Request(bool alone = true) : alone_(alone) {}

   private:
    friend BasicSendPlace;
    const bool alone_;
  };
  using Queue = coalesce::CombiningQueue<Request>;
  using Batch = coalesce::Batch<Request>;

  // A sender: waits until a leader has done its request, or until it leads. `help`: see CombiningQueue.
  template <class Help>
  coalesce::Turn Join(Request& request, Help help) {
    return queue_.Join(request, help);
  }
  // The leader's own request and those behind it, up to the first visitor.
  template <class Fits>
  Batch Gather(Request& own, size_t max, Fits fits) {
    return queue_.Gather(own, max, [&](const Request& next) { return !next.alone_ && fits(next); });
  }

  // A visitor: waits for its turn.
  void Enter(Request& visitor) ABSL_EXCLUSIVE_LOCK_FUNCTION() { queue_.Join(visitor); }

  // Any thread. If the place is free, the caller calls `serve`. Otherwise the thread there calls its own, which it
  // gives to Leave, before it leaves.
  template <class Serve>
  void Ask(Serve serve) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    asked_.fetch_or(1, std::memory_order_acq_rel);
    Request visitor;
    if (!queue_.TryJoin(visitor)) return;
    Batch batch(visitor);
    Leave(batch, serve);
  }

  // By the thread in the place. The requests of the batch are done.
  template <class Serve>
  void Leave(Batch& batch, Serve serve) ABSL_UNLOCK_FUNCTION() {
    ServeAsked(serve);
    if (!queue_.Finish(batch) && asked_.fetch_or(0, std::memory_order_release) != 0) ServeLate(serve);
  }

 private:
  // The caller has the place, and says so to the compiler in Leave alone, whose lock this is.
  template <class Serve>
  void ServeAsked(Serve& serve) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (asked_.load(std::memory_order_relaxed) == 0) return;
    asked_.exchange(0, std::memory_order_acquire);
    serve();
  }
  // Somebody has asked while this thread was freeing the place.
  template <class Serve>
  void ServeLate(Serve& serve) {
    do {
      Request visitor;
      if (!queue_.TryJoin(visitor)) return;
      ServeAsked(serve);
      Batch batch(visitor);
      if (queue_.Finish(batch)) return;
    } while (asked_.fetch_or(0, std::memory_order_release) != 0);
  }

  Queue queue_;
  typename Policy::template Atomic<uint32_t> asked_{0};  // 0 or 1; a number, which fetch_or of nothing needs
};

using SendPlace = BasicSendPlace<wait::SystemAtomics>;

}  // namespace skein::link

#endif  // SKEIN_CORE_LINK_SEND_PLACE_H_
