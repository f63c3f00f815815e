#include "examples/transactions/workload.h"

#include <chrono>

#include "absl/time/time.h"

namespace skein::transactions {
std::unique_ptr<Workload> MakeWorkload(const std::string& name, uint64_t size) {
  if (name == "smallbank") return Smallbank(size);
  if (name == "tatp") return Tatp(size);
  return nullptr;
}

Task<absl::Status> Transact(Coordinator& coordinator, const Workload& workload, Random& random, absl::Duration patience,
                            Tally& tally) {
  const auto began = std::chrono::steady_clock::now();
  for (size_t attempt = 1;; ++attempt, ++tally.retried) {
    Random again = random;  // each attempt does the same
    int64_t net = 0;
    Transaction transaction(coordinator);
    const absl::Status status = co_await workload.Try(transaction, again, net);
    if (status.ok()) {
      ++tally.committed;
      tally.net += net;
    } else {
      const absl::Status aborted = co_await transaction.Abort();
      if (!coordinator.lost().ok()) co_return coordinator.lost();
      if (!aborted.ok()) co_return aborted;
      if (absl::IsAborted(status) && absl::FromChrono(std::chrono::steady_clock::now() - began) < patience) {
        const absl::Status stood_back = co_await coordinator.StandBack(attempt);
        if (!stood_back.ok()) co_return stood_back;
        continue;
      }
      if (!absl::IsCancelled(status)) co_return status;
      ++tally.refused;
    }
    random = again;
    co_return absl::OkStatus();
  }
}

}  // namespace skein::transactions
