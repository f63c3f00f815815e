// What transactions do: TATP's and Smallbank's, as FaSST and FLOCK's thesis (4.5.2) mix them.
#ifndef SKEIN_EXAMPLES_TRANSACTIONS_WORKLOAD_H_
#define SKEIN_EXAMPLES_TRANSACTIONS_WORKLOAD_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "examples/transactions/coordinator.h"
#include "examples/transactions/store.h"
#include "examples/transactions/task.h"

namespace skein::transactions {

using Random = std::minstd_rand;

// Any thread.
class Workload {
 public:
  virtual ~Workload() = default;

  virtual uint64_t keys() const = 0;
  virtual Value Initial(uint64_t key) const = 0;
  // One transaction, as `random` says. Adds to `net` what the sum of all balances has grown by. CANCELLED: its
  // rules refuse it. Others as Transaction's.
  virtual Task<absl::Status> Try(Transaction& transaction, Random& random, int64_t& net) const = 0;
  // Of the values: what transactions conserve, but for their `net`.
  virtual int64_t BalanceOf(uint64_t /*key*/, const Value& /*value*/) const { return 0; }
};

// 4 % of the accounts are in 90 % of the transactions; each is a checking and a savings account.
std::unique_ptr<Workload> Smallbank(uint64_t accounts);
std::unique_ptr<Workload> Tatp(uint64_t subscribers);
// "smallbank" or "tatp". Null: neither.
std::unique_ptr<Workload> MakeWorkload(const std::string& name, uint64_t size);

struct Tally {
  uint64_t committed = 0;
  uint64_t refused = 0;  // by the workload's rules
  uint64_t retried = 0;
  int64_t net = 0;
};

// Does one transaction, again and again while others are in its way. ABORTED: they are for longer than `patience`.
Task<absl::Status> Transact(Coordinator& coordinator, const Workload& workload, Random& random, absl::Duration patience,
                            Tally& tally);

}  // namespace skein::transactions

#endif  // SKEIN_EXAMPLES_TRANSACTIONS_WORKLOAD_H_
