#include "core/durable/sim/simulated_medium.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace skein::durable::sim {

class SimulatedStorage final : public Storage {
 public:
  SimulatedStorage(std::shared_ptr<SimulatedMedium> medium, uint64_t size, uint64_t generation)
      : medium_(std::move(medium)), size_(size), generation_(generation) {}

  uint64_t size() const override { return size_; }
  Persistence persistence() const override { return Persistence::kEmulated; }
  bool fine_grained() const override { return medium_->granule_ == static_cast<uint64_t>(Granule::kWord); }

  using Storage::Persist;
  using Storage::Write;
  absl::Status Write(uint64_t offset, absl::Span<const absl::string_view> pieces) override {
    if (absl::Status inside = CheckRange(offset, TotalBytes(pieces)); !inside.ok()) return inside;
    const MutexLock lock(&medium_->mu_);
    const Fate fate = medium_->BeginStep(generation_);
    for (const absl::string_view piece : pieces) {
      medium_->Put(offset, piece, SimulatedMedium::State::kData, fate);
      offset += piece.size();
    }
    return StatusOf(fate);
  }

  absl::Status WriteWord(uint64_t offset, uint64_t value) override {
    if (absl::Status inside = CheckWord(offset); !inside.ok()) return inside;
    const MutexLock lock(&medium_->mu_);
    const Fate fate = medium_->BeginStep(generation_);
    medium_->NoticeWord(offset);
    medium_->Put(offset, {reinterpret_cast<const char*>(&value), sizeof(value)}, SimulatedMedium::State::kWord, fate);
    return StatusOf(fate);
  }

  absl::Status Persist(absl::Span<const Extent> extents) override {
    if (absl::Status inside = CheckRanges(extents); !inside.ok()) return inside;
    const MutexLock lock(&medium_->mu_);
    const Fate fate = medium_->BeginStep(generation_);
    for (const Extent& extent : extents) medium_->Persist(extent, fate);
    return StatusOf(fate);
  }

  absl::Status Read(uint64_t offset, absl::Span<char> into) const override {
    if (absl::Status inside = CheckRange(offset, into.size()); !inside.ok()) return inside;
    const MutexLock lock(&medium_->mu_);
    if (!into.empty()) std::memcpy(into.data(), medium_->cache_.data() + offset, into.size());
    return absl::OkStatus();
  }

 private:
  using Fate = SimulatedMedium::Fate;

  static absl::Status StatusOf(Fate fate) {
    return fate == Fate::kWhole ? absl::OkStatus() : absl::AbortedError("the simulated host has crashed");
  }

  const std::shared_ptr<SimulatedMedium> medium_;
  const uint64_t size_;
  const uint64_t generation_;
};

SimulatedMedium::SimulatedMedium(uint64_t size, Granule granule, uint64_t seed)
    : SimulatedMedium(std::string(size, '\0'), granule, seed) {}

SimulatedMedium::SimulatedMedium(std::string bytes, Granule granule, uint64_t seed)
    : granule_(static_cast<uint64_t>(granule)),
      random_(seed),
      cache_(std::move(bytes)),
      medium_(cache_),
      states_(cache_.size() / granule_ + 1, State::kClean) {}

std::unique_ptr<Storage> SimulatedMedium::Open() {
  const MutexLock lock(&mu_);
  ++generation_;
  return std::make_unique<SimulatedStorage>(shared_from_this(), cache_.size(), generation_);
}

void SimulatedMedium::CrashAt(uint64_t step, bool torn) {
  const MutexLock lock(&mu_);
  crash_at_ = steps_ + step;
  crash_torn_ = torn;
}

bool SimulatedMedium::crashed() const {
  const MutexLock lock(&mu_);
  return crashed_;
}

uint64_t SimulatedMedium::steps() const {
  const MutexLock lock(&mu_);
  return steps_;
}

uint64_t SimulatedMedium::words_ahead_of_data() const {
  const MutexLock lock(&mu_);
  return words_ahead_;
}

std::string SimulatedMedium::bytes() const {
  const MutexLock lock(&mu_);
  return cache_;
}

void SimulatedMedium::LosePower() {
  const MutexLock lock(&mu_);
  // Sometimes nothing has got through, sometimes everything, and mostly some.
  const uint64_t kind = random_() % 4;
  for (uint64_t granule = 0; granule < states_.size(); ++granule) {
    if (states_[granule] != State::kClean && kind != 0 && (kind == 1 || OneIn(2))) Evict(granule);
    Mark(granule, State::kClean);
  }
  cache_ = medium_;
  Revive();
}

void SimulatedMedium::LoseProcess() {
  const MutexLock lock(&mu_);
  // Still not persisted, but no longer what a word of the next process could be ahead of.
  for (uint64_t granule = 0; granule < states_.size(); ++granule) {
    if (states_[granule] == State::kData) Mark(granule, State::kWord);
  }
  Revive();
}

void SimulatedMedium::TakeForClean(absl::Span<const Extent> extents) {
  const MutexLock lock(&mu_);
  for (const Extent& extent : extents) {
    for (uint64_t at = extent.offset; at < extent.offset + extent.length; at += granule_ - at % granule_) {
      Mark(at / granule_, State::kClean);
    }
  }
}

void SimulatedMedium::Revive() {
  ++generation_;
  crash_at_.reset();
  crashed_ = false;
}

SimulatedMedium::Fate SimulatedMedium::BeginStep(uint64_t generation) {
  if (crashed_ || generation != generation_) return Fate::kNone;
  crashed_ = steps_ == crash_at_;
  ++steps_;
  if (!crashed_) return Fate::kWhole;
  return crash_torn_ ? Fate::kTorn : Fate::kNone;
}

void SimulatedMedium::Put(uint64_t offset, absl::string_view bytes, State state, Fate fate) {
  while (!bytes.empty()) {
    const absl::string_view part = bytes.substr(0, granule_ - offset % granule_);
    if (fate == Fate::kWhole || (fate == Fate::kTorn && OneIn(2))) PutInGranule(offset, part, state);
    offset += part.size();
    bytes.remove_prefix(part.size());
  }
}

void SimulatedMedium::PutInGranule(uint64_t offset, absl::string_view bytes, State state) {
  const uint64_t granule = offset / granule_;
  // A cache may write back what it has at any time, so the medium may get each value.
  if (states_[granule] != State::kClean && OneIn(4)) Evict(granule);
  if (states_[granule] != State::kData) Mark(granule, state);
  std::memcpy(cache_.data() + offset, bytes.data(), bytes.size());
}

void SimulatedMedium::Persist(const Extent& extent, Fate fate) {
  if (fate == Fate::kNone || extent.length == 0) return;
  for (uint64_t granule = extent.offset / granule_; granule <= (extent.offset + extent.length - 1) / granule_;
       ++granule) {
    if (states_[granule] == State::kClean || (fate == Fate::kTorn && OneIn(2))) continue;
    Evict(granule);
    Mark(granule, State::kClean);
  }
}

void SimulatedMedium::NoticeWord(uint64_t offset) {
  if (granule_ != static_cast<uint64_t>(Granule::kWord)) return;
  const uint64_t own = states_[offset / granule_] == State::kData ? 1 : 0;
  if (data_granules_ > own) ++words_ahead_;
}

void SimulatedMedium::Evict(uint64_t granule) {
  const uint64_t begin = granule * granule_;
  const uint64_t length = std::min<uint64_t>(granule_, cache_.size() - begin);
  std::memcpy(medium_.data() + begin, cache_.data() + begin, length);
}

void SimulatedMedium::Mark(uint64_t granule, State state) {
  if (states_[granule] == State::kData) --data_granules_;
  if (state == State::kData) ++data_granules_;
  states_[granule] = state;
}

}  // namespace skein::durable::sim
