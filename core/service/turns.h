// Whose turn it is: users in turn, of a user the processes in turn, of a process the queue pairs in turn.
#ifndef SKEIN_CORE_SERVICE_TURNS_H_
#define SKEIN_CORE_SERVICE_TURNS_H_

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/service/virtual_queue_pair.h"

namespace skein::service {

// One thread. Users and processes that wait no more stay known, up to a number: most come again at once, and find their
// queues there.
class Turns {
 public:
  bool empty() const { return order_.empty(); }
  // Behind the others. Nothing if it is there.
  void Add(uid_t user, const Session* process, std::shared_ptr<VirtualQueuePair> queue_pair) {
    if (queue_pair->queued) return;
    queue_pair->queued = true;
    User& its_user = users_[user];
    PairQueue& pairs = its_user.processes[process];
    if (its_user.order.empty()) order_.push_back(user);
    if (pairs.empty()) its_user.order.push_back(process);
    pairs.push_back(std::move(queue_pair));
  }
  // Not empty.
  std::shared_ptr<VirtualQueuePair> Next() {
    const uid_t user = TakeFirst(order_);
    const auto its_user = users_.find(user);
    const Session* const process = TakeFirst(its_user->second.order);
    const auto pairs = its_user->second.processes.find(process);
    std::shared_ptr<VirtualQueuePair> next = TakeFirst(pairs->second);
    if (!pairs->second.empty()) {
      its_user->second.order.push_back(process);
    } else if (its_user->second.processes.size() > kKnownProcesses) {
      its_user->second.processes.erase(pairs);
    }
    if (!its_user->second.order.empty()) {
      order_.push_back(user);
    } else if (users_.size() > kKnownUsers) {
      users_.erase(its_user);
    }
    next->queued = false;
    return next;
  }

 private:
  using PairQueue = std::deque<std::shared_ptr<VirtualQueuePair>>;
  struct User {
    absl::flat_hash_map<const Session*, PairQueue> processes;
    std::deque<const Session*> order;  // those that wait
  };
  static constexpr size_t kKnownUsers = 64;
  static constexpr size_t kKnownProcesses = 256;

  template <typename T>
  static T TakeFirst(std::deque<T>& queue) {
    T first = std::move(queue.front());
    queue.pop_front();
    return first;
  }

  absl::flat_hash_map<uid_t, User> users_;
  std::deque<uid_t> order_;  // those that wait
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TURNS_H_
