#include <algorithm>

#include "examples/transactions/workload.h"

namespace skein::transactions {
namespace {

constexpr int64_t kBegin = 100'000;  // on each account, in cents

uint64_t Checking(uint64_t account) { return 2 * account; }
uint64_t Savings(uint64_t account) { return 2 * account + 1; }

class SmallbankWorkload final : public Workload {
 public:
  explicit SmallbankWorkload(uint64_t accounts) : accounts_(accounts), hot_(std::max<uint64_t>(accounts / 25, 2)) {}

  uint64_t keys() const override { return 2 * accounts_; }
  Value Initial(uint64_t) const override { return {kBegin}; }
  int64_t BalanceOf(uint64_t, const Value& value) const override { return value[0]; }

  Task<absl::Status> Try(Transaction& transaction, Random& random, int64_t& net) const override {
    const uint64_t dice = random() % 100;
    const uint64_t one = Pick(random);
    uint64_t other = Pick(random);
    while (other == one) other = Pick(random);
    if (dice < 15) return Amalgamate(transaction, one, other);
    if (dice < 30) return Balance(transaction, one);
    if (dice < 45) return Add(transaction, Checking(one), 130, net);
    if (dice < 70) return SendPayment(transaction, one, other);
    if (dice < 85) return Add(transaction, Savings(one), 2020, net);
    return WriteCheck(transaction, one, net);
  }

 private:
  uint64_t Pick(Random& random) const { return random() % (random() % 10 < 9 ? hot_ : accounts_); }

  static Task<absl::Status> Balance(Transaction& transaction, uint64_t account) {
    const std::vector<uint64_t> reads = {Checking(account), Savings(account)};
    const absl::Status status = co_await transaction.Execute(reads, {});
    if (!status.ok()) co_return status;
    co_return co_await transaction.Commit();
  }

  // DepositChecking, TransactSavings.
  static Task<absl::Status> Add(Transaction& transaction, uint64_t key, int64_t cents, int64_t& net) {
    const std::vector<uint64_t> writes = {key};
    const absl::Status status = co_await transaction.Execute({}, writes);
    if (!status.ok()) co_return status;
    transaction.Set(key)[0] += cents;
    net = cents;
    co_return co_await transaction.Commit();
  }

  static Task<absl::Status> Amalgamate(Transaction& transaction, uint64_t from, uint64_t to) {
    const std::vector<uint64_t> writes = {Checking(from), Savings(from), Checking(to)};
    const absl::Status status = co_await transaction.Execute({}, writes);
    if (!status.ok()) co_return status;
    transaction.Set(writes[2])[0] += transaction.Get(writes[0])[0] + transaction.Get(writes[1])[0];
    transaction.Set(writes[0])[0] = transaction.Set(writes[1])[0] = 0;
    co_return co_await transaction.Commit();
  }

  static Task<absl::Status> SendPayment(Transaction& transaction, uint64_t from, uint64_t to) {
    constexpr int64_t kCents = 500;
    const std::vector<uint64_t> writes = {Checking(from), Checking(to)};
    const absl::Status status = co_await transaction.Execute({}, writes);
    if (!status.ok()) co_return status;
    if (transaction.Get(writes[0])[0] < kCents) co_return absl::CancelledError("less is on the account");
    transaction.Set(writes[0])[0] -= kCents;
    transaction.Set(writes[1])[0] += kCents;
    co_return co_await transaction.Commit();
  }

  // An overdraft costs a fee.
  static Task<absl::Status> WriteCheck(Transaction& transaction, uint64_t account, int64_t& net) {
    constexpr int64_t kCents = 500;
    constexpr int64_t kFee = 100;
    const std::vector<uint64_t> reads = {Savings(account)};
    const std::vector<uint64_t> writes = {Checking(account)};
    const absl::Status status = co_await transaction.Execute(reads, writes);
    if (!status.ok()) co_return status;
    const int64_t balance = transaction.Get(reads[0])[0] + transaction.Get(writes[0])[0];
    net = -(balance < kCents ? kCents + kFee : kCents);
    transaction.Set(writes[0])[0] += net;
    co_return co_await transaction.Commit();
  }

  const uint64_t accounts_;
  const uint64_t hot_;
};

}  // namespace

std::unique_ptr<Workload> Smallbank(uint64_t accounts) { return std::make_unique<SmallbankWorkload>(accounts); }

}  // namespace skein::transactions
