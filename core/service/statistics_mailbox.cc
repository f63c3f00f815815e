#include "core/service/statistics_mailbox.h"

#include <sys/eventfd.h>

#include <cerrno>

#include "core/base/deadline.h"
#include "core/base/errno_status.h"
#include "core/inspect/control.h"
#include "core/trace/metrics.h"
#include "core/trace/prometheus.h"

namespace skein::service {
namespace {

// The skein command waits longer.
constexpr absl::Duration kCountsWithin = absl::Seconds(2);

}  // namespace

absl::StatusOr<std::shared_ptr<StatisticsMailbox>> StatisticsMailbox::Create() {
  UniqueFd asks(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!asks.valid()) return ErrnoStatus(errno, "create an eventfd");
  return std::shared_ptr<StatisticsMailbox>(new StatisticsMailbox(std::move(asks)));
}

absl::StatusOr<Statistics> StatisticsMailbox::Ask(absl::Duration patience) {
  const Deadline until = After(patience);
  MutexLock lock(&mu_);
  const uint64_t mine = ++asked_;
  // It cannot be full: skeind's thread takes all at once, and no 2^64 threads ask.
  eventfd_write(asks_.get(), 1);
  Lockable lockable{mu_};
  while (answered_ < mine && !closed_) {
    if (changed_.wait_until(lockable, until) == std::cv_status::timeout) break;
  }
  if (answered_ >= mine) return latest_;
  if (closed_) return absl::UnavailableError("skeind ends");
  return absl::DeadlineExceededError("skeind's thread does not answer");
}

void StatisticsMailbox::Answer(absl::FunctionRef<Statistics()> statistics) {
  eventfd_t unused = 0;
  eventfd_read(asks_.get(), &unused);
  MutexLock lock(&mu_);
  if (answered_ == asked_) return;
  latest_ = statistics();
  answered_ = asked_;
  changed_.notify_all();
}

void StatisticsMailbox::Close() {
  MutexLock lock(&mu_);
  closed_ = true;
  changed_.notify_all();
}

void HandleStatistics(std::shared_ptr<StatisticsMailbox> mailbox) {
  inspect::Handle("metrics", [mailbox](absl::string_view) -> absl::StatusOr<std::string> {
    absl::StatusOr<Statistics> statistics = mailbox->Ask(kCountsWithin);
    if (!statistics.ok()) return statistics.status();
    trace::MetricFamilies families = trace::MetricsOf(trace::ReadCounters(), {}, trace::MethodTable());
    trace::Merge(families, MetricsOf(*std::move(statistics)));
    return trace::PrometheusText(families);
  });
  inspect::Handle("queue_pairs", [mailbox](absl::string_view) -> absl::StatusOr<std::string> {
    absl::StatusOr<Statistics> statistics = mailbox->Ask(kCountsWithin);
    if (!statistics.ok()) return statistics.status();
    return trace::PrometheusText(QueuePairMetricsOf(std::move(statistics->queue_pairs)));
  });
}

}  // namespace skein::service
