// A storage that loses what was not persisted, by chance and from one seed: crashes are one call, and repeatable.
#ifndef SKEIN_CORE_DURABLE_SIM_SIMULATED_MEDIUM_H_
#define SKEIN_CORE_DURABLE_SIM_SIMULATED_MEDIUM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/durable/storage/storage.h"

namespace skein::durable::sim {

// What reaches the medium as a whole: words of a CPU's cache in front of persistent memory, or sectors of a disk.
enum class Granule : uint16_t { kWord = 8, kSector = 512 };

// The medium with the volatile cache in front of it. Outlives the storages that are opened on it, which are what dies
// in a crash. Any thread.
class SimulatedMedium : public std::enable_shared_from_this<SimulatedMedium> {
 public:
  SimulatedMedium(uint64_t size, Granule granule, uint64_t seed);
  // Holds these bytes, all persisted.
  SimulatedMedium(std::string bytes, Granule granule, uint64_t seed);

  // Storages that were opened earlier fail from now on. Words for granules make it fine-grained; mapped() is empty all
  // the same, since stores that go around Write could not be lost.
  std::unique_ptr<Storage> Open() ABSL_LOCKS_EXCLUDED(mu_);

  // The crash comes instead of the step-th Write, WriteWord or Persist from now, 0 being the next; torn: in its midst.
  // That call and all later ones are ABORTED, until one of the losses below.
  void CrashAt(uint64_t step, bool torn) ABSL_LOCKS_EXCLUDED(mu_);
  bool crashed() const ABSL_LOCKS_EXCLUDED(mu_);
  // Writes, WriteWords and Persists so far.
  uint64_t steps() const ABSL_LOCKS_EXCLUDED(mu_);

  // Everything loses power: of each granule that was not persisted, the medium has the last value, or an earlier one.
  void LosePower() ABSL_LOCKS_EXCLUDED(mu_);
  // Only the process dies: what it wrote is still to be read, and still not persisted.
  void LoseProcess() ABSL_LOCKS_EXCLUDED(mu_);

  // What a kernel does whose disk could not take them: they are read as they were written, and no Persist brings them
  // to the medium any more unless they are written again.
  void TakeForClean(absl::Span<const Extent> extents) ABSL_LOCKS_EXCLUDED(mu_);

  // Words that were written while other bytes of the same process were not persisted: as by a log that does not put
  // data before the word which vouches for it. 0 with sectors, where a word is no more than other bytes.
  uint64_t words_ahead_of_data() const ABSL_LOCKS_EXCLUDED(mu_);
  // What is read now.
  std::string bytes() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  friend class SimulatedStorage;

  enum class Fate : uint8_t { kWhole, kTorn, kNone };
  // Clean, or written since it was persisted: by Write, or by nothing but WriteWord.
  enum class State : uint8_t { kClean, kData, kWord };

  // What becomes of the next step, which a storage of `generation` takes.
  Fate BeginStep(uint64_t generation) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of a torn one, each granule happens or not.
  void Put(uint64_t offset, absl::string_view bytes, State state, Fate fate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PutInGranule(uint64_t offset, absl::string_view bytes, State state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Persist(const Extent& extent, Fate fate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NoticeWord(uint64_t offset) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Evict(uint64_t granule) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Mark(uint64_t granule, State state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Revive() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool OneIn(uint64_t n) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return random_() % n == 0; }

  const uint64_t granule_;
  mutable Mutex mu_;
  std::mt19937_64 random_ ABSL_GUARDED_BY(mu_);
  std::string cache_ ABSL_GUARDED_BY(mu_);          // what is read
  std::string medium_ ABSL_GUARDED_BY(mu_);         // what is left without power
  std::vector<State> states_ ABSL_GUARDED_BY(mu_);  // by granule
  uint64_t data_granules_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t generation_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t steps_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<uint64_t> crash_at_ ABSL_GUARDED_BY(mu_);
  bool crash_torn_ ABSL_GUARDED_BY(mu_) = false;
  bool crashed_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t words_ahead_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace skein::durable::sim

#endif  // SKEIN_CORE_DURABLE_SIM_SIMULATED_MEDIUM_H_
