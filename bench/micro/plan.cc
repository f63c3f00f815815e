#include "bench/micro/plan.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace skein::bench {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{64} << 20;
constexpr uint64_t kMaxCount = 10'000'000;

absl::Status CheckWord(absl::string_view flag, absl::string_view value, const std::vector<absl::string_view>& allowed) {
  std::string list;
  for (absl::string_view word : allowed) {
    if (value == word) return absl::OkStatus();
    absl::StrAppend(&list, list.empty() ? "" : " | ", word);
  }
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": allowed is ", list));
}

absl::Status CheckNumber(absl::string_view flag, uint64_t value, uint64_t most) {
  if (value >= 1 && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": allowed is 1 .. ", most));
}

}  // namespace

absl::Status Check(const Plan& plan) {
  absl::Status status = CheckWord("over", plan.over, {"write", "stream", "tcp"});
  if (status.ok()) status = CheckWord("fabric", plan.fabric, {"shm", "rdma", "skeind"});
  if (status.ok()) status = CheckWord("measure", plan.measure, {"latency", "bandwidth"});
  if (status.ok()) status = CheckNumber("bytes", plan.bytes, kMaxBytes);
  if (status.ok()) status = CheckNumber("count", plan.count, kMaxCount);
  if (status.ok() && plan.over == "write" && plan.fabric == "shm") {
    return absl::InvalidArgumentError("--over=write --fabric=shm: shared memory has no WRITEs of a fabric");
  }
  // The last word says that a WRITE has arrived.
  if (status.ok() && plan.over == "write" && plan.bytes % sizeof(uint64_t) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("--bytes=", plan.bytes, ": WRITEs need a multiple of 8"));
  }
  return status;
}

std::string ToText(const Plan& plan) {
  return absl::StrCat(plan.over, " ", plan.fabric, " ", plan.measure, " ", plan.bytes, " ", plan.count);
}

absl::StatusOr<Plan> PlanFromText(absl::string_view text) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  Plan plan;
  if (words.size() != 5 || !absl::SimpleAtoi(words[3], &plan.bytes) || !absl::SimpleAtoi(words[4], &plan.count)) {
    return absl::DataLossError("the client is no bench_fabric, or another version of it");
  }
  plan.over = words[0];
  plan.fabric = words[1];
  plan.measure = words[2];
  if (absl::Status status = Check(plan); !status.ok()) return status;
  return plan;
}

}  // namespace skein::bench
