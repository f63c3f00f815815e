// TATP's tables, with the rows of a subscriber behind each other: itself, the number that leads to it, 4 rows of access
// data, 4 special facilities, and 3 call forwardings of each. A row's first field says whether it is there.
#include <algorithm>

#include "examples/transactions/workload.h"

namespace skein::transactions {
namespace {

constexpr uint64_t kTypes = 4;
constexpr uint64_t kStarts = 3;  // of call forwardings: 0, 8 and 16 h
constexpr uint64_t kNumber = 1;
constexpr uint64_t kAccess = kNumber + 1;
constexpr uint64_t kFacility = kAccess + kTypes;
constexpr uint64_t kForwarding = kFacility + kTypes;
constexpr uint64_t kRows = kForwarding + kTypes * kStarts;

enum Field : size_t { kPresent = 0, kData = 1, kActive = 2 };  // a number's data is its subscriber

uint64_t Row(uint64_t subscriber, uint64_t row) { return subscriber * kRows + row; }
uint64_t Facility(uint64_t subscriber, uint64_t type) { return Row(subscriber, kFacility + type); }
uint64_t Forwarding(uint64_t subscriber, uint64_t type, uint64_t start) {
  return Row(subscriber, kForwarding + type * kStarts + start);
}

bool IsThere(const Transaction& transaction, uint64_t key) { return transaction.Get(key)[kPresent] != 0; }

absl::Status NoSuchRow() { return absl::CancelledError("there is no such row"); }

class TatpWorkload final : public Workload {
 public:
  explicit TatpWorkload(uint64_t subscribers) : subscribers_(subscribers) {}

  uint64_t keys() const override { return subscribers_ * kRows; }

  // A subscriber has 1 to 4 rows of access data, as many facilities, and some of the call forwardings of these; 85 % of
  // the facilities are active.
  Value Initial(uint64_t key) const override {
    const uint64_t subscriber = key / kRows;
    const uint64_t row = key % kRows;
    const uint64_t types = 1 + subscriber % kTypes;
    const int64_t active = key % 100 < 85 ? 1 : 0;
    if (row < kAccess) return {1, static_cast<int64_t>(subscriber)};
    if (row < kFacility) return {row - kAccess < types ? 1 : 0};
    if (row < kForwarding) return {row - kFacility < types ? 1 : 0, 0, active};
    const bool there = (row - kForwarding) / kStarts < types && (row - kForwarding) % kStarts < subscriber / 4 % 4;
    return {there ? 1 : 0};
  }

  Task<absl::Status> Try(Transaction& transaction, Random& random, int64_t&) const override {
    const uint64_t dice = random() % 100;
    const uint64_t subscriber = Pick(random);
    const uint64_t type = random() % kTypes;
    const uint64_t start = random() % kStarts;
    const auto data = static_cast<int64_t>(random() % 256);
    if (dice < 35) return ReadRow(transaction, Row(subscriber, 0));
    if (dice < 70) return ReadRow(transaction, Row(subscriber, kAccess + type));
    if (dice < 80) return GetNewDestination(transaction, subscriber, type, start);
    if (dice < 82) return UpdateSubscriberData(transaction, subscriber, type, data);
    if (dice < 96) return UpdateLocation(transaction, subscriber, data);
    if (dice < 98) return InsertCallForwarding(transaction, subscriber, type, start, data);
    return DeleteCallForwarding(transaction, subscriber, type, start);
  }

 private:
  // TATP's: some are asked for more often.
  uint64_t Pick(Random& random) const {
    const uint64_t mask = subscribers_ <= 1'000'000 ? 65535 : 1048575;
    return ((random() & mask) | (random() % subscribers_)) % subscribers_;
  }

  // GetSubscriberData, GetAccessData.
  static Task<absl::Status> ReadRow(Transaction& transaction, uint64_t key) {
    const std::vector<uint64_t> reads = {key};
    const absl::Status status = co_await transaction.Execute(reads, {});
    if (!status.ok()) co_return status;
    if (!IsThere(transaction, key)) co_return NoSuchRow();
    co_return co_await transaction.Commit();
  }

  static Task<absl::Status> GetNewDestination(Transaction& transaction, uint64_t subscriber, uint64_t type,
                                              uint64_t last_start) {
    std::vector<uint64_t> reads = {Facility(subscriber, type)};
    for (uint64_t start = 0; start <= last_start; ++start) reads.push_back(Forwarding(subscriber, type, start));
    const absl::Status status = co_await transaction.Execute(reads, {});
    if (!status.ok()) co_return status;
    const bool active = IsThere(transaction, reads[0]) && transaction.Get(reads[0])[kActive] != 0;
    const bool forwards =
        std::any_of(reads.begin() + 1, reads.end(), [&](uint64_t key) { return IsThere(transaction, key); });
    const absl::Status committed = co_await transaction.Commit();
    co_return committed.ok() && !(active && forwards) ? NoSuchRow() : committed;
  }

  static Task<absl::Status> UpdateSubscriberData(Transaction& transaction, uint64_t subscriber, uint64_t type,
                                                 int64_t data) {
    const std::vector<uint64_t> writes = {Row(subscriber, 0), Facility(subscriber, type)};
    const absl::Status status = co_await transaction.Execute({}, writes);
    if (!status.ok()) co_return status;
    if (!IsThere(transaction, writes[1])) co_return NoSuchRow();
    transaction.Set(writes[0])[kData] = data % 2;
    transaction.Set(writes[1])[kData] = data;
    co_return co_await transaction.Commit();
  }

  // The others know a subscriber by its number.
  static Task<absl::Status> FindByNumber(Transaction& transaction, uint64_t number, uint64_t& subscriber) {
    const std::vector<uint64_t> reads = {Row(number, kNumber)};
    const absl::Status status = co_await transaction.Execute(reads, {});
    if (status.ok()) subscriber = static_cast<uint64_t>(transaction.Get(reads[0])[kData]);
    co_return status;
  }

  static Task<absl::Status> UpdateLocation(Transaction& transaction, uint64_t number, int64_t location) {
    uint64_t subscriber = 0;
    const absl::Status found = co_await FindByNumber(transaction, number, subscriber);
    if (!found.ok()) co_return found;
    const std::vector<uint64_t> writes = {Row(subscriber, 0)};
    const absl::Status status = co_await transaction.Execute({}, writes);
    if (!status.ok()) co_return status;
    transaction.Set(writes[0])[kActive] = location;
    co_return co_await transaction.Commit();
  }

  static Task<absl::Status> InsertCallForwarding(Transaction& transaction, uint64_t number, uint64_t type,
                                                 uint64_t start, int64_t to) {
    uint64_t subscriber = 0;
    const absl::Status found = co_await FindByNumber(transaction, number, subscriber);
    if (!found.ok()) co_return found;
    const std::vector<uint64_t> reads = {Facility(subscriber, type)};
    const std::vector<uint64_t> writes = {Forwarding(subscriber, type, start)};
    const absl::Status status = co_await transaction.Execute(reads, writes);
    if (!status.ok()) co_return status;
    if (!IsThere(transaction, reads[0])) co_return NoSuchRow();
    if (IsThere(transaction, writes[0])) co_return absl::CancelledError("it forwards at that time");
    transaction.Set(writes[0]) = {1, to};
    co_return co_await transaction.Commit();
  }

  static Task<absl::Status> DeleteCallForwarding(Transaction& transaction, uint64_t number, uint64_t type,
                                                 uint64_t start) {
    uint64_t subscriber = 0;
    const absl::Status found = co_await FindByNumber(transaction, number, subscriber);
    if (!found.ok()) co_return found;
    const std::vector<uint64_t> writes = {Forwarding(subscriber, type, start)};
    const absl::Status status = co_await transaction.Execute({}, writes);
    if (!status.ok()) co_return status;
    if (!IsThere(transaction, writes[0])) co_return NoSuchRow();
    transaction.Set(writes[0])[kPresent] = 0;
    co_return co_await transaction.Commit();
  }

  const uint64_t subscribers_;
};

}  // namespace

std::unique_ptr<Workload> Tatp(uint64_t subscribers) { return std::make_unique<TatpWorkload>(subscribers); }

}  // namespace skein::transactions
