// The two ends of one direction's mailbox; see control.h.
#ifndef SKEIN_CORE_FABRIC_SHM_MAILBOX_H_
#define SKEIN_CORE_FABRIC_SHM_MAILBOX_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/fabric/shm/control.h"

namespace skein::fabric::shm {

enum class RecordKind : uint16_t { kImmediate = 1, kFragment = 2, kLastFragment = 3 };

struct Record {
  RecordKind kind = RecordKind::kImmediate;
  uint16_t solicited = 0;  // 1: so the sender says
  uint32_t size = 0;
  uint32_t immediate = 0;
  uint32_t total = 0;
};

// Writes records into its own side. One thread at a time.
class MailboxProducer {
 public:
  MailboxProducer(Side& mine, const Side& theirs) : mine_(mine), theirs_(theirs) {}

  // False: no room now.
  bool Push(const Record& record, const std::byte* payload);
  // Bytes pushed so far; a record is consumed when the peer's head has reached the position after it.
  uint64_t position() const { return tail_; }
  // The peer's head. DATA_LOSS when it is one that no honest peer could have.
  absl::StatusOr<uint64_t> Consumed();

 private:
  Side& mine_;
  const Side& theirs_;
  uint64_t tail_ = 0;
  uint64_t head_ = 0;  // the peer's, as last seen
};

// Reads records out of the peer's side. One thread at a time.
class MailboxConsumer {
 public:
  MailboxConsumer(Side& mine, const Side& theirs) : mine_(mine), theirs_(theirs) {}

  // The next record, left in place. NOT_FOUND: none. DATA_LOSS: the peer broke the format.
  absl::StatusOr<Record> Peek();
  // Copies the peeked record's payload, at most out.size() bytes.
  void Copy(const Record& record, absl::Span<std::byte> out) const;
  void Pop(const Record& record);

 private:
  Side& mine_;
  const Side& theirs_;
  uint64_t head_ = 0;
};

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_MAILBOX_H_
