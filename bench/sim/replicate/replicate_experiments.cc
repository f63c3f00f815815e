#include "bench/sim/replicate/replicate_experiments.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/sim/costs.h"
#include "bench/sim/replicate/replicate_run.h"

namespace skein::bench {
namespace {

using replicate::ScheduleKind;

class Points {
 public:
  explicit Points(bool quick) : quick_(quick) {}

  std::vector<uint32_t> Of(std::vector<uint32_t> all, std::vector<uint32_t> few) const {
    return quick_ ? std::move(few) : std::move(all);
  }
  void Add(std::string experiment, std::string series, size_t x, const ReplicateRun& run) {
    points_.push_back({std::move(experiment), std::move(series), x, [run]() -> absl::StatusOr<std::string> {
                         const ReplicateOutcome outcome = RunWrite(run, Calibrated());
                         if (outcome.blocks_received % run.receivers != 0 || outcome.blocks_received == 0) {
                           return absl::InternalError("blocks have been lost");
                         }
                         const double seconds = absl::ToDoubleSeconds(outcome.all);
                         const double bits = static_cast<double>(run.bytes) * 8e-9;
                         return absl::StrFormat(R"("ms": %.4f, "first_ms": %.4f, "gbps": %.3f, "steps": %d)",
                                                seconds * 1e3, absl::ToDoubleMilliseconds(outcome.first),
                                                bits / seconds, outcome.steps);
                       }});
  }
  std::vector<Point> Take() { return std::move(points_); }

 private:
  const bool quick_;
  std::vector<Point> points_;
};

void AddSchedules(Points& points) {
  for (const ScheduleKind kind : replicate::kAllSchedules) {
    for (const uint32_t receivers :
         points.Of({1, 2, 3, 4, 5, 6, 7, 8, 11, 15, 16, 23, 31, 63, 127, 255, 511, 512}, {1, 3, 7, 15, 512})) {
      points.Add("replicate", replicate::NameOf(kind), receivers, {.schedule = kind, .receivers = receivers});
    }
  }
}

// Groups of any number of members.
void AddNumbers(Points& points) {
  std::vector<uint32_t> all;
  for (uint32_t receivers = 1; receivers <= 64; ++receivers) all.push_back(receivers);
  for (const uint32_t receivers : points.Of(all, {1, 15, 23, 31})) {
    for (const uint32_t kib : {256U, 1024U}) {
      points.Add("numbers", absl::StrCat("blocks of ", kib, " KiB"), receivers,
                 {.receivers = receivers, .block_bytes = kib << 10});
    }
  }
}

// Small writes and large ones: 10 KB, 1 MB, 100 MB.
void AddSizes(Points& points) {
  for (const ScheduleKind kind : replicate::kAllSchedules) {
    for (const uint32_t kilobytes : points.Of({10, 100, 1000, 10'000, 100'000}, {10, 1000})) {
      ReplicateRun run{.schedule = kind, .receivers = 7, .bytes = uint64_t{kilobytes} * 1000};
      run.block_bytes = kilobytes >= 10'000 ? run.block_bytes : 64 << 10;
      points.Add("sizes, 7 receivers", replicate::NameOf(kind), kilobytes, run);
    }
  }
}

void AddBlocks(Points& points) {
  for (const uint32_t receivers : {15U, 512U}) {
    const std::string series = absl::StrCat(receivers, " receivers");
    for (const uint32_t kib : points.Of({64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}, {256, 1024})) {
      points.Add("blocks", series, kib, {.receivers = receivers, .block_bytes = kib << 10});
    }
    for (const uint32_t sends : points.Of({1, 2, 3, 4, 6, 8, 12, 16}, {1, 8})) {
      points.Add("under way", series, sends, {.receivers = receivers, .max_sends = sends});
    }
  }
}

void AddThreads(Points& points) {
  for (const uint32_t receivers : points.Of({1, 3, 7, 15, 63, 512}, {1, 3, 15, 512})) {
    points.Add("copies", "none", receivers, {.receivers = receivers});
    points.Add("copies", "at both ends", receivers, {.receivers = receivers, .copies = true});
    points.Add("waiting", "polling", receivers, {.receivers = receivers});
    points.Add("waiting", "woken for each block", receivers, {.receivers = receivers, .sleeps = true});
    points.Add("slow", "none", receivers, {.receivers = receivers});
    points.Add("slow", "the last, half the rate", receivers, {.receivers = receivers, .slow = receivers});
  }
}

}  // namespace

std::vector<Point> ReplicateExperiments(uint64_t, bool quick) {
  Points points(quick);
  AddSchedules(points);
  AddNumbers(points);
  AddSizes(points);
  AddBlocks(points);
  AddThreads(points);
  return points.Take();
}

}  // namespace skein::bench
