// What the items of a connection for calls carry: a header, and the bytes of a request or an answer.
//
//     0        4     5        8        12       16
//     +--------+-----+--------+--------+--------+
//     |  call  |kind |   0    |subject |   0    |   subject: a request's handler, an error's absl::StatusCode
//     +--------+-----+--------+--------+--------+
//     | bytes: of a request, a reply; text of an error |
//
// A call's number is the caller's: below the number of calls that the answering end has agreed to, and free again when
// the answer has come.
#ifndef SKEIN_CORE_RPC_MESSAGE_H_
#define SKEIN_CORE_RPC_MESSAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace skein::rpc {

enum class MessageKind : uint8_t { kRequest = 1, kReply, kError };

struct MessageHeader {
  uint32_t call = 0;
  MessageKind kind = MessageKind::kRequest;
  std::array<uint8_t, 3> zero = {};
  uint32_t subject = 0;
  uint32_t also_zero = 0;
};
static_assert(sizeof(MessageHeader) == 16);

struct Message {
  MessageHeader header;              // a private copy, checked
  absl::Span<const std::byte> body;  // where it was: in the ring, copy before looking
};

inline absl::Span<const std::byte> BytesOf(absl::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline absl::Span<const std::byte> BytesOf(const MessageHeader& header) {
  return {reinterpret_cast<const std::byte*>(&header), sizeof(header)};
}

// DATA_LOSS for what no honest peer sends.
absl::StatusOr<Message> Decode(absl::Span<const std::byte> item);

MessageHeader RequestHeader(uint32_t call, uint32_t handler);
MessageHeader ReplyHeader(uint32_t call);
// Its text is ErrorText.
MessageHeader ErrorHeader(uint32_t call, const absl::Status& error);
// As much of the message as travels.
absl::string_view ErrorText(const absl::Status& error);
// From a peer: never OK, and printable.
absl::Status ErrorFrom(uint32_t code, absl::Span<const std::byte> text);

}  // namespace skein::rpc

#endif  // SKEIN_CORE_RPC_MESSAGE_H_
