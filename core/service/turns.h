// Whose turn it is: users in turn, of a user the processes in turn, of a process the queue pairs in turn.
#ifndef SKEIN_CORE_SERVICE_TURNS_H_
#define SKEIN_CORE_SERVICE_TURNS_H_

#include <sys/types.h>

#include <deque>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "core/service/virtual_queue_pair.h"

namespace skein::service {

// One thread.
class Turns {
 public:
  bool empty() const { return users_.empty(); }
  // Behind the others. Nothing if it is there.
  void Add(uid_t user, const Session* process, std::shared_ptr<VirtualQueuePair> queue_pair) {
    if (queue_pair->queued) return;
    queue_pair->queued = true;
    std::deque<Process>& processes = waiting_[user];
    if (processes.empty()) users_.push_back(user);
    for (Process& each : processes) {
      if (each.process == process) return each.queue_pairs.push_back(std::move(queue_pair));
    }
    processes.push_back({process, {}});
    processes.back().queue_pairs.push_back(std::move(queue_pair));
  }
  // Not empty.
  std::shared_ptr<VirtualQueuePair> Next() {
    const uid_t user = users_.front();
    users_.pop_front();
    const auto found = waiting_.find(user);
    std::deque<Process>& processes = found->second;
    Process process = std::move(processes.front());
    processes.pop_front();
    std::shared_ptr<VirtualQueuePair> next = std::move(process.queue_pairs.front());
    process.queue_pairs.pop_front();
    if (!process.queue_pairs.empty()) processes.push_back(std::move(process));
    if (processes.empty()) {
      waiting_.erase(found);
    } else {
      users_.push_back(user);
    }
    next->queued = false;
    return next;
  }

 private:
  struct Process {
    const Session* process = nullptr;
    std::deque<std::shared_ptr<VirtualQueuePair>> queue_pairs;
  };
  std::deque<uid_t> users_;
  absl::flat_hash_map<uid_t, std::deque<Process>> waiting_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TURNS_H_
