#include "bench/micro/measure.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/micro/open.h"
#include "bench/micro/transport.h"

namespace skein::bench {
namespace {

// Round trips before any measurement: memory is mapped, addresses are resolved, windows are open.
constexpr uint64_t kWarmUp = 4;

absl::StatusOr<std::vector<absl::Duration>> Ping(Transport& transport, uint64_t count) {
  std::vector<absl::Duration> halves;
  halves.reserve(count);
  for (absl::Time start = absl::Now(); halves.size() < count;) {
    absl::Status status = transport.Send();
    if (status.ok()) status = transport.Receive();
    if (!status.ok()) return status;
    const absl::Time end = absl::Now();
    halves.push_back((end - start) / 2);
    start = end;
  }
  return halves;
}

absl::Status Pong(Transport& transport, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    absl::Status status = transport.Receive();
    if (status.ok()) status = transport.Send();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Latency(Transport& transport, uint64_t count) {
  absl::StatusOr<std::vector<absl::Duration>> halves = Ping(transport, count);
  if (!halves.ok()) return halves.status();
  std::sort(halves->begin(), halves->end());
  const auto percentile = [&](double fraction) {
    return absl::ToDoubleMicroseconds((*halves)[static_cast<size_t>(static_cast<double>(count - 1) * fraction)]);
  };
  return absl::StrFormat(R"("p50_us": %.3f, "p99_us": %.3f)", percentile(0.5), percentile(0.99));
}

absl::StatusOr<std::string> Bandwidth(Transport& transport, const Plan& plan) {
  const absl::Time start = absl::Now();
  if (absl::Status status = transport.Flood(plan.count); !status.ok()) return status;
  const double bytes = static_cast<double>(plan.bytes) * static_cast<double>(plan.count);
  return absl::StrFormat(R"("mb_per_s": %.3f)", bytes / 1e6 / absl::ToDoubleSeconds(absl::Now() - start));
}

// Each end keeps what the other may still reach until both are done.
absl::Status Finish(Socket& control) {
  if (absl::Status status = control.SendText("done"); !status.ok()) return status;
  return control.ReceiveText().status();
}

}  // namespace

absl::StatusOr<std::string> Measure(const Plan& plan, Socket& control) {
  if (absl::Status status = control.SendText(ToText(plan)); !status.ok()) return status;
  const absl::StatusOr<std::unique_ptr<Transport>> transport = Open(plan, control, /*client=*/true);
  if (!transport.ok()) return transport.status();
  if (absl::Status status = Ping(**transport, kWarmUp).status(); !status.ok()) return status;
  const absl::StatusOr<std::string> figures =
      plan.measure == "latency" ? Latency(**transport, plan.count) : Bandwidth(**transport, plan);
  if (!figures.ok()) return figures.status();
  if (absl::Status status = Finish(control); !status.ok()) return status;
  return absl::StrFormat(R"({"over": "%s", "path": "%s", "measure": "%s", "bytes": %d, "count": %d, %s})", plan.over,
                         (*transport)->path(), plan.measure, plan.bytes, plan.count, *figures);
}

absl::Status Serve(Socket& control) {
  const absl::StatusOr<std::string> text = control.ReceiveText();
  if (!text.ok()) return text.status();
  const absl::StatusOr<Plan> plan = PlanFromText(*text);
  if (!plan.ok()) return plan.status();
  const absl::StatusOr<std::unique_ptr<Transport>> transport = Open(*plan, control, /*client=*/false);
  if (!transport.ok()) return transport.status();
  absl::Status status = Pong(**transport, kWarmUp);
  if (status.ok()) {
    status = plan->measure == "latency" ? Pong(**transport, plan->count) : (*transport)->Absorb(plan->count);
  }
  return status.ok() ? Finish(control) : status;
}

}  // namespace skein::bench
