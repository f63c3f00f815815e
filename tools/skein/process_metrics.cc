#include "tools/skein/process_metrics.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/inspect/attachment.h"
#include "core/inspect/tracing.h"
#include "core/trace/metric_family.h"
#include "core/trace/metrics.h"
#include "tools/skein/client_metrics.h"
#include "tools/skein/process_name.h"

namespace skein {
namespace {

using trace::MetricFamilies;

constexpr size_t kMostAtOnce = 16;
// For all processes together. Prometheus waits for ten seconds unless told otherwise, also for what comes of this.
constexpr absl::Duration kScrapeTime = absl::Seconds(5);

// In the order of `processes`.
std::vector<absl::StatusOr<MetricFamilies>> AskAll(const std::vector<pid_t>& processes) {
  const Deadline end = After(kScrapeTime);
  std::vector<absl::StatusOr<MetricFamilies>> answers(processes.size());
  std::atomic<size_t> next = 0;  // relaxed: the numbers are all that is shared, until the helpers have ended
  const auto ask = [&] {
    for (;;) {
      const size_t mine = next.fetch_add(1, std::memory_order_relaxed);
      if (mine >= processes.size()) return;
      answers[mine] = inspect::AskMetrics(processes[mine], end);
    }
  };
  std::vector<std::thread> helpers;
  helpers.reserve(kMostAtOnce);
  try {
    while (helpers.size() + 1 < std::min(kMostAtOnce, processes.size())) helpers.emplace_back(ask);
  } catch (const std::system_error&) {
    // Then with fewer.
  }
  ask();
  for (std::thread& helper : helpers) helper.join();
  return answers;
}

MetricFamilies Up(bool up) {
  return {{"skein_up",
           "1 if the process has answered, 0 if it has not.",
           trace::MetricType::kGauge,
           {{{}, up ? "1" : "0", {}, "", ""}}}};
}

// Another user's, or nobody's: anybody may have put a name on the list.
bool IsNoneOfOurs(const absl::Status& status) {
  return status.code() == absl::StatusCode::kPermissionDenied || status.code() == absl::StatusCode::kNotFound;
}

}  // namespace

std::vector<prometheus::MetricFamily> ProcessMetrics::Collect() const {
  const std::vector<pid_t> processes = named_ != nullptr ? named_->Living() : inspect::ProcessesToAsk();
  std::vector<absl::StatusOr<MetricFamilies>> answers = AskAll(processes);
  // Whoever answered in the name of a process that has ended meanwhile is somebody else.
  const std::vector<pid_t> living = named_ != nullptr ? named_->Living() : processes;
  MetricFamilies all;
  for (size_t i = 0; i < processes.size(); ++i) {
    const std::string program = ProcessName(processes[i]);
    if (program.empty() || !absl::c_linear_search(living, processes[i])) continue;
    if (named_ == nullptr && IsNoneOfOurs(answers[i].status())) continue;
    MetricFamilies its = Up(answers[i].ok());
    if (answers[i].ok()) trace::Merge(its, *std::move(answers[i]));
    trace::AddLabel(its, "process", absl::StrCat(processes[i]));
    trace::AddLabel(its, "program", program);
    trace::Merge(all, std::move(its));
  }
  return ClientMetrics(all);
}

}  // namespace skein
