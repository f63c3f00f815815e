// What is asked of a replica, and its answer: before a group of the two begins, or without one.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_REQUEST_H_
#define SKEIN_CORE_DURABLE_REPLICAS_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/durable/log/identity.h"
#include "core/durable/replicas/standing.h"
#include "core/durable/replicas/term.h"
#include "core/durable/storage/persistence.h"

namespace skein::durable {

enum class ReplicaVerb : uint8_t {
  kFollow = 1,   // a primary: to get its log
  kShow = 2,     // how far the replica's log goes; refused where there is none
  kPromise = 3,  // the same; and no primary of an earlier term is followed from now on
};

struct ReplicaRequest {
  ReplicaVerb verb = ReplicaVerb::kShow;
  LogId identity{};    // of the log: who does not know that of a replica's log is refused
  uint64_t bytes = 0;  // of the log
  Term term = {};      // the primary's, or the one to promise
  // Of kFollow:
  uint64_t run = 0;  // of the primary's opening of its log, at random: its batches are counted anew in each
  uint32_t logs = 0;
  uint32_t acknowledge = 0;
  uint64_t group = 0;      // the group's number
  std::string offer = {};  // of a stream (core/stream/connector.h); empty: the group comes by this connection
  bool operator==(const ReplicaRequest&) const = default;
};

// How far a log goes. Of two logs of the same calls, what is safe in the one is in the other if that is not behind it.
struct Progress {
  Term content = {};
  uint32_t epoch = 0;  // of the primary's opening
  uint64_t tail = 0;   // position
};
// Whether a is behind b. (Of two promotions to the same term, neither knows what the other has.)
inline bool IsBehind(const Progress& a, const Progress& b) {
  if (a.content.number != b.content.number) return a.content.number < b.content.number;
  return a.epoch != b.epoch ? a.epoch < b.epoch : a.tail < b.tail;
}

struct ReplicaAnswer {
  absl::Status status = {};                    // why not
  Standing standing = {};                      // if the replica has that log
  Persistence level = Persistence::kEmulated;  // of what the replica acknowledges
  std::optional<uint64_t> has = {};            // to kFollow: batches of this run up to that one
  uint32_t epoch = 0;                          // to kShow, kPromise: how far its log goes
  uint64_t tail = 0;
  std::string answer = {};  // to the offer
};

std::string EncodeRequest(const ReplicaRequest& request);
std::string EncodeAnswer(const ReplicaAnswer& answer);
// Of bytes that anybody may have sent. DATA_LOSS: no request, no answer, or of another version.
absl::StatusOr<ReplicaRequest> DecodeRequest(absl::string_view bytes);
absl::StatusOr<ReplicaAnswer> DecodeAnswer(absl::string_view bytes);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_REQUEST_H_
