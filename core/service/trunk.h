// What two skeinds have between them: a queue pair that all processes of the two hosts share, and a TCP connection
// over which the skeinds talk about it.
//
//                    the side that accepts an offer              the side that made it
//                    connects; kHello, a queue pair's offer ---->  accepts
//                    completes               <------ kWelcome, the answer
//     ready                                                          ready
//
// With a secret (secret.h) kChallenge and kProof come between the two. Only then the other side makes a queue pair.
//
// The end of either ends the trunk, and with it each virtual queue pair on it.
//
// Memory. A process's region is lent to the other skeind when that first asks where it is, for one virtual queue pair,
// and stays registered until the other one has answered kRevoked, both have said kClosed of that queue pair, or the
// shared queue pair is no more. So no process can be written to by what it has let go of, and a request that names
// memory of nobody's never reaches the device, where it would break the queue pair for all. Where the device has
// protection domains the trunk has one of its own, in which only memory is registered that is used on this trunk. So
// another host's skeind, or whoever pretends to be one, reaches what it has been lent and no more, whatever it guesses.
//
// Silence. A skeind that has been stopped, or hangs, keeps its TCP connection, and its device answers still. So after a
// request or a message the trunk asks the other skeind whether it is there (kAsk), again and again while something is
// under way, and ends without an answer. An idle trunk asks nothing. The other skeind
// owes its other answers by a deadline, too: so one that answers kAsk alone holds no process's budget for ever.
#ifndef SKEIN_CORE_SERVICE_TRUNK_H_
#define SKEIN_CORE_SERVICE_TRUNK_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "core/fabric/fabric.h"
#include "core/service/port.h"
#include "core/service/region.h"
#include "core/service/shares.h"
#include "core/service/trunk_message.h"
#include "core/service/virtual_queue_pair.h"

namespace skein::service {

// How long a trunk waits for the other skeind.
struct TrunkPatience {
  absl::Duration silence = absl::Seconds(5);   // for its greeting, and whether it is there
  absl::Duration answers = absl::Seconds(60);  // until what is under way there has ended
  absl::Duration unused = absl::Seconds(60);   // until an end that has connected closes what no queue pair uses
};

// What a trunk needs of the service that it belongs to.
class TrunkOwner {
 public:
  virtual ~TrunkOwner() = default;
  virtual absl::StatusOr<Port> PortFor(absl::string_view local_address) = 0;
  // A queue pair with an offer out, and its token.
  virtual absl::Status Accepted(Trunk& trunk, const TrunkMessage& connect) = 0;
  // The answer to a kConnect.
  virtual void Connected(const std::shared_ptr<VirtualQueuePair>& queue_pair, const absl::Status& status) = 0;
  virtual std::shared_ptr<Region> RegionOf(const VirtualQueuePair& queue_pair, uint32_t rkey) = 0;
  // It may go on: it knows where that memory is, or the trunk has space.
  virtual void MayGoOn(const std::shared_ptr<VirtualQueuePair>& queue_pair) = 0;
  // Its next request names what it may not.
  virtual void Refuse(const std::shared_ptr<VirtualQueuePair>& queue_pair) = 0;
  virtual void End(const std::shared_ptr<VirtualQueuePair>& queue_pair, fabric::service::End why) = 0;
  // For the log.
  virtual void TrunkFailed(absl::string_view why) = 0;
  // Both skeinds are through with it, or the trunk is gone.
  virtual void Closed(const std::shared_ptr<VirtualQueuePair>& queue_pair) = 0;
  virtual Worker& worker() = 0;
};

// skeind's thread.
class Trunk : public std::enable_shared_from_this<Trunk> {
 public:
  enum class Posted : uint8_t { kYes, kFull, kAsked, kRefused };
  static uint64_t MostMessageBytes(const fabric::Device& device) {
    return std::min(kMostMessageBytes, device.capabilities().max_message_bytes);
  }
  static constexpr uint32_t kSends = 512;
  static constexpr uint32_t kReceives = 1024;
  // Under way together, and in one request, which others wait for: more would gain nothing.
  static constexpr uint64_t kBytes = 2 << 20;
  static constexpr uint64_t kMostMessageBytes = 1 << 20;

  // `socket`: connected or about to be, not blocking. `device`: null on the side that was connected to, until kHello.
  Trunk(TrunkOwner& owner, UniqueFd socket, std::shared_ptr<fabric::Device> device, TrunkPatience patience,
        std::string secret);
  ~Trunk();
  // The side that connects, which means the other one by `host`. The greeting goes when TCP is connected.
  absl::Status Begin(absl::string_view host, UserBudget::Share opened_by);

  int socket() const { return socket_.get(); }
  int completions_fd() const { return completions_ == nullptr ? -1 : completions_->fd(); }
  const std::shared_ptr<fabric::Device>& device() const { return device_; }
  bool ended() const { return ended_; }
  // The other side has connected, and has not greeted.
  bool awaits_greeting() const { return !ended_ && !ready_ && !opened_by_.has_value(); }
  bool wants_to_write() const { return !ended_ && (connecting_ || !out_.empty()); }

  // Reads and writes the socket as far as that goes at once. False: nothing was to do.
  bool OnSocket();
  // Takes what has completed. False: nothing has.
  bool Poll();
  // Before the thread sleeps: arms, and looks again. False: something is there.
  bool Arm();
  void AckEvents();

  // Whether the other skeind is there, and owes no answer for too long. When to look again: infinite while nothing is
  // under way. After the sockets have been read, so that an answer that has come counts.
  absl::Time Tend(absl::Time now);

  // To the other skeind, now or when the trunk is ready.
  void Send(const TrunkMessage& message);
  // Once all requests that are under way now have ended: at once, if there are none.
  void Later(std::function<void()> what);
  void Attach(const std::shared_ptr<VirtualQueuePair>& queue_pair);
  // One request, which goes with the next Flush. kFull, kAsked: later, and MayGoOn tells when.
  Posted Post(const std::shared_ptr<VirtualQueuePair>& queue_pair, const fabric::service::Submission& request);
  void Flush();
  // The process has let go of it.
  void Revoke(const Region& region);
  // To the other skeind, of a queue pair that has ended.
  void TellClosed(const std::shared_ptr<VirtualQueuePair>& queue_pair);
  void Fail(absl::string_view why);

  // The other skeind's address: a number.
  std::string PeerHost() const;
  size_t queue_pairs() const { return members_.size(); }
  size_t under_way() const { return under_way_.size(); }
  uint64_t waits() const { return waits_; }
  // Of each queue pair, those of its requests that have not ended.
  using UnderWayOf = absl::flat_hash_map<const VirtualQueuePair*, uint64_t>;
  void AddUnderWay(UnderWayOf& of) const;

 private:
  struct UnderWay {
    std::shared_ptr<VirtualQueuePair> queue_pair;  // null: a question of the trunk's own
    std::shared_ptr<Region::OnTrunk> region;       // whose bytes the device reads or writes
    uint64_t position = 0;
    uint32_t length = 0;
    fabric::Opcode opcode = fabric::Opcode::kWrite;
    bool tells = false;
  };
  struct Lent {
    uint32_t number = 0;
    uint32_t rkey = 0;
    friend bool operator==(const Lent&, const Lent&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Lent& lent) {
      return H::combine(std::move(h), lent.number, lent.rkey);
    }
  };

  // An answer of the other skeind's, until then.
  struct Awaited {
    absl::Time until;
    TrunkKind answer;
    std::weak_ptr<VirtualQueuePair> of;
    uint32_t rkey = 0;
  };

  absl::Status MakeQueuePair();
  // Memory that the queue pair's process names. `local` null: it has no such memory. False: the queue pair goes on
  // later.
  bool FindLocal(const std::shared_ptr<VirtualQueuePair>& queue_pair, uint32_t lkey,
                 std::shared_ptr<Region::OnTrunk>& local);
  // Memory as this trunk's queue pair has it: with no access of the peer's for requests of its own process, with the
  // region's once it is lent.
  using Place = std::pair<const Region*, uint32_t>;
  // Null: it is not registered there, or not yet.
  std::shared_ptr<Region::OnTrunk> Here(const Place& place) const;
  // Registers it there; then calls `then` with it, or with null if that cannot be. At once, or when the worker has
  // done.
  using Then = std::function<void(const std::shared_ptr<Region::OnTrunk>& here)>;
  void BringHere(const std::shared_ptr<Region>& region, uint32_t access, Then then);
  void Brought(const Place& place, const std::shared_ptr<Region::OnTrunk>& here);
  void PostReceives();
  bool Read();
  bool Write();
  void Heed(const TrunkMessage& message);
  void Greet(const TrunkMessage& message);
  void Challenge();
  void Welcome(const TrunkMessage& hello);
  void Welcomed(TrunkMessage welcome);
  void BecomeReady(fabric::RemoteAddress peers_landing);
  void Resolve(const TrunkMessage& question);
  void Resolved(const TrunkMessage& answer);
  void Connected(const TrunkMessage& answer);
  void PeerClosed(const TrunkMessage& message);
  // Once both skeinds have said kClosed, nothing of it is left here.
  void CloseIfBothHave(const std::shared_ptr<VirtualQueuePair>& queue_pair);
  std::shared_ptr<VirtualQueuePair> FindOwn(uint32_t number);
  bool IsPossible(const fabric::service::Submission& request) const;
  const VirtualQueuePair::Remote* FindRemote(const std::shared_ptr<VirtualQueuePair>& queue_pair, uint32_t rkey);
  static bool IsAllowed(const fabric::service::Submission& request, const VirtualQueuePair::Remote& remote);
  void Add(const fabric::SendRequest& request, fabric::Segment segment, UnderWay under_way);
  void Completed(const fabric::Completion& completion);
  void Arrived(uint32_t immediate, size_t bytes);
  void LetGoOn();
  void PublishNews();
  void DoWhatWaited();
  void AskWhetherAllHasEnded();
  void Await(TrunkKind answer, const std::shared_ptr<VirtualQueuePair>& of, uint32_t rkey = 0);
  bool IsAwaited(const Awaited& awaited) const;
  absl::Time UnusedUntil(absl::Time now);
  void AskWhetherItIsThere(absl::Time now);
  void LookAfterQueuePair();
  void FailWithQueuePair();

  TrunkOwner& owner_;
  const UniqueFd socket_;
  const TrunkPatience patience_;
  const std::string secret_;  // empty: there is none
  std::string said_;          // in the greeting, by both
  bool challenged_ = false;
  bool connecting_ = false;
  bool ready_ = false;
  bool ended_ = false;
  std::string in_;
  std::string out_;
  std::vector<TrunkMessage> unsent_;  // until it is ready

  bool active_ = false;  // something was posted or said since the last question
  bool answered_ = true;
  int unanswered_ = 0;  // looks that found no answer
  absl::Time look_at_ = absl::InfiniteFuture();
  std::deque<Awaited> awaited_;

  std::shared_ptr<fabric::Device> device_;
  std::shared_ptr<fabric::Device> domain_;  // the device, for this trunk alone; null: it has no such thing
  // Where requests of no bytes go: a device may want to know of them, too, that the memory is there.
  std::unique_ptr<fabric::MemoryRegion> landing_;
  fabric::RemoteAddress peers_landing_;
  std::unique_ptr<fabric::CompletionQueue> completions_;
  bool armed_ = false;  // and no event has come since
  std::unique_ptr<fabric::QueuePair> queue_pair_;
  std::deque<UnderWay> under_way_;
  uint64_t posted_ = 0;        // requests, since the start
  uint64_t completed_ = 0;     // of them
  uint64_t signaled_ = 0;      // the last one that will say that it has completed
  uint64_t silent_bytes_ = 0;  // of those since
  Shares shares_{kSends, kBytes};
  uint32_t receives_to_post_ = 0;
  std::vector<fabric::SendRequest> batch_;
  std::vector<fabric::Segment> segments_;
  std::deque<std::pair<uint64_t, std::function<void()>>> later_;  // after so many have completed

  std::optional<UserBudget::Share> opened_by_;  // nothing: the other skeind has connected
  absl::flat_hash_map<uint32_t, std::shared_ptr<VirtualQueuePair>> members_;
  absl::Time unused_since_ = absl::InfiniteFuture();  // it has no members
  std::deque<std::shared_ptr<VirtualQueuePair>> want_space_;
  uint64_t waits_ = 0;  // for space, so far
  std::vector<std::shared_ptr<Completions>> news_;
  std::array<fabric::Completion, 32> polled_;  // Poll's, not made anew each time
  absl::flat_hash_map<Lent, std::shared_ptr<Region::OnTrunk>> lent_;
  // Of memory whose process has not let go of it: what is registered, as long as lent_, a queue pair or a request has
  // it.
  absl::flat_hash_map<Place, std::weak_ptr<Region::OnTrunk>> here_;
  absl::flat_hash_map<Place, std::vector<Then>> brought_;  // the worker registers it
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TRUNK_H_
