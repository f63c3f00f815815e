// How much of a trunk's queue pair each user, and of a user each process, may have under way.
//
// The queue pair is one line: what is posted waits for all before it. So a trunk has no more under way than keeps the
// device busy, and those who have posted lately share that evenly: users, and of a user the processes. One request may
// be under way for each user at any time, and within the user's share one for each process, so each goes on. A process
// that comes anew waits once: for what the others had under way when they were alone.
#ifndef SKEIN_CORE_SERVICE_SHARES_H_
#define SKEIN_CORE_SERVICE_SHARES_H_

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"

namespace skein::service {

class Session;

// One thread.
class Shares {
 private:
  struct Part {
    uint64_t requests = 0;
    uint64_t bytes = 0;
    uint64_t seen = 0;  // the last age in which it wanted to post
  };
  // How many have wanted to, in this age and the one before.
  class Crowd {
   public:
    void See(uint64_t age, Part& who) {
      if (age != age_) before_ = age == age_ + 1 ? now_ : 0;
      if (age != age_) now_ = 0;
      age_ = age;
      if (who.seen != age) ++now_;
      who.seen = age;
    }
    uint64_t size() const { return std::max({uint64_t{1}, now_, before_}); }

   private:
    uint64_t age_ = 0;
    uint64_t now_ = 0;
    uint64_t before_ = 0;
  };
  struct User : Part {
    Crowd processes;
  };

 public:
  class Process : Part {
   public:
    explicit Process(std::shared_ptr<User> user) : user_(std::move(user)) {}

   private:
    friend class Shares;
    const std::shared_ptr<User> user_;
  };

  Shares(uint64_t requests, uint64_t bytes) : requests_(requests), bytes_(bytes) {}

  std::shared_ptr<Process> Of(uid_t user, const Session* session) {
    std::weak_ptr<Process>& known = processes_[session];
    std::shared_ptr<Process> process = known.lock();
    if (process != nullptr) return process;
    absl::erase_if(users_, [](const auto& each) { return each.second.expired(); });
    absl::erase_if(processes_, [session](const auto& each) { return each.first != session && each.second.expired(); });
    std::shared_ptr<User> of = users_[user].lock();
    if (of == nullptr) users_[user] = of = std::make_shared<User>();
    process = std::make_shared<Process>(std::move(of));
    processes_[session] = process;
    return process;
  }

  // Whether that process may post so many bytes now.
  bool Allows(Process& process, uint64_t bytes) {
    User& user = *process.user_;
    const uint64_t age = 1 + posted_ / kAge;
    crowd_.See(age, user);
    user.processes.See(age, process);
    const uint64_t of_user = crowd_.size();
    if (user.requests == 0) return true;
    return Fits(user, of_user, bytes) &&
           (process.requests == 0 || Fits(process, of_user * user.processes.size(), bytes));
  }
  void Posted(Process& process, uint64_t bytes) {
    ++posted_;
    for (Part* const part : {static_cast<Part*>(process.user_.get()), static_cast<Part*>(&process)}) {
      ++part->requests;
      part->bytes += bytes;
    }
  }
  void Ended(Process& process, uint64_t bytes) {
    for (Part* const part : {static_cast<Part*>(process.user_.get()), static_cast<Part*>(&process)}) {
      --part->requests;
      part->bytes -= bytes;
    }
  }

 private:
  // Requests of an age. A process, or a user, that wants to post nothing for two of them has no share.
  static constexpr uint64_t kAge = 1024;

  bool Fits(const Part& part, uint64_t among, uint64_t bytes) const {
    return part.requests < requests_ / among && part.bytes + bytes <= bytes_ / among;
  }

  const uint64_t requests_;
  const uint64_t bytes_;
  uint64_t posted_ = 0;
  Crowd crowd_;  // of users
  absl::flat_hash_map<uid_t, std::weak_ptr<User>> users_;
  absl::flat_hash_map<const Session*, std::weak_ptr<Process>> processes_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_SHARES_H_
