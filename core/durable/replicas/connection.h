// How a primary and a replica meet: one frame each way on a TCP connection, with an offer for a stream; then a group of
// two, on the stream, or on the connection itself.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_CONNECTION_H_
#define SKEIN_CORE_DURABLE_REPLICAS_CONNECTION_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/options.h"
#include "core/connect/negotiation.h"
#include "core/durable/replicas/request.h"
#include "core/replicate/group.h"

namespace skein::durable {

inline constexpr absl::string_view kReplicaLetters = "SKDR";
inline constexpr size_t kMaxRequestBytes = 128 + connect::kMaxOfferBytes;
inline constexpr size_t kMaxReplicaAnswerBytes = 2048 + connect::kMaxAnswerBytes;
// For a connection, and for a frame of the other end's.
inline constexpr absl::Duration kMeetingTimeout = absl::Seconds(5);
// For the answer of how far a replica's log goes: the replica reads all of it.
inline constexpr absl::Duration kReadingTimeout = absl::Minutes(5);

// The same at both ends; member 0 is the primary.
inline absl::StatusOr<std::shared_ptr<replicate::Group>> CreateGroupOfTwo(
    uint64_t id, uint32_t self, uint64_t largest, std::unique_ptr<replicate::Path> path,
    std::shared_ptr<replicate::GroupObserver> observer) {
  replicate::GroupOptions options{.id = id, .members = 2, .schedule = replicate::ScheduleKind::kSequential};
  options.self = self;
  options.max_bytes = largest;
  std::vector<replicate::MemberPath> paths;
  paths.push_back({1 - self, std::move(path)});
  return replicate::CreateGroup(options, std::move(paths), std::move(observer));
}

// The process's: as SKEIN_* variables have them: which fabrics may carry a log. INVALID_ARGUMENT names the first
// variable with a value that is not allowed. No other thread may set variables meanwhile.
absl::StatusOr<Options> FabricOptions();

// One question to the replica at `address`, without a group. UNAVAILABLE: nobody answers there. DEADLINE_EXCEEDED.
absl::StatusOr<ReplicaAnswer> AskReplica(absl::string_view address, const ReplicaRequest& request);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_CONNECTION_H_
