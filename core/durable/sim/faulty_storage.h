// A simulated medium's storage that fails when it is told to.
#ifndef SKEIN_CORE_DURABLE_SIM_FAULTY_STORAGE_H_
#define SKEIN_CORE_DURABLE_SIM_FAULTY_STORAGE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "core/durable/sim/simulated_medium.h"
#include "core/durable/storage/storage.h"

namespace skein::durable::sim {

// What is to fail, from any thread, also while the storage is in use. Each counts down with its calls: 1 is the next,
// 0 none.
struct Faults {
  std::atomic<int64_t> fail_write = 0;    // relaxed, all: the test's own order is enough
  std::atomic<int64_t> fail_persist = 0;  // only the one: what it covered counts as clean from then on, and is not safe
  std::atomic<int64_t> fail_read = 0;
  std::atomic<int64_t> persists = 0;
};

class FaultyStorage final : public Storage {
 public:
  FaultyStorage(std::shared_ptr<SimulatedMedium> medium, std::shared_ptr<Faults> faults)
      : medium_(std::move(medium)), storage_(medium_->Open()), faults_(std::move(faults)) {}

  uint64_t size() const override { return storage_->size(); }
  Persistence persistence() const override { return storage_->persistence(); }
  bool fine_grained() const override { return storage_->fine_grained(); }
  absl::Span<std::byte> mapped() override { return storage_->mapped(); }

  using Storage::Persist;
  using Storage::Write;
  absl::Status Write(uint64_t offset, absl::Span<const absl::string_view> pieces) override {
    if (IsDue(faults_->fail_write)) return absl::ResourceExhaustedError("cannot write: no space left (a fault made)");
    return storage_->Write(offset, pieces);
  }
  absl::Status WriteWord(uint64_t offset, uint64_t value) override {
    if (IsDue(faults_->fail_write)) return absl::ResourceExhaustedError("cannot write: no space left (a fault made)");
    return storage_->WriteWord(offset, value);
  }
  absl::Status Persist(absl::Span<const Extent> extents) override {
    faults_->persists.fetch_add(1, std::memory_order_relaxed);
    if (!IsDue(faults_->fail_persist)) return storage_->Persist(extents);
    medium_->TakeForClean(extents);
    return absl::DataLossError("cannot fdatasync: input/output error (a fault made)");
  }
  absl::Status Read(uint64_t offset, absl::Span<char> into) const override {
    if (IsDue(faults_->fail_read)) return absl::DataLossError("cannot read: input/output error (a fault made)");
    return storage_->Read(offset, into);
  }

 private:
  static bool IsDue(std::atomic<int64_t>& left) {
    return left.load(std::memory_order_relaxed) > 0 && left.fetch_sub(1, std::memory_order_relaxed) == 1;
  }

  const std::shared_ptr<SimulatedMedium> medium_;
  const std::unique_ptr<Storage> storage_;
  const std::shared_ptr<Faults> faults_;
};

}  // namespace skein::durable::sim

#endif  // SKEIN_CORE_DURABLE_SIM_FAULTY_STORAGE_H_
