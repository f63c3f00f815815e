// YCSB's core workloads A to F (Cooper et al., SoCC '10), as its source has them: which records, how, and in what
// parts.
#ifndef SKEIN_BENCH_DURABLE_YCSB_H_
#define SKEIN_BENCH_DURABLE_YCSB_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "bench/durable/workload.h"
#include "core/fabric/sim/random.h"

namespace skein::bench::durable {

enum class YcsbKind : uint8_t { kRead, kUpdate, kInsert, kScan, kReadModifyWrite };

// An operation on `count` records from `record` on. Records are numbered in the order of their keys.
struct YcsbOperation {
  YcsbKind kind = YcsbKind::kRead;
  uint32_t record = 0;
  uint32_t count = 1;
};

// Of operations, in per cent; the rest are reads.
struct YcsbMix {
  absl::string_view name;
  uint32_t updates = 0;
  uint32_t inserts = 0;
  uint32_t scans = 0;
  uint32_t read_modify_writes = 0;
  bool latest = false;  // popular are the records that came last; else a few, all over the keys
};
inline constexpr YcsbMix kYcsb[] = {
    {.name = "A", .updates = 50},
    {.name = "B", .updates = 5},
    {.name = "C"},
    {.name = "D", .inserts = 5, .latest = true},
    {.name = "E", .inserts = 5, .scans = 95},
    {.name = "F", .read_modify_writes = 50},
};
// nullptr: no such workload.
const YcsbMix* YcsbMixOf(absl::string_view name);

class Ycsb {
 public:
  // YCSB's own scans have up to 100 records, those of SC'21's program 1 to 10.
  static constexpr uint32_t kLongestScan = 10;

  Ycsb(const YcsbMix& mix, uint32_t records, double skew) : mix_(mix), records_(records), zipfian_(records, skew) {}

  YcsbOperation Next(fabric::sim::Random& random);
  uint32_t records() const { return records_; }

 private:
  YcsbKind Kind(uint32_t percent) const;
  uint32_t Popular(fabric::sim::Random& random) const;

  const YcsbMix mix_;
  uint32_t records_;
  const Zipfian zipfian_;
};

// The operations as requests: a scan is a read of each record, since the client has the index (5.1); reads of a scan
// wait for each other, unless `ahead` says that more than one may be under way.
class YcsbWorkload final : public Workload {
 public:
  YcsbWorkload(Ycsb ycsb, size_t value_bytes, size_t ahead, absl::Duration thinks, absl::Duration noise)
      : ycsb_(std::move(ycsb)), value_bytes_(value_bytes), ahead_(ahead), thinks_(thinks), noise_(noise) {}

  std::optional<Step> Next(fabric::sim::Random& random) override;

 private:
  Ycsb ycsb_;
  const size_t value_bytes_;
  const size_t ahead_;
  const absl::Duration thinks_;
  const absl::Duration noise_;
  YcsbOperation operation_;
  uint32_t asked_ = 0;  // of its requests
  uint32_t requests_ = 0;
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_YCSB_H_
