#include "core/durable/flush/handshake.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/durable/log/checksum.h"

namespace skein::durable {
namespace {

constexpr uint32_t kOfferMagic = 0x464f4453;   // "SDOF"
constexpr uint32_t kAnswerMagic = 0x41464453;  // "SDFA"
constexpr uint16_t kVersion = 1;

// Bits that older senders leave 0; other ones mean nothing yet.
constexpr uint32_t kFlushes = 1u << 0;
constexpr uint32_t kFlushesPersistent = 1u << 1;

struct OfferBytes {
  uint32_t magic = kOfferMagic;
  uint16_t version = kVersion;
  uint8_t mode = 0;
  uint8_t wanted = 0;  // 0: whatever there is
  uint32_t reply_bytes = 0;
  uint32_t slots = 0;
  uint32_t rkey = 0;
  uint32_t flushes = 0;  // kFlushes, kFlushesPersistent
  uint64_t address = 0;
};
static_assert(sizeof(OfferBytes) == 32);

struct AnswerBytes {
  uint32_t magic = kAnswerMagic;
  uint16_t version = kVersion;
  uint8_t level = 0;
  uint8_t verb = 0;
  uint32_t slot_bytes = 0;
  uint32_t slots = 0;
  LogId identity{};
  uint32_t epoch = 0;
  uint32_t rkey = 0;
  uint64_t address = 0;
  uint64_t head = 0;
  uint64_t next = 0;
};
static_assert(sizeof(AnswerBytes) == 64);

template <typename T>
std::optional<T> Front(absl::string_view bytes) {
  T front;
  if (bytes.size() < sizeof(front)) return std::nullopt;
  std::memcpy(&front, bytes.data(), sizeof(front));
  return front;
}

template <typename T>
absl::Status CheckFront(const std::optional<T>& front, absl::string_view what) {
  if (!front || front->magic != T{}.magic) {
    return absl::InvalidArgumentError(absl::StrCat("no ", what, " of a durable connection"));
  }
  if (front->version != kVersion) {
    return absl::InvalidArgumentError(absl::StrCat("the ", what, " of a durable connection has version ",
                                                   front->version, ", and this knows ", kVersion));
  }
  return absl::OkStatus();
}

bool IsLevel(uint8_t number) { return PersistenceName(static_cast<Persistence>(number)) != "unknown"; }

}  // namespace

std::string EncodeOffer(const FlushOffer& offer) {
  OfferBytes bytes;
  bytes.mode = static_cast<uint8_t>(offer.mode);
  if (offer.wanted) bytes.wanted = static_cast<uint8_t>(*offer.wanted);
  bytes.slots = offer.slots;
  bytes.reply_bytes = offer.reply_bytes;
  bytes.rkey = offer.feedback.rkey;
  bytes.flushes = (offer.flush ? kFlushes : 0) | (offer.flush_persistent ? kFlushesPersistent : 0);
  bytes.address = offer.feedback.address;
  return absl::StrCat(BytesOf(bytes), offer.queue_pair);
}

std::string EncodeAnswer(const FlushAnswer& answer) {
  AnswerBytes bytes;
  bytes.level = static_cast<uint8_t>(answer.level);
  bytes.verb = static_cast<uint8_t>(answer.verb);
  bytes.slot_bytes = answer.shape.slot_bytes;
  bytes.slots = answer.shape.slots;
  bytes.identity = answer.key.identity;
  bytes.epoch = answer.key.epoch;
  bytes.rkey = answer.slots.rkey;
  bytes.address = answer.slots.address;
  bytes.head = answer.head;
  bytes.next = answer.next;
  return absl::StrCat(BytesOf(bytes), answer.queue_pair);
}

absl::StatusOr<FlushOffer> DecodeOffer(absl::string_view bytes) {
  const std::optional<OfferBytes> front = Front<OfferBytes>(bytes);
  if (absl::Status good = CheckFront(front, "offer"); !good.ok()) return good;
  if (!IsFlushMode(front->mode) || (front->wanted != 0 && !IsLevel(front->wanted)) ||
      front->reply_bytes > kMostReplyBytes) {
    return absl::InvalidArgumentError(
        "a durable connection's offer of an unknown mode or level, or of too large replies");
  }
  FlushOffer offer;
  offer.mode = static_cast<FlushMode>(front->mode);
  if (front->wanted != 0) offer.wanted = static_cast<Persistence>(front->wanted);
  offer.slots = front->slots;
  offer.reply_bytes = front->reply_bytes;
  offer.flush = (front->flushes & kFlushes) != 0;
  offer.flush_persistent = (front->flushes & kFlushesPersistent) != 0;
  offer.feedback = {.address = front->address, .rkey = front->rkey};
  offer.queue_pair = std::string(bytes.substr(sizeof(OfferBytes)));
  return offer;
}

absl::StatusOr<FlushAnswer> DecodeAnswer(absl::string_view bytes) {
  const std::optional<AnswerBytes> front = Front<AnswerBytes>(bytes);
  if (absl::Status good = CheckFront(front, "answer"); !good.ok()) return good;
  FlushAnswer answer;
  answer.level = static_cast<Persistence>(front->level);
  answer.verb = static_cast<FlushVerb>(front->verb);
  answer.shape = {.slot_bytes = front->slot_bytes, .slots = front->slots};
  if (absl::Status good = CheckShape(answer.shape); !good.ok()) return good;
  const bool row = front->head >= 1 && front->next >= front->head && front->next - front->head <= front->slots &&
                   front->next < kSlowDown;
  const bool known = IsLevel(front->level) && FlushVerbName(answer.verb) != "unknown";
  if (!known || !row || front->epoch == 0) {
    return absl::InvalidArgumentError(
        "a durable connection's answer of an unknown level or verb, or with no row of sequences");
  }
  answer.key = {.identity = front->identity, .epoch = front->epoch};
  answer.head = front->head;
  answer.next = front->next;
  answer.slots = {.address = front->address, .rkey = front->rkey};
  answer.queue_pair = std::string(bytes.substr(sizeof(AnswerBytes)));
  return answer;
}

}  // namespace skein::durable
