// Persistent memory that a device and a CPU write, and that loses what neither has pushed out of its caches.
#ifndef SKEIN_TESTS_UNIT_DURABLE_CRASHING_MEMORY_H_
#define SKEIN_TESTS_UNIT_DURABLE_CRASHING_MEMORY_H_

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "core/durable/storage/storage.h"

namespace skein::durable {

// What is read is in `cache`, what is left without power in `medium`. Its storages die with the process that a crash
// ends. One thread.
class CrashingMemory : public std::enable_shared_from_this<CrashingMemory> {
 public:
  explicit CrashingMemory(uint64_t size, uint64_t seed = 1) : random_(seed), cache_(size / 8), medium_(size / 8) {}

  // Mapped, or not: as a disk.
  std::shared_ptr<Storage> Open(bool mapped = true);

  // What devices have written between the two is on the medium: what a READ behind it does.
  void PushFromDevice(uint64_t begin, uint64_t end) { Push({begin, end - begin}); }

  // A step of the storage's, or of whoever counts along. The crash comes instead of step `at`: from then on storages
  // fail, until LosePower.
  bool Step() {
    if (!crashed_ && crash_at_ && steps_ >= *crash_at_) crashed_ = true, ++crashes_;
    ++steps_;
    return !crashed_;
  }
  void CrashAt(uint64_t at) { crash_at_ = steps_ + at; }
  bool crashed() const { return crashed_; }
  // The at-th Persist from now, 1 being the next, fails, and what it covered is taken for clean: it is read as it is,
  // and reaches the medium only if it is written again.
  void FailPersist(uint64_t at) { fail_persist_ = at; }
  bool failed() const { return failed_; }  // since the power was lost
  int crashes() const { return crashes_; }

  // Of each word that was not pushed, the medium has the old value or the new one.
  void LosePower() {
    const uint64_t kind = random_() % 4;
    for (size_t i = 0; i < cache_.size(); ++i) {
      const bool kept = kind == 0 || (kind != 1 && random_() % 2 == 0);
      if (cache_[i] != medium_[i] && kept && !IsTakenForClean(i)) medium_[i] = cache_[i];
    }
    cache_ = medium_;
    taken_for_clean_.clear();
    failed_ = false;
    LoseProcess();
  }
  // What it wrote is still to be read.
  void LoseProcess() {
    ++generation_;
    crashed_ = false;
    crash_at_.reset();
  }
  char* bytes() { return reinterpret_cast<char*>(cache_.data()); }
  uint64_t size() const { return cache_.size() * 8; }

 private:
  friend class CrashingStorage;
  static uint64_t EndOf(const Extent& extent) { return (extent.offset + extent.length + 7) / 8; }
  void Push(const Extent& extent) {
    for (uint64_t word = extent.offset / 8; word < EndOf(extent); ++word) {
      if (!IsTakenForClean(word)) medium_[word] = cache_[word];
    }
  }
  void Write(const Extent& extent, const char* from) {
    std::memcpy(bytes() + extent.offset, from, extent.length);
    const auto begin = taken_for_clean_.lower_bound(extent.offset / 8);
    taken_for_clean_.erase(begin, taken_for_clean_.lower_bound(EndOf(extent)));
  }
  bool Persist(absl::Span<const Extent> extents) {
    const bool fails = fail_persist_ > 0 && --fail_persist_ == 0;
    failed_ |= fails;
    for (const Extent& extent : extents) fails ? TakeForClean(extent) : Push(extent);
    return !fails;
  }
  void TakeForClean(const Extent& extent) {
    for (uint64_t word = extent.offset / 8; word < EndOf(extent); ++word) taken_for_clean_[word] = cache_[word];
  }
  // Devices write past the storage.
  bool IsTakenForClean(uint64_t word) const {
    const auto found = taken_for_clean_.find(word);
    return found != taken_for_clean_.end() && found->second == cache_[word];
  }

  std::mt19937_64 random_;
  std::vector<uint64_t> cache_;
  std::vector<uint64_t> medium_;
  std::map<uint64_t, uint64_t> taken_for_clean_;  // words, and what they were then
  uint64_t generation_ = 0;
  uint64_t steps_ = 0;
  std::optional<uint64_t> crash_at_;
  bool crashed_ = false;
  int crashes_ = 0;
  uint64_t fail_persist_ = 0;
  bool failed_ = false;
};

class CrashingStorage final : public Storage {
 public:
  CrashingStorage(std::shared_ptr<CrashingMemory> memory, bool mapped, uint64_t generation)
      : memory_(std::move(memory)), mapped_(mapped), generation_(generation) {}

  uint64_t size() const override { return memory_->size(); }
  Persistence persistence() const override { return Persistence::kEmulated; }
  bool fine_grained() const override { return mapped_; }
  absl::Span<std::byte> mapped() override {
    if (!mapped_) return {};
    return {reinterpret_cast<std::byte*>(memory_->bytes()), size()};
  }

  using Storage::Persist;
  using Storage::Write;
  absl::Status Write(uint64_t offset, absl::Span<const absl::string_view> pieces) override {
    if (absl::Status inside = CheckRange(offset, TotalBytes(pieces)); !inside.ok()) return inside;
    if (!Step()) return Dead();
    for (const absl::string_view piece : pieces) {
      memory_->Write({offset, piece.size()}, piece.data());
      offset += piece.size();
    }
    return absl::OkStatus();
  }
  absl::Status WriteWord(uint64_t offset, uint64_t value) override {
    if (absl::Status inside = CheckWord(offset); !inside.ok()) return inside;
    if (!Step()) return Dead();
    memory_->Write({offset, sizeof(value)}, reinterpret_cast<const char*>(&value));
    return absl::OkStatus();
  }
  absl::Status Persist(absl::Span<const Extent> extents) override {
    if (absl::Status inside = CheckRanges(extents); !inside.ok()) return inside;
    if (!Step()) return Dead();
    return memory_->Persist(extents) ? absl::OkStatus() : absl::DataLossError("input/output error (a fault made)");
  }
  absl::Status Read(uint64_t offset, absl::Span<char> into) const override {
    if (absl::Status inside = CheckRange(offset, into.size()); !inside.ok()) return inside;
    std::memcpy(into.data(), memory_->bytes() + offset, into.size());
    return absl::OkStatus();
  }

 private:
  bool Step() { return generation_ == memory_->generation_ && memory_->Step(); }
  static absl::Status Dead() { return absl::AbortedError("the host has crashed"); }

  const std::shared_ptr<CrashingMemory> memory_;
  const bool mapped_;
  const uint64_t generation_;
};

inline std::shared_ptr<Storage> CrashingMemory::Open(bool mapped) {
  return std::make_shared<CrashingStorage>(shared_from_this(), mapped, ++generation_);
}

}  // namespace skein::durable

#endif  // SKEIN_TESTS_UNIT_DURABLE_CRASHING_MEMORY_H_
