// A client of durable calls that says whatever it likes, over one connection after the other: what its server says is
// well-formed, tells of nothing that was not asked, and a protocol error ends the connection alone.
//
//   input = steps
#include <memory>
#include <string>
#include <vector>

#include "core/durable/calls/call_service.h"
#include "core/durable/sim/simulated_medium.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/script.h"

namespace skein::fuzz {
namespace {

using namespace durable;  // NOLINT(google-build-using-namespace): a file of its own

enum class Step : uint8_t {
  kMessage,  // piece: as it is
  kHello,    // u8 client | u8 the level that it wants; 0: any
  kCall,     // u64 sequence | u64 acknowledged | piece
  kNext,     // piece: a call with the next sequence
  kAsk,      // u64 sequence
  kConnect,  // anew
};
constexpr size_t kSteps = 6;
constexpr int kMostSteps = 200;
constexpr uint64_t kRing = 4096;

// Not started: nothing is executed and no thread runs, so each run is like any other.
class Server {
 public:
  Server() {
    CallServiceOptions options;
    options.ledger.clients = 2;
    options.ledger.outcome_room = 32;
    auto medium = std::make_shared<sim::SimulatedMedium>(kRingOffset + kRing, sim::Granule::kSector, 1);
    service_ = CallService::Open(medium->Open(), options, [](const DurableCall&) { return ""; }).value();
    Connect();
  }
  ~Server() { session_->Disconnected(); }

  void Do(Step step, Script& script) {
    switch (step) {
      case Step::kMessage:
        return Say(script.Piece());
      case Step::kHello: {
        const ClientId client = {script.Take<uint8_t>()};
        const size_t level = script.Choice(6);
        if (level == 0) return Say(HelloMessage(client, std::nullopt));
        return Say(HelloMessage(client, static_cast<Persistence>(level)));
      }
      case Step::kCall: {
        const auto sequence = script.Take<uint64_t>();
        const auto acknowledged = script.Take<uint64_t>();
        return Say(CallMessage(sequence, acknowledged, MakeRequest(script.Piece())));
      }
      case Step::kNext:
        return Say(CallMessage(++sequence_, 0, MakeRequest(script.Piece())));
      case Step::kAsk:
        return Say(AskMessage(script.Take<uint64_t>()));
      case Step::kConnect:
        session_->Disconnected();
        return Connect();
    }
  }

 private:
  void Connect() {
    session_ = service_->Connect(
        [](const std::string& message) { Require(DecodeServerMessage(message).ok(), "what a server says is known"); },
        [] {});
  }
  void Say(absl::string_view message) {
    const absl::Status status = session_->OnMessage(message);
    if (status.ok()) return;
    Require(absl::IsInvalidArgument(status), "a protocol error is an invalid argument");
    session_->Disconnected();
    Connect();
  }

  std::unique_ptr<CallService> service_;
  std::shared_ptr<CallSession> session_;
  uint64_t sequence_ = 0;
};

}  // namespace

std::vector<std::string> Seeds() {
  const std::string hello = Say(Step::kHello, uint8_t{1}, uint8_t{0});
  const std::string next = Say(Step::kNext, Piece("a request"));
  std::string full = hello;
  for (int i = 0; i < 20; ++i) full += Say(Step::kNext, Piece(std::string(250, 'r')));
  return {
      hello + next + next + Say(Step::kAsk, uint64_t{1}) + Say(Step::kConnect) + hello + Say(Step::kAsk, uint64_t{2}),
      Say(Step::kHello, uint8_t{1}, uint8_t{3}) + Say(Step::kConnect) + Say(Step::kHello, uint8_t{2}, uint8_t{0}) +
          Say(Step::kCall, uint64_t{1}, uint64_t{0}, Piece("r")) +
          Say(Step::kCall, uint64_t{1}, uint64_t{1}, Piece("")),
      full,
      Say(Step::kMessage, Piece(HelloMessage({1, 2}, std::nullopt))) +
          Say(Step::kMessage, Piece(CallMessage(1, 0, VoidRequest()))),
  };
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  Script script(Text(data, size));
  Server server;
  for (int steps = 0; steps < kMostSteps && !script.done(); ++steps) {
    server.Do(static_cast<Step>(script.Choice(kSteps)), script);
  }
  return 0;
}
