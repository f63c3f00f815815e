// A server of durable calls that says whatever it likes, over one connection after the other: each call hears at most
// once that it is safe, not before it was sent, and gets one answer, in the end at least an error; a protocol error
// ends the connection alone.
//
//   input = steps
#include <memory>
#include <string>
#include <vector>

#include "core/durable/calls/outbox.h"
#include "core/wire/bytes.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/script.h"

namespace skein::fuzz {
namespace {

using namespace durable;  // NOLINT(google-build-using-namespace): a file of its own

enum class Step : uint8_t {
  kMessage,    // piece: as it is
  kStanding,   // u8 level | u64 persisted | u64 largest
  kPersisted,  // u64 up to | u8 level | u8 slow down
  kReply,      // u64 sequence | piece
  kError,      // u64 sequence
  kRefused,    // u64 sequence | u8 final | u8 code
  kResume,     //
  kStart,      // piece
  kConnect,    // anew
  kFailAll,    //
};
constexpr size_t kSteps = 10;
constexpr int kMostSteps = 300;

Persistence Level(Script& script) { return static_cast<Persistence>(1 + script.Choice(5)); }

// What one caller hears.
struct Heard {
  bool sent = false;
  int persisted = 0;
  int replied = 0;
};

class Client {
 public:
  Client() { Connect(); }
  ~Client() {
    outbox_.Disconnected();
    outbox_.FailAll(absl::CancelledError("over"));
    for (const auto& heard : calls_) {
      Require(heard->replied == 1 && heard->persisted <= 1, "one answer for each call, whatever the server says");
    }
    Require(outbox_.standing().unanswered == 0, "none is left");
  }

  void Do(Step step, Script& script) {
    switch (step) {
      case Step::kMessage:
        return Hear(script.Piece());
      case Step::kStanding: {
        const Persistence level = Level(script);
        const auto persisted = script.Take<uint64_t>();
        return Hear(StandingMessage(level, persisted, script.Take<uint64_t>(), absl::Hours(1)));
      }
      case Step::kPersisted: {
        const auto up_to = script.Take<uint64_t>();
        const Persistence level = Level(script);
        return Hear(PersistedMessage(up_to, level, script.Choice(2) == 1));
      }
      case Step::kReply: {
        const auto sequence = script.Take<uint64_t>();
        return Hear(ReplyMessage(sequence, false, script.Piece()));
      }
      case Step::kError:
        return Hear(ErrorMessage(script.Take<uint64_t>(), true, absl::NotFoundError("none")));
      case Step::kRefused: {
        const auto sequence = script.Take<uint64_t>();
        const bool final = script.Choice(2) == 1;
        return Hear(
            RefusedMessage(sequence, final, absl::Status(static_cast<absl::StatusCode>(1 + script.Choice(16)), "no")));
      }
      case Step::kResume:
        return Hear(ResumeMessage());
      case Step::kStart:
        return Start(script.Piece());
      case Step::kConnect:
        outbox_.Disconnected();
        return Connect();
      case Step::kFailAll:
        return outbox_.FailAll(absl::CancelledError("enough"));
    }
  }

 private:
  static OutboxOptions Options() { return {.wanted = {}, .max_calls = 20, .max_bytes = 1000, .max_when_slow = 2}; }
  void Connect() {
    outbox_.Connected([this](const std::string& message) {
      const absl::StatusOr<ClientMessage> said = DecodeClientMessage(message);
      Require(said.ok(), "what a client says is known");
      if (said->kind == ClientMessageKind::kCall && !IsVoid(said->request)) NoteSent(RequestBytes(said->request));
    });
  }
  // Each request begins with its number.
  void NoteSent(absl::string_view request) { calls_.at(wire::FieldReader(request).Take<uint32_t>())->sent = true; }
  void Hear(absl::string_view message) {
    if (outbox_.OnMessage(message).ok()) return;
    outbox_.Disconnected();
    Connect();
  }
  void Start(absl::string_view bytes) {
    std::string request;
    wire::Put(request, static_cast<uint32_t>(calls_.size()));
    request.append(bytes.data(), bytes.size());
    const auto heard = std::make_shared<Heard>();
    calls_.push_back(heard);
    const absl::Status status = outbox_.Start(
        request,
        [heard](const absl::StatusOr<Persistence>& level) {
          Require(!level.ok() || heard->sent, "only what was sent is safe");
          ++heard->persisted;
        },
        [heard](const absl::StatusOr<std::string>& reply) {
          Require(!reply.ok() || heard->sent, "only what was sent is replied to");
          ++heard->replied;
        });
    if (status.ok()) return;
    Require(heard->persisted == 0 && heard->replied == 0, "what was not taken hears nothing");
    calls_.pop_back();
  }

  std::vector<std::shared_ptr<Heard>> calls_;
  Outbox outbox_{Options()};
};

}  // namespace

std::vector<std::string> Seeds() {
  const std::string start = Say(Step::kStart, Piece("a request"));
  const std::string standing = Say(Step::kStanding, uint8_t{2}, uint64_t{0}, uint64_t{100});
  const std::string persisted = Say(Step::kPersisted, uint64_t{2}, uint8_t{2}, uint8_t{0});
  return {
      start + standing + start + persisted + Say(Step::kReply, uint64_t{1}, Piece("a reply")) +
          Say(Step::kError, uint64_t{2}),
      standing + start + start + start + Say(Step::kRefused, uint64_t{2}, uint8_t{0}, uint8_t{7}) + Say(Step::kResume) +
          persisted + Say(Step::kConnect) + Say(Step::kStanding, uint8_t{2}, uint64_t{2}, uint64_t{100}),
      start + Say(Step::kRefused, uint64_t{0}, uint8_t{1}, uint8_t{8}) + start + Say(Step::kFailAll) + start,
      start + Say(Step::kMessage, Piece(StandingMessage(Persistence::kVisible, 0, 100, absl::Hours(1)))) +
          Say(Step::kMessage, Piece(PersistedMessage(1, Persistence::kVisible, true))),
  };
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  Script script(Text(data, size));
  Client client;
  for (int steps = 0; steps < kMostSteps && !script.done(); ++steps) {
    client.Do(static_cast<Step>(script.Choice(kSteps)), script);
  }
  return 0;
}
