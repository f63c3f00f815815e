#include "core/rpc/message.h"

#include <cstring>
#include <string>

#include "core/base/printable.h"

namespace skein::rpc {
namespace {

constexpr size_t kMaxErrorText = 1024;
constexpr auto kLastCode = static_cast<uint32_t>(absl::StatusCode::kUnauthenticated);

}  // namespace

absl::StatusOr<Message> Decode(absl::Span<const std::byte> item) {
  Message message;
  if (item.size() < sizeof(message.header)) return absl::DataLossError("a call's message without a header");
  std::memcpy(&message.header, item.data(), sizeof(message.header));
  message.body = item.subspan(sizeof(message.header));
  const MessageHeader& header = message.header;
  const bool zeros = header.zero == decltype(header.zero){} && header.also_zero == 0;
  switch (header.kind) {
    case MessageKind::kRequest:
      if (zeros) return message;
      break;
    case MessageKind::kReply:
      if (zeros && header.subject == 0) return message;
      break;
    case MessageKind::kError:
      if (zeros && header.subject > 0 && header.subject <= kLastCode && message.body.size() <= kMaxErrorText) {
        return message;
      }
      break;
  }
  return absl::DataLossError("a call's message with a malformed header");
}

MessageHeader RequestHeader(uint32_t call, uint32_t handler) {
  MessageHeader header;
  header.call = call;
  header.subject = handler;
  return header;
}

MessageHeader ReplyHeader(uint32_t call) {
  MessageHeader header;
  header.call = call;
  header.kind = MessageKind::kReply;
  return header;
}

MessageHeader ErrorHeader(uint32_t call, const absl::Status& error) {
  MessageHeader header;
  header.call = call;
  header.kind = MessageKind::kError;
  header.subject = static_cast<uint32_t>(error.ok() ? absl::StatusCode::kInternal : error.code());
  return header;
}

absl::string_view ErrorText(const absl::Status& error) { return error.message().substr(0, kMaxErrorText); }

absl::Status ErrorFrom(uint32_t code, absl::Span<const std::byte> text) {
  return absl::Status(static_cast<absl::StatusCode>(code),
                      Printable(std::string(reinterpret_cast<const char*>(text.data()), text.size())));
}

}  // namespace skein::rpc
