#include "core/fabric/shm/mailbox.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace skein::fabric::shm {
namespace {

constexpr size_t kHeaderBytes = 16;
static_assert(sizeof(Record) == kHeaderBytes);
// Positions and padded sizes are multiples of 16, and so is the mailbox: a header never wraps.
static_assert(kMailboxBytes % kHeaderBytes == 0);

uint64_t Footprint(uint32_t size) { return kHeaderBytes + ((uint64_t{size} + 15) & ~uint64_t{15}); }

void CopyIn(std::byte* mailbox, uint64_t position, const std::byte* from, size_t size) {
  const size_t at = position % kMailboxBytes;
  const size_t first = std::min(size, kMailboxBytes - at);
  std::memcpy(mailbox + at, from, first);
  std::memcpy(mailbox, from + first, size - first);
}

void CopyOut(std::byte* to, const std::byte* mailbox, uint64_t position, size_t size) {
  const size_t at = position % kMailboxBytes;
  const size_t first = std::min(size, kMailboxBytes - at);
  std::memcpy(to, mailbox + at, first);
  std::memcpy(to + first, mailbox, size - first);
}

}  // namespace

bool MailboxProducer::Push(const Record& record, const std::byte* payload) {
  const uint64_t footprint = Footprint(record.size);
  if (tail_ + footprint - head_ > kMailboxBytes) {
    const absl::StatusOr<uint64_t> head = Consumed();
    if (!head.ok() || tail_ + footprint - *head > kMailboxBytes) return false;
  }
  CopyIn(mine_.mailbox, tail_, reinterpret_cast<const std::byte*>(&record), sizeof(record));
  if (record.size > 0) CopyIn(mine_.mailbox, tail_ + kHeaderBytes, payload, record.size);
  tail_ += footprint;
  mine_.tail.store(tail_, std::memory_order_release);
  return true;
}

absl::StatusOr<uint64_t> MailboxProducer::Consumed() {
  const uint64_t head = theirs_.head.load(std::memory_order_acquire);
  if (head < head_ || head > tail_) {
    return absl::DataLossError(absl::StrCat("the peer's mailbox head went from ", head_, " to ", head));
  }
  head_ = head;
  return head;
}

absl::StatusOr<Record> MailboxConsumer::Peek() {
  const uint64_t tail = theirs_.tail.load(std::memory_order_acquire);
  if (tail == head_) return absl::NotFoundError("");
  const uint64_t available = tail - head_;
  if (tail < head_ || available > kMailboxBytes || available % kHeaderBytes != 0) {
    return absl::DataLossError(absl::StrCat("the peer's mailbox tail is ", tail, ", read up to ", head_));
  }
  Record record;
  CopyOut(reinterpret_cast<std::byte*>(&record), theirs_.mailbox, head_, sizeof(record));
  const bool known = record.kind >= RecordKind::kImmediate && record.kind <= RecordKind::kLastFragment;
  // Fragments before the last take no receive, so that nothing but their size bounds how many are taken at once.
  const bool whole = record.kind != RecordKind::kFragment || record.size == kMaxFragmentBytes;
  if (!known || !whole || record.solicited > 1 || record.size > kMaxFragmentBytes ||
      Footprint(record.size) > available) {
    return absl::DataLossError("the peer's mailbox holds a malformed record");
  }
  return record;
}

void MailboxConsumer::Copy(const Record& record, absl::Span<std::byte> out) const {
  const size_t size = std::min<size_t>(record.size, out.size());
  if (size > 0) CopyOut(out.data(), theirs_.mailbox, head_ + kHeaderBytes, size);
}

void MailboxConsumer::Pop(const Record& record) {
  head_ += Footprint(record.size);
  mine_.head.store(head_, std::memory_order_release);
}

}  // namespace skein::fabric::shm
