// The ways of making a request durable at a peer (SC'21, 4.1): who sends how, and who flushes.
#ifndef SKEIN_CORE_DURABLE_FLUSH_FLUSH_MODE_H_
#define SKEIN_CORE_DURABLE_FLUSH_FLUSH_MODE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace skein::durable {

// The numbers go over the wire and are never reused.
enum class FlushMode : uint8_t {
  kWFlush = 1,   // WRITE into the receiver's log, READ of the last byte behind it
  kSFlush = 2,   // SEND into a receive that lies in the receiver's log, READ of the last byte behind it
  kWRFlush = 3,  // WRITE; the receiver's CPU persists and acknowledges
  kSRFlush = 4,  // SEND; the receiver's CPU persists and acknowledges
};

constexpr bool SentByWrite(FlushMode mode) { return mode == FlushMode::kWFlush || mode == FlushMode::kWRFlush; }
constexpr bool FlushedBySender(FlushMode mode) { return mode == FlushMode::kWFlush || mode == FlushMode::kSFlush; }

// By what a sender that flushes does it. The numbers go over the wire and are never reused.
enum class FlushVerb : uint8_t {
  kRead = 0,             // a READ of the last byte, which pushes what was written before it out of the device
  kFlush = 1,            // FLUSH to visibility: as far as a READ is known to push anything
  kFlushPersistent = 2,  // FLUSH to persistence
};
// "READ", "FLUSH", "FLUSH to persistence"; "unknown" for any other number.
absl::string_view FlushVerbName(FlushVerb verb);

// "wflush", "sflush", "w-rflush", "s-rflush"; "unknown" for any other number.
absl::string_view FlushModeName(FlushMode mode);
std::optional<FlushMode> FlushModeOf(absl::string_view name);
bool IsFlushMode(uint8_t number);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_FLUSH_FLUSH_MODE_H_
