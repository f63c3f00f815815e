// What is known of one call, or of one message, when its last stage at this end is over.
#ifndef SKEIN_CORE_TRACE_RECORD_H_
#define SKEIN_CORE_TRACE_RECORD_H_

#include <cstdint>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "core/trace/interval.h"
#include "core/trace/path.h"
#include "core/trace/stage.h"

namespace skein::trace {

enum class RecordKind : uint8_t { kCall, kMessage };
enum class Side : uint8_t { kClient, kServer };  // whose record it is

inline absl::string_view RecordKindName(RecordKind kind) { return kind == RecordKind::kCall ? "call" : "message"; }
inline absl::string_view SideName(Side side) { return side == Side::kClient ? "client" : "server"; }

struct Record {
  RecordKind kind = RecordKind::kCall;
  Side side = Side::kClient;
  Path path = Path::kShm;
  uint16_t degree = 1;  // messages that were coalesced with it, itself included
  uint32_t method = 0;  // of the MethodTable
  uint32_t link = 0;
  uint32_t stream = 0;
  uint32_t bytes = 0;  // of the request or message
  uint64_t id = 0;     // the same at both ends, if they agree on one
  // Bound of the error of those times that were converted from the other side's clock; 0 on one host.
  int64_t clock_error_ns = 0;
  StageTimes times{};  // by this host's clock, the other side's too
};
static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) == 152);

// From where to where a record's time counts as a whole: a call at its caller from kSubmitted to kDelivered, at the
// server from kArrived to kReplyPosted; a message from kQueued to kDispatched.
inline Interval WholeOf(RecordKind kind, Side side) {
  if (kind == RecordKind::kMessage) return {Stage::kQueued, Stage::kDispatched};
  if (side == Side::kClient) return {Stage::kSubmitted, Stage::kDelivered};
  return {Stage::kArrived, Stage::kReplyPosted};
}

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_RECORD_H_
