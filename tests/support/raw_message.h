// Messages and items put together by hand, with any field wrong: what no RingWriter would write.
#ifndef SKEIN_TESTS_SUPPORT_RAW_MESSAGE_H_
#define SKEIN_TESTS_SUPPORT_RAW_MESSAGE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/wire/bytes.h"
#include "core/wire/control.h"
#include "core/wire/message.h"

namespace skein::wire {

// `header` says the size; the payload is what it is, padded with zeros.
inline std::string RawItem(const ItemHeader& header, absl::string_view payload = {}) {
  std::string bytes;
  Put(bytes, header);
  bytes.append(payload.data(), payload.size());
  bytes.resize(sizeof(header) + PaddedPayload(payload.size()), '\0');
  return bytes;
}

// A well-formed one.
inline std::string RawItem(ItemKind kind, uint32_t stream, uint32_t sequence, absl::string_view payload = {}) {
  ItemHeader header;
  header.stream = stream;
  header.size = static_cast<uint32_t>(payload.size());
  header.sequence = sequence;
  header.kind = kind;
  return RawItem(header, payload);
}

// Message `n` of a ring with this secret. The head word and the tail canary are right, the rest is `header`'s.
inline std::string RawMessage(uint64_t secret, uint64_t n, MessageHeader header, absl::string_view items = {}) {
  const Canaries canaries(secret);
  const size_t size = MessageBytes(items.size());
  header.length_and_canary = canaries.HeadWord(n, size);
  std::string bytes;
  Put(bytes, header);
  bytes.append(items.data(), items.size());
  bytes.resize(size - sizeof(uint64_t), '\0');
  Put(bytes, canaries.Tail(n));
  return bytes;
}

inline std::string RawMessage(uint64_t secret, uint64_t n, uint32_t items, absl::string_view bytes) {
  MessageHeader header;
  header.items = items;
  return RawMessage(secret, n, header, bytes);
}

// The line with the check that is right for its words.
inline ControlLine RawControl(ControlLine line, uint64_t secret) {
  uint64_t check = ~secret;
  for (size_t i = 0; i + 1 < line.size(); ++i) check = Mix(check + line[i]);
  line.back() = check;
  return line;
}

}  // namespace skein::wire

#endif  // SKEIN_TESTS_SUPPORT_RAW_MESSAGE_H_
