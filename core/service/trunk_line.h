// The shared queue pair in use: it takes the requests of all virtual queue pairs in order, and each one's completion
// queue hears of those that have completed.
//
//                    Make: the worker does            Open           Close
//     no queue pair ------------------------> made ----------> open ----------> no queue pair
#ifndef SKEIN_CORE_SERVICE_TRUNK_LINE_H_
#define SKEIN_CORE_SERVICE_TRUNK_LINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/fabric/fabric.h"
#include "core/service/shared_queue_pair.h"
#include "core/service/shares.h"
#include "core/service/trunk_requests.h"
#include "core/service/trunk_silence.h"
#include "core/service/virtual_queue_pair.h"
#include "core/service/worker.h"

namespace skein::service {

class Trunk;
class TrunkOwner;

// skeind's thread. Part of its trunk, which it ends (Trunk::Fail) when the queue pair fails.
class TrunkLine {
 public:
  // Of each queue pair, those of its requests that have not ended.
  using UnderWayOf = absl::flat_hash_map<const VirtualQueuePair*, uint64_t>;

  // It notes at `silence` what it posts.
  TrunkLine(Trunk& trunk, TrunkOwner& owner, TrunkSilence& silence) : trunk_(trunk), owner_(owner), silence_(silence) {}

  // By the worker; then calls `then`, unless the trunk has ended. `offer`: the other skeind's; empty: none yet.
  void Make(std::shared_ptr<fabric::Device> device, std::string offer, Worker::Then then);
  const SharedQueuePair& shared() const { return shared_; }
  // The queue pair is connected. `peers_landing`: where requests of no bytes go.
  void Open(fabric::RemoteAddress peers_landing);
  fabric::RemoteAddress peers_landing() const { return peers_landing_; }
  // Tells what has completed, and forgets all that is under way.
  void Close();

  // Readable: AckEvents. -1: there is no queue pair yet.
  int fd() const { return shared_.completions == nullptr ? -1 : shared_.completions->fd(); }
  // Takes what has completed. False: nothing has.
  bool Poll();
  // Before the thread sleeps: arms, and looks again. False: something is there.
  bool Arm();
  void AckEvents();
  // Now and then while something is under way: the end of silent requests wakes nobody, nor does a queue pair that
  // fails meanwhile.
  void Look();

  // The queue pair has a share of the space from now on.
  void GiveShare(VirtualQueuePair& queue_pair);
  // Whether that one may post so many bytes now. False: MayGoOn tells when.
  bool HasSpace(const std::shared_ptr<VirtualQueuePair>& queue_pair, uint32_t bytes) {
    if (shares_.Allows(*queue_pair->process, bytes) && !requests_.full()) return true;
    AwaitSpace(queue_pair);
    return false;
  }
  // It goes with the next Flush.
  void Add(const fabric::SendRequest& request, fabric::Segment segment, TrunkRequests::Request&& under_way);
  void Flush();
  // Once all requests that are under way now have ended: at once, if there are none.
  void Later(std::function<void()> what);
  // So that the end of all that is under way is told, though it be silent.
  void AskWhetherAllHasEnded();

  size_t under_way() const { return requests_.under_way().size(); }
  uint64_t waits() const { return waits_; }
  void AddUnderWay(UnderWayOf& of) const;

 private:
  // False: there is none yet, or the trunk has ended.
  bool has_queue_pair() const { return shared_.queue_pair != nullptr; }
  void PostReceives();
  void AwaitSpace(const std::shared_ptr<VirtualQueuePair>& queue_pair);
  void LetGoOn();
  void Completed(const fabric::Completion& completion);
  void Arrived(uint32_t immediate, size_t bytes);
  void PublishNews();
  void FailWithQueuePair();

  Trunk& trunk_;
  TrunkOwner& owner_;
  TrunkSilence& silence_;
  SharedQueuePair shared_;
  fabric::RemoteAddress peers_landing_;
  bool armed_ = false;  // and no event has come since
  uint32_t receives_to_post_ = 0;
  TrunkRequests requests_;
  Shares shares_{SharedQueuePair::kSends, TrunkRequests::kBytes};
  std::deque<std::shared_ptr<VirtualQueuePair>> want_space_;
  uint64_t waits_ = 0;                              // for space, so far
  std::vector<std::shared_ptr<Completions>> news_;  // have it, and have not published it
  std::array<fabric::Completion, 32> polled_;       // Poll's, not made anew each time
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TRUNK_LINE_H_
