// A host with disks that is cut off at any step of what it does to them.
#ifndef SKEIN_TESTS_UNIT_DURABLE_SIMULATED_HOST_H_
#define SKEIN_TESTS_UNIT_DURABLE_SIMULATED_HOST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/durable/replicas/log_place.h"
#include "core/durable/sim/simulated_medium.h"

namespace skein::durable {

// On one thread. Its steps are Writes, WriteWords and Persists to any of its files, and a copy's taking the log's
// place.
class SimulatedHost {
 public:
  explicit SimulatedHost(uint64_t seed) : seed_(seed) {}

  // It is cut off at the step-th from now, 0 being the next; torn: in its midst.
  void CrashAt(uint64_t step, bool torn) {
    crash_at_ = steps_ + step;
    torn_ = torn;
  }
  bool crashed() const { return crashed_; }
  uint64_t steps() const { return steps_; }
  // After a crash or without: what was not persisted is lost, and it may be started again.
  void LosePower() {
    for (const auto& medium : {log_, copy_}) {
      if (medium != nullptr) medium->LosePower();
    }
    crashed_ = false;
    crash_at_.reset();
  }

  // Its disk is replaced.
  void Forget() { log_ = copy_ = nullptr; }

  // The log, or a blank file of so many bytes.
  std::unique_ptr<Storage> OpenOrMake(uint64_t bytes) {
    if (log_ == nullptr) log_ = NewMedium(bytes);
    return std::make_unique<File>(*this, log_);
  }
  std::unique_ptr<LogPlace> place() { return std::make_unique<Place>(*this); }

 private:
  using Medium = std::shared_ptr<sim::SimulatedMedium>;

  class File final : public Storage {
   public:
    File(SimulatedHost& host, Medium medium) : host_(host), medium_(std::move(medium)), file_(medium_->Open()) {}
    uint64_t size() const override { return file_->size(); }
    Persistence persistence() const override { return file_->persistence(); }
    bool fine_grained() const override { return file_->fine_grained(); }
    using Storage::Persist;
    using Storage::Write;
    absl::Status Write(uint64_t offset, absl::Span<const absl::string_view> pieces) override {
      return Step() ? file_->Write(offset, pieces) : CutOff();
    }
    absl::Status WriteWord(uint64_t offset, uint64_t value) override {
      return Step() ? file_->WriteWord(offset, value) : CutOff();
    }
    absl::Status Persist(absl::Span<const Extent> extents) override {
      return Step() ? file_->Persist(extents) : CutOff();
    }
    absl::Status Read(uint64_t offset, absl::Span<char> into) const override { return file_->Read(offset, into); }

   private:
    // The medium itself makes a torn step.
    bool Step() {
      if (host_.crashed_) return false;
      if (host_.IsCut()) medium_->CrashAt(0, host_.torn_);
      return true;
    }

    SimulatedHost& host_;
    const Medium medium_;
    const std::unique_ptr<Storage> file_;
  };

  class Place final : public LogPlace {
   public:
    explicit Place(SimulatedHost& host) : host_(host) {}
    absl::StatusOr<std::unique_ptr<Storage>> OpenLog() override {
      if (host_.log_ == nullptr) return nullptr;
      return std::make_unique<File>(host_, host_.log_);
    }
    absl::StatusOr<std::unique_ptr<Storage>> MakeCopy(uint64_t bytes) override {
      if (host_.crashed_) return CutOff();
      host_.copy_ = host_.NewMedium(bytes);
      return std::make_unique<File>(host_, host_.copy_);
    }
    absl::Status TakeCopy() override {
      if (host_.crashed_) return CutOff();
      const bool cut = host_.IsCut();
      if (!cut || host_.torn_) host_.log_ = std::exchange(host_.copy_, nullptr);
      return cut ? CutOff() : absl::OkStatus();
    }

   private:
    SimulatedHost& host_;
  };

  static absl::Status CutOff() { return absl::AbortedError("the host was cut off"); }
  bool IsCut() {
    crashed_ = crash_at_ == steps_++;
    return crashed_;
  }
  Medium NewMedium(uint64_t bytes) {
    return std::make_shared<sim::SimulatedMedium>(bytes, sim::Granule::kSector, ++seed_ * 7919);
  }

  uint64_t seed_;
  Medium log_;
  Medium copy_;
  uint64_t steps_ = 0;
  std::optional<uint64_t> crash_at_;
  bool torn_ = false;
  bool crashed_ = false;
};

}  // namespace skein::durable

#endif  // SKEIN_TESTS_UNIT_DURABLE_SIMULATED_HOST_H_
