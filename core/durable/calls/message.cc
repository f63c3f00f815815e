#include "core/durable/calls/message.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/wire/bytes.h"

namespace skein::durable {
namespace {

constexpr uint32_t kMagic = 0x31444b53;  // "SKD1": the version is in it
constexpr size_t kMostText = 400;
constexpr char kRequestFlags = 0;
constexpr char kVoidFlags = 1;

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("durable calls: ", what, " that no peer of this version sends"));
}

template <typename Kind>
std::string Begin(Kind kind) {
  return std::string(1, static_cast<char>(kind));
}

std::optional<Persistence> KnownLevel(uint8_t number) {
  const auto level = static_cast<Persistence>(number);
  return PersistenceOf(PersistenceName(level)).has_value() ? std::optional(level) : std::nullopt;
}

void PutStatus(std::string& out, const absl::Status& status) {
  wire::Put(out, static_cast<uint8_t>(status.code()));
  absl::StrAppend(&out, status.message().substr(0, kMostText));
}

// Never OK, for a peer's zero is none.
absl::Status StatusFrom(uint8_t code, absl::string_view text) {
  std::string printable(text.substr(0, kMostText));
  std::replace_if(
      printable.begin(), printable.end(), [](char c) { return !absl::ascii_isprint(static_cast<unsigned char>(c)); },
      '?');
  const bool known = code > 0 && code <= static_cast<uint8_t>(absl::StatusCode::kUnauthenticated);
  return absl::Status(known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown, printable);
}

absl::Status TakeHello(wire::FieldReader& reader, ClientMessage& message) {
  if (reader.Take<uint32_t>() != kMagic) {
    return absl::InvalidArgumentError("not a client of durable calls, or one of another version");
  }
  const auto level = reader.Take<uint8_t>();
  message.wanted = KnownLevel(level);
  if (level != 0 && !message.wanted.has_value()) return Malformed("a level");
  message.client = reader.Take<ClientId>();
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ClientMessage> DecodeClientMessage(absl::string_view bytes) {
  wire::FieldReader reader(bytes);
  ClientMessage message;
  message.kind = static_cast<ClientMessageKind>(reader.Take<uint8_t>());
  switch (message.kind) {
    case ClientMessageKind::kHello:
      if (absl::Status status = TakeHello(reader, message); !status.ok()) return status;
      break;
    case ClientMessageKind::kCall:
      message.sequence = reader.Take<uint64_t>();
      message.acknowledged = reader.Take<uint64_t>();
      message.request = reader.TakeRest();
      if (message.request.empty() || (message.request[0] != kRequestFlags && message.request != VoidRequest()))
        return Malformed("a request");
      break;
    case ClientMessageKind::kAsk:
      message.sequence = reader.Take<uint64_t>();
      break;
    default:
      return Malformed("a kind of message");
  }
  if (!reader.done()) return Malformed("a length");
  return message;
}

absl::StatusOr<ServerMessage> DecodeServerMessage(absl::string_view bytes) {
  wire::FieldReader reader(bytes);
  ServerMessage message;
  message.kind = static_cast<ServerMessageKind>(reader.Take<uint8_t>());
  uint8_t level = static_cast<uint8_t>(Persistence::kVisible);
  uint8_t flag = 0;
  switch (message.kind) {
    case ServerMessageKind::kStanding:
      level = reader.Take<uint8_t>();
      message.sequence = reader.Take<uint64_t>();
      message.largest = reader.Take<uint64_t>();
      message.remembers = absl::Milliseconds(reader.Take<uint32_t>());
      break;
    case ServerMessageKind::kPersisted:
      message.sequence = reader.Take<uint64_t>();
      level = reader.Take<uint8_t>();
      flag = reader.Take<uint8_t>();
      break;
    case ServerMessageKind::kReply:
    case ServerMessageKind::kRefused: {
      message.sequence = reader.Take<uint64_t>();
      flag = reader.Take<uint8_t>();
      const auto code = reader.Take<uint8_t>();
      const absl::string_view rest = reader.TakeRest();
      const bool reply = message.kind == ServerMessageKind::kReply && code == 0;
      reply ? void(message.bytes = rest) : void(message.status = StatusFrom(code, rest));
      break;
    }
    case ServerMessageKind::kResume:
      break;
    default:
      return Malformed("a kind of message");
  }
  if (!reader.done()) return Malformed("a length");
  const std::optional<Persistence> known = KnownLevel(level);
  if (!known.has_value() || flag > 1) return Malformed("a field");
  message.level = *known;
  (message.kind == ServerMessageKind::kRefused ? message.final : message.slow_down) = flag != 0;
  return message;
}

std::string HelloMessage(const ClientId& client, std::optional<Persistence> wanted) {
  std::string out = Begin(ClientMessageKind::kHello);
  wire::Put(out, kMagic);
  wire::Put(out, wanted.has_value() ? static_cast<uint8_t>(*wanted) : uint8_t{0});
  wire::Put(out, client);
  return out;
}

std::string CallMessage(uint64_t sequence, uint64_t acknowledged, absl::string_view request) {
  std::string out = Begin(ClientMessageKind::kCall);
  out.reserve(kMessageOverhead + request.size());
  wire::Put(out, sequence);
  wire::Put(out, acknowledged);
  absl::StrAppend(&out, request);
  return out;
}

std::string AskMessage(uint64_t sequence) {
  std::string out = Begin(ClientMessageKind::kAsk);
  wire::Put(out, sequence);
  return out;
}

std::string StandingMessage(Persistence level, uint64_t persisted, uint64_t largest, absl::Duration remembers) {
  std::string out = Begin(ServerMessageKind::kStanding);
  wire::Put(out, level);
  wire::Put(out, persisted);
  wire::Put(out, largest);
  wire::Put(out, static_cast<uint32_t>(std::clamp<int64_t>(absl::ToInt64Milliseconds(remembers), 0, UINT32_MAX)));
  return out;
}

std::string PersistedMessage(uint64_t up_to, Persistence level, bool slow_down) {
  std::string out = Begin(ServerMessageKind::kPersisted);
  wire::Put(out, up_to);
  wire::Put(out, level);
  wire::Put(out, static_cast<uint8_t>(slow_down));
  return out;
}

std::string ReplyMessage(uint64_t sequence, bool slow_down, absl::string_view bytes) {
  std::string out = Begin(ServerMessageKind::kReply);
  out.reserve(kMessageOverhead + bytes.size());
  wire::Put(out, sequence);
  wire::Put(out, static_cast<uint8_t>(slow_down));
  wire::Put(out, uint8_t{0});
  absl::StrAppend(&out, bytes);
  return out;
}

std::string ErrorMessage(uint64_t sequence, bool slow_down, const absl::Status& error) {
  std::string out = Begin(ServerMessageKind::kReply);
  wire::Put(out, sequence);
  wire::Put(out, static_cast<uint8_t>(slow_down));
  PutStatus(out, error);
  return out;
}

std::string RefusedMessage(uint64_t sequence, bool final, const absl::Status& error) {
  std::string out = Begin(ServerMessageKind::kRefused);
  wire::Put(out, sequence);
  wire::Put(out, static_cast<uint8_t>(final));
  PutStatus(out, error);
  return out;
}

std::string ResumeMessage() { return Begin(ServerMessageKind::kResume); }

std::string MakeRequest(absl::string_view bytes) { return absl::StrCat(absl::string_view(&kRequestFlags, 1), bytes); }
std::string VoidRequest() { return std::string(1, kVoidFlags); }

}  // namespace skein::durable
