// One process's session: what it has asked skeind for, until it closes its socket or dies.
#ifndef SKEIN_CORE_SERVICE_SESSION_H_
#define SKEIN_CORE_SERVICE_SESSION_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/mapping.h"
#include "core/base/socket_message.h"
#include "core/base/unique_fd.h"
#include "core/fabric/fabric.h"
#include "core/fabric/service/protocol.h"
#include "core/fabric/service/shared_queues.h"
#include "core/service/budget.h"
#include "core/service/completions.h"
#include "core/service/port.h"
#include "core/service/region.h"
#include "core/service/statistics.h"
#include "core/service/virtual_queue_pair.h"
#include "core/service/worker.h"

namespace skein::service {

class QueuePairs;
class Trunks;

// What a session needs of the service that it belongs to.
class SessionOwner {
 public:
  virtual ~SessionOwner() = default;
  // By the local address of the connection that a process means.
  virtual absl::StatusOr<Port> PortFor(absl::string_view local_address) = 0;
  // Those of all sessions.
  virtual QueuePairs& queue_pairs() = 0;
  virtual Trunks& trunks() = 0;
  virtual Worker& worker() = 0;
  // For another skeind that takes this one's place.
  virtual int ListenerFor(fabric::service::Listener which) const = 0;
  virtual void GiveWay() = 0;
  virtual Completions::Unwoken& unwoken() = 0;
};

// skeind's thread. What the process sends is hostile: an error answers it, and what no honest process sends ends the
// session, and harms nobody else.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(SessionOwner& owner, UniqueFd socket, const PeerCredentials& who, std::shared_ptr<UserBudget> budget,
          UserBudget::Share share)
      : owner_(owner), socket_(std::move(socket)), who_(who), budget_(std::move(budget)), share_(std::move(share)) {}

  int socket() const { return socket_.get(); }
  uid_t user() const { return who_.uid; }
  pid_t process() const { return who_.pid; }
  bool ended() const { return ended_; }
  const std::shared_ptr<fabric::Device>& device() const { return port_.device; }

  // Serves one request. False: there was none.
  bool OnSocket();
  // Looks which queue pairs have requests. False: none.
  bool LookForRequests();
  // Before the thread sleeps: the process wakes it from now on. Then LookForRequests once more.
  void GoToSleep();
  void Wake();

  // Of what its user may have, a connection to another host.
  absl::StatusOr<UserBudget::Share> TakeHost() { return budget_->Take(UserBudget::Kind::kHost, 1); }
  std::shared_ptr<service::Region> Region(uint32_t lkey) const;
  std::shared_ptr<service::Region> RegionByKey(uint32_t rkey) const;
  // How the kAccept of that queue pair has ended; nothing if the process does not wait for that.
  void AcceptEnded(const VirtualQueuePair& queue_pair, const absl::StatusOr<std::string>& answer);
  // Whether the process waits for an answer that others delay: then GiveAnswersDue, again and again.
  bool owes_answer() const { return accepting_ != nullptr || forgetting_ || registering_ != 0; }
  void GiveAnswersDue(absl::Time now);
  void End();

  void CountRefusal() { ++refusals_; }
  // But for what is under way, which the trunks know.
  ProcessStatistics Statistics() const;

 private:
  using Request = fabric::service::Request;
  using Reply = fabric::service::Reply;
  // Memory that is being registered.
  struct Registration {
    UserBudget::Share share;
    UserBudget::Share mapped;
    Mapping mapping;
    uint64_t address = 0;  // as the process numbers it
    uint32_t access = 0;
  };

  void Answer(const Reply& reply, int descriptor = -1);
  absl::StatusOr<Reply> Serve(const Request& request, SocketMessage& message);
  absl::StatusOr<Reply> Hello(const Request& request);
  absl::StatusOr<Reply> AnswerQuery(const Request& request);
  absl::StatusOr<Reply> PassPage(const Request& request, SocketMessage& message);
  absl::StatusOr<Reply> Register(const Request& request, SocketMessage& message);
  void RegisteredLate(uint32_t number, Registration of,
                      absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> registered);
  std::shared_ptr<service::Region> ToRegion(Registration of, std::unique_ptr<fabric::MemoryRegion> registered,
                                            uint32_t rkey);
  absl::StatusOr<Reply> Registered(Registration of, absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> registered);
  absl::StatusOr<Reply> CreateCompletionQueue(const Request& request, SocketMessage& message);
  absl::StatusOr<Reply> CreateQueuePair(const Request& request, SocketMessage& message);
  absl::StatusOr<Reply> OfQueuePair(const Request& request);
  fabric::service::SessionPage* page() const {
    return page_.size() == 0 ? nullptr : reinterpret_cast<fabric::service::SessionPage*>(page_.data());
  }

  SessionOwner& owner_;
  const UniqueFd socket_;
  const PeerCredentials who_;
  const std::shared_ptr<UserBudget> budget_;
  const UserBudget::Share share_;
  bool ended_ = false;
  Port port_;
  Mapping page_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<service::Region>> regions_;  // by lkey
  absl::flat_hash_map<uint32_t, uint32_t> lkeys_;                            // by rkey
  absl::flat_hash_map<uint32_t, std::shared_ptr<Completions>> completion_queues_;
  absl::flat_hash_map<uint32_t, std::shared_ptr<VirtualQueuePair>> queue_pairs_;
  std::vector<std::shared_ptr<VirtualQueuePair>> places_ = {nullptr};  // none at kQuestionPlace
  uint32_t last_number_ = 0;                                           // of a region or completion queue
  std::shared_ptr<VirtualQueuePair> accepting_;
  uint32_t registering_ = 0;  // which, if the process waits for that
  bool forgetting_ = false;
  std::weak_ptr<const bool> forgotten_;  // it is answered when that memory is deregistered
  absl::Time answers_until_;             // whatever others do
  Traffic destroyed_;                    // of queue pairs that are no more
  uint64_t refusals_ = 0;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_SESSION_H_
