// What two skeinds have between them: a queue pair that all processes of the two hosts share, and a TCP connection
// over which the skeinds talk about it.
//
//                    the side that accepts an offer              the side that made it
//                    connects; kHello, a queue pair's offer ---->  accepts
//                    completes               <------ kWelcome, the answer
//     ready                                                          ready
//
// The end of either ends the trunk, and with it each virtual queue pair on it.
//
// Memory. A process's region is lent to the other skeind when that first asks where it is, for one virtual queue pair,
// and stays registered until the other one has answered kRevoked, both have said kClosed of that queue pair, or the
// shared queue pair is no more. So no process can be written to by what it has let go of, and a request that names
// memory of nobody's never reaches the device, where it would break the queue pair for all.
#ifndef SKEIN_CORE_SERVICE_TRUNK_H_
#define SKEIN_CORE_SERVICE_TRUNK_H_

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
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/unique_fd.h"
#include "core/fabric/fabric.h"
#include "core/service/port.h"
#include "core/service/region.h"
#include "core/service/trunk_message.h"
#include "core/service/virtual_queue_pair.h"

namespace skein::service {

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
};

// skeind's thread.
class Trunk : public std::enable_shared_from_this<Trunk> {
 public:
  enum class Posted : uint8_t { kYes, kFull, kAsked, kRefused };
  static constexpr uint32_t kSends = 512;
  static constexpr uint32_t kReceives = 1024;

  // `socket`: connected or about to be, not blocking. `device`: null on the side that was connected to, until kHello.
  Trunk(TrunkOwner& owner, UniqueFd socket, std::shared_ptr<fabric::Device> device);
  ~Trunk();
  // The side that connects, which means the other one by `host`. The greeting goes when TCP is connected.
  absl::Status Begin(absl::string_view host);

  int socket() const { return socket_.get(); }
  int completions_fd() const { return completions_ == nullptr ? -1 : completions_->fd(); }
  const std::shared_ptr<fabric::Device>& device() const { return device_; }
  bool ended() const { return ended_; }
  bool wants_to_write() const { return !ended_ && (connecting_ || !out_.empty()); }

  // Reads and writes the socket as far as that goes at once. False: nothing was to do.
  bool OnSocket();
  // Takes what has completed. False: nothing has.
  bool Poll();
  // Before the thread sleeps: makes what is under way complete some day, arms, and looks again. False: something is
  // there.
  bool Arm();
  void AckEvents();

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
    std::shared_ptr<Region> region;                // whose bytes the device reads or writes
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

  absl::Status MakeQueuePair();
  void PostReceives();
  bool Read();
  bool Write();
  void Heed(const TrunkMessage& message);
  void Greet(const TrunkMessage& hello);
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

  TrunkOwner& owner_;
  const UniqueFd socket_;
  bool connecting_ = false;
  bool ready_ = false;
  bool ended_ = false;
  std::string in_;
  std::string out_;
  std::vector<TrunkMessage> unsent_;  // until it is ready

  std::shared_ptr<fabric::Device> device_;
  // Where requests of no bytes go: a device may want to know of them, too, that the memory is there.
  std::unique_ptr<fabric::MemoryRegion> landing_;
  fabric::RemoteAddress peers_landing_;
  std::unique_ptr<fabric::CompletionQueue> completions_;
  std::unique_ptr<fabric::QueuePair> queue_pair_;
  std::deque<UnderWay> under_way_;
  uint64_t posted_ = 0;     // requests, since the start
  uint64_t completed_ = 0;  // of them
  uint64_t signaled_ = 0;   // the last one that will say that it has completed
  uint32_t receives_to_post_ = 0;
  std::vector<fabric::SendRequest> batch_;
  std::vector<fabric::Segment> segments_;
  std::deque<std::pair<uint64_t, std::function<void()>>> later_;  // after so many have completed

  absl::flat_hash_map<uint32_t, std::shared_ptr<VirtualQueuePair>> members_;
  std::deque<std::shared_ptr<VirtualQueuePair>> want_space_;
  uint64_t waits_ = 0;  // for space, so far
  std::vector<std::shared_ptr<Completions>> news_;
  std::array<fabric::Completion, 32> polled_;  // Poll's, not made anew each time
  absl::flat_hash_map<Lent, std::shared_ptr<Region>> lent_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TRUNK_H_
