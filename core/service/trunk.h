// What two skeinds have between them: a queue pair that all processes of the two hosts share, and a TCP connection
// over which the skeinds talk about it.
//
//               both have greeted (trunk_greeting.h)          Fail
//     greeting ------------------------------------> open ----------> ended
//         \                                     Fail                    ^
//          \-----------------------------------------------------------/
//
// Other messages wait until it is open. The end of the queue pair (trunk_line.h) or of the connection (trunk_socket.h)
// ends the trunk, and with it each virtual queue pair on it.
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
// under way, and ends without an answer. An idle trunk asks nothing. The other skeind owes its other answers by a
// deadline, too: so one that answers kAsk alone holds no process's budget for ever.
#ifndef SKEIN_CORE_SERVICE_TRUNK_H_
#define SKEIN_CORE_SERVICE_TRUNK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
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
#include "core/service/trunk_greeting.h"
#include "core/service/trunk_line.h"
#include "core/service/trunk_memory.h"
#include "core/service/trunk_message.h"
#include "core/service/trunk_requests.h"
#include "core/service/trunk_silence.h"
#include "core/service/trunk_socket.h"
#include "core/service/virtual_queue_pair.h"
#include "core/service/worker.h"

namespace skein::service {

// How long a trunk waits for the other skeind.
struct TrunkPatience {
  absl::Duration silence = absl::Seconds(5);   // for its greeting, and whether it is there
  absl::Duration answers = absl::Seconds(60);  // until what is under way there has ended
  absl::Duration unused = absl::Seconds(60);   // until an end that has connected closes what no queue pair uses
};

class QueuePairs;

// What a trunk needs of the service that it belongs to.
class TrunkOwner {
 public:
  virtual ~TrunkOwner() = default;
  virtual absl::StatusOr<Port> PortFor(absl::string_view local_address) = 0;
  virtual QueuePairs& queue_pairs() = 0;
  // For the log.
  virtual void TrunkFailed(absl::string_view why) = 0;
  virtual Worker& worker() = 0;
  // Another one: whoever has much memory registered delays no connection.
  virtual Worker& connecting_worker() = 0;
};

// skeind's thread.
class Trunk : public std::enable_shared_from_this<Trunk> {
 public:
  enum class Posted : uint8_t { kYes, kFull, kAsked, kRefused };
  static constexpr uint64_t kMostMessageBytes = TrunkRequests::kBytes / 2;
  static uint64_t MostMessageBytes(const fabric::Device& device) {
    return std::min(kMostMessageBytes, device.capabilities().max_message_bytes);
  }

  // `socket`: connected or about to be, not blocking. `device`: null on the side that was connected to, until kHello.
  Trunk(TrunkOwner& owner, UniqueFd socket, std::shared_ptr<fabric::Device> device, TrunkPatience patience,
        std::string secret);
  ~Trunk();
  // The side that connects, which means the other one by `host`. The greeting goes when there is a queue pair and TCP
  // is connected.
  void Begin(absl::string_view host, UserBudget::Share opened_by);

  int socket() const { return socket_.fd(); }
  std::string PeerHost() const { return socket_.PeerHost(); }
  const std::shared_ptr<fabric::Device>& device() const { return device_; }
  TrunkLine& line() { return line_; }
  bool ended() const { return ended_; }
  // The other side has connected, and has not greeted.
  bool awaits_greeting() const { return !ended_ && greeting_.has_value() && !opened_by_.has_value(); }
  bool wants_to_write() const { return !ended_ && socket_.wants_to_write(); }

  // Reads and writes the socket as far as that goes at once. False: nothing was to do.
  bool OnSocket();
  // Whether the other skeind is there, and owes no answer for too long. When to look again: infinite while nothing is
  // under way. After the sockets have been read, so that an answer that has come counts.
  absl::Time Tend(absl::Time now);

  // To the other skeind, now or when the trunk is open.
  void Send(const TrunkMessage& message);
  void Attach(const std::shared_ptr<VirtualQueuePair>& queue_pair);
  // Null: it is not, or no more, on this trunk.
  std::shared_ptr<VirtualQueuePair> Find(uint32_t number) const;
  size_t queue_pairs() const { return members_.size(); }
  // One request, which goes with the line's next Flush. kFull, kAsked: later, and MayGoOn tells when.
  Posted Post(const std::shared_ptr<VirtualQueuePair>& queue_pair, const fabric::service::Submission& request);
  // The process has let go of it.
  void Revoke(const Region& region);
  // To the other skeind, of a queue pair that has ended.
  void TellClosed(const std::shared_ptr<VirtualQueuePair>& queue_pair);
  void Fail(absl::string_view why);

 private:
  // An answer of the other skeind's, until then.
  struct Awaited {
    absl::Time until;
    TrunkKind answer;
    std::weak_ptr<VirtualQueuePair> of;
    uint32_t rkey = 0;
  };

  void Say(const TrunkMessage& message);
  void Heed(const TrunkMessage& message);
  void Greet(const TrunkMessage& message);
  // A kHello.
  void Accept(const TrunkMessage& hello);
  void Open(fabric::RemoteAddress peers_landing);
  void Connected(const TrunkMessage& answer);
  void PeerClosed(const TrunkMessage& message);
  // Once both skeinds have said kClosed, nothing of it is left here.
  void CloseIfBothHave(const std::shared_ptr<VirtualQueuePair>& queue_pair);
  void Resolve(const TrunkMessage& question);
  void Resolved(const TrunkMessage& answer);
  // Memory that the queue pair's process names. `local` null: it has no such memory. False: the queue pair goes on
  // later.
  bool FindLocal(const std::shared_ptr<VirtualQueuePair>& queue_pair, uint32_t lkey,
                 std::shared_ptr<Region::OnTrunk>& local);
  // Null: the peer's skeind has been asked.
  const VirtualQueuePair::Remote* FindRemote(const std::shared_ptr<VirtualQueuePair>& queue_pair, uint32_t rkey);
  // Registers the region on this trunk; then calls `then` with it, or with null if that cannot be. At once, or when the
  // worker has done.
  // `number`: the queue pair that waits.
  void Register(uint32_t number, const std::shared_ptr<Region>& region, uint32_t access, TrunkMemory::Then then);
  void Await(TrunkKind answer, const std::shared_ptr<VirtualQueuePair>& of, uint32_t rkey = 0);
  bool IsAwaited(const Awaited& awaited) const;
  absl::Time UnusedUntil(absl::Time now);
  void AskWhetherItIsThere(absl::Time now);

  TrunkOwner& owner_;
  TrunkSocket socket_;
  const TrunkPatience patience_;
  std::optional<TrunkGreeting> greeting_;  // nothing: the trunk is open, or has been
  std::vector<TrunkMessage> unsent_;       // until it is open
  bool ended_ = false;
  TrunkSilence silence_;
  std::deque<Awaited> awaited_;

  std::shared_ptr<fabric::Device> device_;
  TrunkLine line_{*this, owner_, silence_};
  TrunkMemory memory_;

  std::optional<UserBudget::Share> opened_by_;  // nothing: the other skeind has connected
  absl::flat_hash_map<uint32_t, std::shared_ptr<VirtualQueuePair>> members_;
  absl::Time unused_since_ = absl::InfiniteFuture();  // it has no members
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TRUNK_H_
