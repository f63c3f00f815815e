// What the two ends of a durable connection tell each other, over any channel, before the fabric carries anything.
#ifndef SKEIN_CORE_DURABLE_FLUSH_HANDSHAKE_H_
#define SKEIN_CORE_DURABLE_FLUSH_HANDSHAKE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/durable/flush/flush_entry.h"
#include "core/durable/flush/flush_mode.h"
#include "core/durable/flush/ring_layout.h"
#include "core/durable/storage/persistence.h"
#include "core/fabric/fabric.h"

namespace skein::durable {

struct FlushOffer {
  FlushMode mode = FlushMode::kWFlush;
  std::optional<Persistence> wanted;
  uint32_t slots = 0;              // as many as the receiver's log has
  uint32_t reply_bytes = 0;        // space for each reply
  bool flush = false;              // the sender's device posts FLUSHes to visibility,
  bool flush_persistent = false;   // and to persistence
  fabric::RemoteAddress feedback;  // the sender's memory: a word, then space for a reply to each slot
  std::string queue_pair;          // its offer
};

struct FlushAnswer {
  Persistence level = Persistence::kVisible;
  FlushVerb verb = FlushVerb::kRead;  // one that the sender has offered; of use where it flushes
  RingShape shape;
  RingKey key;
  uint64_t head = 1;  // the first sequence that is not finished
  uint64_t next = 1;  // the first that has not come
  fabric::RemoteAddress slots;
  std::string queue_pair;  // its answer
};

inline constexpr uint32_t kFeedbackBytes = 64;  // before the first reply
inline constexpr uint32_t kMostReplyBytes = uint32_t{1} << 20;
// Where replies lie, and how far apart.
constexpr uint64_t ReplyStride(uint32_t reply_bytes) { return (uint64_t{reply_bytes} + 63) / 64 * 64; }

// The feedback word: entries up to the sequence are persisted, and whether to send more slowly.
inline constexpr uint64_t kSlowDown = uint64_t{1} << 63;

std::string EncodeOffer(const FlushOffer& offer);
std::string EncodeAnswer(const FlushAnswer& answer);
// INVALID_ARGUMENT for what no encoder makes. What the fields say is checked for sense, not for truth.
absl::StatusOr<FlushOffer> DecodeOffer(absl::string_view bytes);
absl::StatusOr<FlushAnswer> DecodeAnswer(absl::string_view bytes);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_FLUSH_HANDSHAKE_H_
