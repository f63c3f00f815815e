// Any bytes are a message of durable calls, whose fields are what they may be, or INVALID_ARGUMENT.
#include "core/durable/calls/message.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  using namespace durable;  // NOLINT(google-build-using-namespace): a file of its own
  return {HelloMessage({1, 2}, Persistence::kPersistent),
          CallMessage(3, 2, MakeRequest("a request")),
          CallMessage(3, 2, VoidRequest()),
          AskMessage(3),
          StandingMessage(Persistence::kEmulated, 3, 100, absl::Hours(1)),
          PersistedMessage(3, Persistence::kFlushed, true),
          ReplyMessage(3, false, "a reply"),
          ErrorMessage(3, true, absl::NotFoundError("none")),
          RefusedMessage(3, true, absl::ResourceExhaustedError("full")),
          ResumeMessage()};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  const absl::string_view bytes = skein::fuzz::Text(data, size);
  const absl::StatusOr<skein::durable::ClientMessage> client = skein::durable::DecodeClientMessage(bytes);
  if (!client.ok()) Require(absl::IsInvalidArgument(client.status()), "a protocol error is an invalid argument");
  if (client.ok() && client->kind == skein::durable::ClientMessageKind::kCall)
    Require(!client->request.empty(), "a request has its flags");
  const absl::StatusOr<skein::durable::ServerMessage> server = skein::durable::DecodeServerMessage(bytes);
  if (!server.ok()) {
    Require(absl::IsInvalidArgument(server.status()), "a protocol error is an invalid argument");
    return 0;
  }
  Require(skein::durable::PersistenceName(server->level) != "unknown", "a level is one");
  if (server->kind == skein::durable::ServerMessageKind::kRefused)
    Require(!server->status.ok(), "a refusal is an error");
  for (const char c : server->status.message()) Require(c >= ' ' && c <= '~', "its text is printable");
  return 0;
}
