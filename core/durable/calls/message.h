// What the two ends of durable calls say to each other, whatever carries it: whole messages, in order, each way.
//
//     from the client                          from the server
//     Hello {magic, level, client}             Standing {level, persisted, largest request,
//                                                        ms that clients are remembered}
//     Call  {sequence, acknowledged, flags,    Persisted {up to, level, slow down}
//            bytes}                            Reply {sequence, slow down, status code, bytes or text}
//     Ask   {sequence}                         Refused {sequence, final, status code, text}
//                                              Resume {}
//
// The first of each end is Hello, Standing. Calls come in the order of their sequences. After a Refused that is not
// final the server passes over all Calls until it has said Resume, and the client sends again from that sequence on;
// not before.
#ifndef SKEIN_CORE_DURABLE_CALLS_MESSAGE_H_
#define SKEIN_CORE_DURABLE_CALLS_MESSAGE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/durable/log/identity.h"
#include "core/durable/storage/persistence.h"

namespace skein::durable {

enum class ClientMessageKind : uint8_t { kHello = 1, kCall, kAsk };
enum class ServerMessageKind : uint8_t { kStanding = 1, kPersisted, kReply, kRefused, kResume };

struct ClientMessage {
  ClientMessageKind kind = ClientMessageKind::kHello;
  ClientId client{};
  std::optional<Persistence> wanted;  // none: whatever the server's log gives
  uint64_t sequence = 0;
  uint64_t acknowledged = 0;  // of these and all before, the client has the replies
  // A Call's flags, then its bytes: what the log holds (Request). Points into what was decoded.
  absl::string_view request;
};

struct ServerMessage {
  ServerMessageKind kind = ServerMessageKind::kStanding;
  Persistence level = Persistence::kVisible;
  bool slow_down = false;
  bool final = false;
  uint64_t sequence = 0;  // Persisted, Standing: all up to here are
  uint64_t largest = 0;
  absl::Duration remembers;  // Standing: clients that are silent, at least
  absl::Status status;       // of a Reply, a Refused; its text is printable
  absl::string_view bytes;   // a Reply's, when its status is OK. Points into what was decoded
};

// INVALID_ARGUMENT for what no honest peer sends.
absl::StatusOr<ClientMessage> DecodeClientMessage(absl::string_view bytes);
absl::StatusOr<ServerMessage> DecodeServerMessage(absl::string_view bytes);

// Whether that is what it would be, if it is a message at all.
inline bool IsAsk(absl::string_view message) {
  return !message.empty() && message[0] == static_cast<char>(ClientMessageKind::kAsk);
}

std::string HelloMessage(const ClientId& client, std::optional<Persistence> wanted);
std::string CallMessage(uint64_t sequence, uint64_t acknowledged, absl::string_view request);
std::string AskMessage(uint64_t sequence);

std::string StandingMessage(Persistence level, uint64_t persisted, uint64_t largest, absl::Duration remembers);
std::string PersistedMessage(uint64_t up_to, Persistence level, bool slow_down);
std::string ReplyMessage(uint64_t sequence, bool slow_down, absl::string_view bytes);
std::string ErrorMessage(uint64_t sequence, bool slow_down, const absl::Status& error);
std::string RefusedMessage(uint64_t sequence, bool final, const absl::Status& error);
std::string ResumeMessage();

// Longer than the bytes of a request or a reply, at most, by so much.
inline constexpr uint64_t kMessageOverhead = 64;

// A request as it travels and as it lies in the log. A void one stands for a call whose caller was told that it has
// failed; nobody executes it.
std::string MakeRequest(absl::string_view bytes);
std::string VoidRequest();
inline bool IsVoid(absl::string_view request) { return request.empty() || request[0] != 0; }
inline absl::string_view RequestBytes(absl::string_view request) { return request.substr(1); }

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_CALLS_MESSAGE_H_
