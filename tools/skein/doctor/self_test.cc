#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/descriptors_left.h"
#include "core/base/fallback.h"
#include "core/channel/shm/rehearsal.h"
#include "core/connect/host_fabrics.h"
#include "core/connect/rdma_ports.h"
#include "core/fabric/verbs/gid_list.h"
#include "tools/skein/doctor/checks.h"
#include "tools/skein/doctor/trial.h"

namespace skein::doctor {
namespace {

using fabric::verbs::GidEntry;

constexpr size_t kWrites[] = {64, size_t{1} << 20, 64};

// As a connection would get it, for a process on this host; each call makes another one.
connect::Candidate Open(absl::string_view kind, const Options& options) {
  for (connect::Candidate& candidate : connect::CreateHostFabrics(options.shm, options.rdma)->For({})) {
    if (candidate.kind == kind) return std::move(candidate);
  }
  return {std::string(kind), nullptr, {FallbackCode::kNoRdma, "the port cannot be opened"}};
}

void CheckShm(const SharedMemoryOptions& options, Report& report) {
  if (const absl::Status own = options.peer_users.Check(geteuid()); !own.ok()) {
    return report.Warn(absl::StrCat("self-test of shm: not tried: ", ToString(FallbackOf(own))));
  }
  absl::Status tried = CheckDescriptorsLeft(channel::kShmRehearsalDescriptors);
  if (tried.ok()) {
    tried = channel::TryShmChannel({.peer_users = options.peer_users, .rendezvous = options.rendezvous});
  }
  if (!tried.ok()) return report.Fail(absl::StrCat("self-test of shm: ", ToString(FallbackOf(tried))));
  report.Ok("self-test of shm: a message arrived and woke its reader");
}

void CheckRdma(absl::string_view name, const Options& options, Report& report) {
  const connect::Candidate from = Open("rdma", options);
  const connect::Candidate to = Open("rdma", options);
  const std::string subject = absl::StrCat("self-test of ", name, ": ");
  for (const connect::Candidate* end : {&from, &to}) {
    if (end->transport == nullptr) return report.Fail(absl::StrCat(subject, ToString(end->why_not)));
  }
  const absl::StatusOr<absl::Duration> took = TryFabric(from.transport->device(), to.transport->device(), kWrites);
  if (!took.ok()) return report.Fail(absl::StrCat(subject, took.status().message()));
  report.Ok(absl::StrCat(subject, "WRITEs of 64 bytes and 1 MiB arrived; 64 bytes took ",
                         absl::FormatDuration(absl::Trunc(*took, absl::Nanoseconds(100)))));
}

// The GID of a port that a connection is most likely to get; none where the options name another device, port or GID.
std::optional<GidEntry> Through(const GidEntry& port, const std::vector<GidEntry>& entries,
                                const RdmaOptions& options) {
  std::vector<GidEntry> fitting;
  for (const GidEntry& entry : entries) {
    if (entry.device != port.device || entry.port != port.port) continue;
    if (!connect::Means(options, entry)) continue;
    fitting.push_back(entry);
  }
  const absl::StatusOr<GidEntry> chosen = fabric::verbs::DefaultGid(fitting);
  return chosen.ok() ? std::optional<GidEntry>(*chosen) : std::nullopt;
}

void CheckPorts(const Options& options, Report& report) {
  const absl::StatusOr<std::vector<GidEntry>> entries = fabric::verbs::ListGids();
  if (!entries.ok()) return;  // said already, with what to do
  std::string last;
  for (const GidEntry& entry : *entries) {
    const std::string name = absl::StrCat("rdma:", entry.device, "/", static_cast<int>(entry.port));
    if (std::exchange(last, name) == name) continue;  // entries of a port stand together
    const std::optional<GidEntry> through = Through(entry, *entries, options.rdma);
    if (!through.has_value()) continue;  // down, or not to be used
    Options named = options;
    named.rdma.device = through->device;
    named.rdma.port = through->port;
    named.rdma.gid_index = through->index;
    CheckRdma(absl::StrCat(name, " by ", fabric::verbs::ToString(through->gid)), named, report);
  }
}

}  // namespace

void CheckFabrics(const Options& options, Report& report) {
  if (options.shm.enabled) {
    CheckShm(options.shm, report);
  } else {
    report.Warn("shared memory is switched off", "unset SKEIN_SHM");
  }
  if (options.rdma.enabled) CheckPorts(options, report);
}

}  // namespace skein::doctor
