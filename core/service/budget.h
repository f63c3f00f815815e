// What one user's processes may have of skeind, together.
#ifndef SKEIN_CORE_SERVICE_BUDGET_H_
#define SKEIN_CORE_SERVICE_BUDGET_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace skein::service {

struct UserLimits {
  uint64_t sessions = 1024;
  uint64_t queue_pairs = 16384;
  uint64_t bytes = uint64_t{16} << 30;  // registered
  uint64_t mappings = 16384;            // of regions and completion queues
  uint64_t hosts = 2048;                // to which skeind has connected for them
};

// One thread.
class UserBudget : public std::enable_shared_from_this<UserBudget> {
 public:
  enum class Kind : uint8_t { kSession, kQueuePair, kBytes, kMapping, kHost };

  explicit UserBudget(const UserLimits& limits)
      : most_{limits.sessions, limits.queue_pairs, limits.bytes, limits.mappings, limits.hosts} {}

  // Gives it back when it goes.
  class Share {
   public:
    Share() = default;
    Share(std::shared_ptr<UserBudget> of, Kind kind, uint64_t amount)
        : of_(std::move(of)), kind_(kind), amount_(amount) {}
    Share(Share&& other) noexcept : of_(std::move(other.of_)), kind_(other.kind_), amount_(other.amount_) {}
    Share& operator=(Share&&) = delete;
    ~Share() {
      if (of_ != nullptr) of_->used_[static_cast<size_t>(kind_)] -= amount_;
    }

   private:
    std::shared_ptr<UserBudget> of_;
    Kind kind_ = Kind::kSession;
    uint64_t amount_ = 0;
  };

  uint64_t used(Kind kind) const { return used_[static_cast<size_t>(kind)]; }
  uint64_t most(Kind kind) const { return most_[static_cast<size_t>(kind)]; }

  absl::StatusOr<Share> Take(Kind kind, uint64_t amount) {
    const auto at = static_cast<size_t>(kind);
    if (amount > most_[at] - used_[at]) {
      return absl::ResourceExhaustedError(absl::StrCat("skeind lets a user's processes have ", most_[at], " ",
                                                       kNames[at], ", and they have ", used_[at],
                                                       "; see skeind --help"));
    }
    used_[at] += amount;
    return Share(shared_from_this(), kind, amount);
  }

 private:
  static constexpr const char* kNames[] = {"sessions", "queue pairs", "registered bytes",
                                           "regions and completion queues", "hosts connected to"};
  const uint64_t most_[5];
  uint64_t used_[5] = {};
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_BUDGET_H_
