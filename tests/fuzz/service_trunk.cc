// A skeind that is hostile to another one: what it says over TCP, and does by their shared queue pair. The other one
// lives, and processes that have nothing to do with it go on.
//
//   input = steps
#include <memory>
#include <string>
#include <vector>

#include "core/service/offer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/script.h"
#include "tests/fuzz/service_hosts.h"
#include "tests/support/raw_trunk.h"

namespace skein::fuzz {
namespace {

using service::RawProcess;
using service::RawSession;
using service::RawTrunk;
using service::TrunkKind;
using service::TrunkMessage;

enum class Step : uint8_t {
  kGreet,    // as an honest one does
  kBytes,    // piece: on the connection
  kMessage,  // u8 kind | u8 number | u8 from | u8 code | u8 rkey | u8 access | u64 token and all else | piece: text
  kConnect,  // takes a process's offer, as an honest one does
  kPost,     // u8 opcode | u8 size | u32 immediate | u64 address, key: on the shared queue pair
  kSubmit,   // u8 opcode | u8 rkey: the process whose offer it was posts a request
  kAnswer,   // u64 address, key: an honest answer to where memory is, but for these
  kForget,   // the process lets go of its memory
  kTurns,    // u8
  kLeave,    // closes the connection
};
constexpr size_t kSteps = 10;
constexpr int kMostSteps = 60;

class HostileSkeind {
 public:
  HostileSkeind() {
    trunk_->turn = [this] { hosts_.Turn(); };
  }
  ~HostileSkeind() {
    hosts_.RequireWorks();
    trunk_ = nullptr;
    for (int turns = 0; turns < 3; ++turns) hosts_.Turn();
  }
  void Do(Step step, Script& script);

 private:
  void Message(Script& script) {
    TrunkMessage message;
    message.kind = static_cast<TrunkKind>(script.Take<uint8_t>());
    message.number = script.Take<uint8_t>();
    message.from = script.Take<uint8_t>();
    message.code = script.Take<uint8_t>();
    message.rkey = Key(script.Take<uint8_t>());
    message.access = script.Take<uint8_t>();
    message.token = message.base = message.size = message.address = script.Take<uint64_t>();
    message.key = static_cast<uint32_t>(message.address);
    message.SetText(script.Piece());
    trunk_->Send(message);
  }
  uint32_t Key(uint8_t said) const { return said < 128 ? victim_->rkey : hosts_.honest->rkey + said - 128; }
  void Post(Script& script) {
    fabric::SendRequest request;
    request.opcode = static_cast<fabric::Opcode>(script.Choice(6));
    const auto size = script.Take<uint8_t>();
    request.immediate = script.Take<uint32_t>();
    request.remote.address = script.Take<uint64_t>();
    request.remote.rkey = static_cast<uint32_t>(request.remote.address);
    if (trunk_->queue_pair != nullptr && request.remote.address == 0) request.remote = trunk_->landing;
    const fabric::Segment local = {memory_->bytes().data(), size, memory_->lkey()};
    if (size > 0) request.local = {&local, 1};
    if (trunk_->queue_pair != nullptr) trunk_->queue_pair->PostSend({&request, 1}).IgnoreError();
  }
  void Connect() {
    const auto offer = victim_->session.Ask(RawSession::Operation::kOffer, victim_->number);
    if (!offer.ok()) return;
    const absl::StatusOr<service::Offer> what = service::DecodeOffer(offer->text_view());
    if (!what.ok()) return;  // the answer to kForget
    TrunkMessage connect;
    connect.kind = TrunkKind::kConnect;
    connect.number = what->number;
    connect.token = what->token;
    connect.from = 1;
    trunk_->Send(connect);
  }

  ServiceHosts hosts_;
  const std::shared_ptr<fabric::Device> device_ = hosts_.simulation.CreateDevice("hostile");
  const std::unique_ptr<fabric::MemoryRegion> memory_ =
      device_->Allocate(4096, fabric::kRemoteWrite | fabric::kRemoteRead | fabric::kRemoteAtomic).value();
  const std::unique_ptr<RawProcess> victim_ = hosts_.NewProcess(hosts_.one);
  std::unique_ptr<RawTrunk> trunk_ = std::make_unique<RawTrunk>(hosts_.one.skeind->trunk_port());
};

void HostileSkeind::Do(Step step, Script& script) {
  if (trunk_ == nullptr) return;
  switch (step) {
    case Step::kGreet:
      if (trunk_->queue_pair == nullptr) trunk_->Greet(*device_).IgnoreError();
      return;
    case Step::kBytes:
      trunk_->SendBytes(script.Piece());
      return;
    case Step::kMessage:
      return Message(script);
    case Step::kConnect:
      return Connect();
    case Step::kPost:
      return Post(script);
    case Step::kSubmit: {
      fabric::service::Submission request = victim_->Write({uint64_t{1} << 20, 0});
      request.opcode = script.Take<uint8_t>();
      request.rkey = script.Take<uint8_t>();
      victim_->Lay(request);
      return victim_->Publish();
    }
    case Step::kAnswer: {
      TrunkMessage answer;
      answer.kind = TrunkKind::kResolved;
      answer.number = victim_->number;
      answer.address = script.Take<uint64_t>();
      answer.key = answer.address % 2 == 0 ? memory_->remote().rkey : static_cast<uint32_t>(answer.address);
      answer.rkey = script.Take<uint8_t>();
      answer.base = uint64_t{1} << 20;
      answer.size = 4096;
      answer.access = ~0U;
      trunk_->Send(answer);
      return;
    }
    case Step::kForget: {
      RawSession::Request forget;
      forget.operation = RawSession::Operation::kForget;
      forget.number = victim_->lkey;
      victim_->session.Send(forget);
      return;
    }
    case Step::kTurns:
      for (size_t turns = script.Choice(8) + 1; turns > 0; --turns) hosts_.Turn();
      return;
    case Step::kLeave:
      trunk_ = nullptr;
      return;
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string turns = Say(Step::kTurns, uint8_t{7});
  const std::string connected = Say(Step::kGreet) + Say(Step::kConnect) + turns;
  const auto message = [](TrunkKind kind, uint8_t number, uint8_t from, uint8_t rkey, uint64_t all,
                          const std::string& text = "") {
    return Say(Step::kMessage, static_cast<uint8_t>(kind), number, from, uint8_t{0}, rkey, uint8_t{7}, all,
               Piece(text));
  };
  std::string all_kinds;
  for (uint8_t kind = 1; kind < 11; ++kind) all_kinds += message(static_cast<TrunkKind>(kind), 2, 1, 0, 8);
  const std::string submit = Say(Step::kSubmit, uint8_t{1}, uint8_t{5});
  return {
      connected + message(TrunkKind::kResolve, 2, 1, 0, 0) + turns + Say(Step::kForget) + turns +
          message(TrunkKind::kRevoked, 2, 1, 0, 0) + turns,
      connected + submit + turns + Say(Step::kAnswer, uint64_t{4096}, uint8_t{5}) + turns,
      connected + submit + turns + Say(Step::kAnswer, uint64_t{77}, uint8_t{5}) + turns + Say(Step::kLeave) + turns,
      connected + submit + turns + message(TrunkKind::kRevoke, 2, 1, 128, 0) + turns +
          message(TrunkKind::kClosed, 2, 1, 0, 0) + turns,
      Say(Step::kGreet) + all_kinds + turns,
      message(TrunkKind::kHello, 0, 0, 0, service::kTrunkVersion, "no offer") + turns,
      connected + Say(Step::kPost, uint8_t{2}, uint8_t{0}, uint32_t{2} << 8 | 5, uint64_t{0}) + turns,
      connected + Say(Step::kPost, uint8_t{1}, uint8_t{8}, uint32_t{0}, uint64_t{99}) + turns + submit + turns,
      Say(Step::kBytes, Piece(std::string(sizeof(TrunkMessage), '\0'))) + turns,
      connected + Say(Step::kLeave) + Say(Step::kForget) + turns,
  };
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  Script script(Text(data, size));
  HostileSkeind skeind;
  for (int steps = 0; steps < kMostSteps && !script.done(); ++steps) {
    skeind.Do(static_cast<Step>(script.Choice(kSteps)), script);
  }
  return 0;
}
