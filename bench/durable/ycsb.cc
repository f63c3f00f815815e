#include "bench/durable/ycsb.h"

#include <algorithm>

namespace skein::bench::durable {
namespace {

// FNV-1a of a number's bytes, which YCSB scatters popular records by.
uint64_t Scattered(uint64_t value) {
  uint64_t hash = 0xCBF29CE484222325;
  for (int i = 0; i < 8; ++i, value >>= 8) hash = (hash ^ (value & 0xFF)) * 1099511628211;
  return hash;
}

}  // namespace

const YcsbMix* YcsbMixOf(absl::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kYcsb), std::end(kYcsb), [name](const YcsbMix& mix) { return mix.name == name; });
  return found == std::end(kYcsb) ? nullptr : found;
}

YcsbKind Ycsb::Kind(uint32_t percent) const {
  if (percent < mix_.updates) return YcsbKind::kUpdate;
  percent -= mix_.updates;
  if (percent < mix_.inserts) return YcsbKind::kInsert;
  percent -= mix_.inserts;
  if (percent < mix_.scans) return YcsbKind::kScan;
  percent -= mix_.scans;
  return percent < mix_.read_modify_writes ? YcsbKind::kReadModifyWrite : YcsbKind::kRead;
}

uint32_t Ycsb::Popular(fabric::sim::Random& random) const {
  const uint32_t rank = zipfian_.Draw(random);
  return mix_.latest ? records_ - 1 - rank : static_cast<uint32_t>(Scattered(rank) % records_);
}

YcsbOperation Ycsb::Next(fabric::sim::Random& random) {
  const YcsbKind kind = Kind(static_cast<uint32_t>(random.Below(100)));
  if (kind == YcsbKind::kInsert) return {.kind = kind, .record = records_++};
  YcsbOperation operation{.kind = kind, .record = Popular(random)};
  if (kind == YcsbKind::kScan) {
    operation.count = 1 + static_cast<uint32_t>(random.Below(uint64_t{kLongestScan}));
    operation.count = std::min(operation.count, records_ - operation.record);
  }
  return operation;
}

std::optional<Step> YcsbWorkload::Next(fabric::sim::Random& random) {
  if (asked_ == requests_) {
    operation_ = ycsb_.Next(random);
    asked_ = 0;
    requests_ = operation_.kind == YcsbKind::kReadModifyWrite ? 2 : operation_.count;
  }
  const bool writes = operation_.kind == YcsbKind::kUpdate || operation_.kind == YcsbKind::kInsert ||
                      (operation_.kind == YcsbKind::kReadModifyWrite && asked_ == 1);
  const uint32_t record = operation_.record + (operation_.kind == YcsbKind::kScan ? asked_ : 0);
  Step step;
  step.requests.push_back({.object = record, .is_write = writes ? 1u : 0u, .object_bytes = value_bytes_});
  step.thinks = thinks_ + random.Exponential(noise_);
  step.waits = asked_ == 0 || operation_.kind != YcsbKind::kScan || ahead_ == 1;
  step.ends = ++asked_ == requests_;
  return step;
}

}  // namespace skein::bench::durable
