// Where the log begins, written twice by turns: a slot that is torn leaves the other.
#ifndef SKEIN_CORE_DURABLE_LOG_HEAD_SLOT_H_
#define SKEIN_CORE_DURABLE_LOG_HEAD_SLOT_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "core/durable/log/identity.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

struct HeadSlot {
  uint64_t number = 0;  // counts what was written; lies in the slot of its parity
  uint64_t head = 0;    // position
  uint32_t epoch = 0;   // counts the openings of the log
  uint32_t reserved = 0;
  uint32_t checksum = 0;
  uint32_t reserved2 = 0;
};
static_assert(sizeof(HeadSlot) == 32);

// With its checksum, which is the log's own.
HeadSlot MakeHeadSlot(const LogId& identity, HeadSlot slot);

// The newest of those that are whole. DATA_LOSS: neither is.
absl::StatusOr<HeadSlot> ReadHeadSlots(const Storage& storage, const LogId& identity);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LOG_HEAD_SLOT_H_
