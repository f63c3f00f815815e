// A process that is hostile to its skeind: what it says and passes over the socket, and writes into the memory that
// both have. skeind lives, and honest processes that it serves go on.
//
//   input = steps
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/service/offer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/script.h"
#include "tests/fuzz/service_hosts.h"
#include "tests/support/raw_trunk.h"

// The C library's, for the whole program: whatever host an offer names, the fuzzer connects to no other machine.
extern "C" int connect(int fd, const sockaddr* to, socklen_t size) {
  sockaddr_in v4 = {};
  std::memcpy(&v4, to, std::min<size_t>(size, sizeof(v4)));
  const bool is_loopback = v4.sin_family == AF_INET && ntohl(v4.sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
  if (v4.sin_family == AF_UNIX || is_loopback) return static_cast<int>(syscall(SYS_connect, fd, to, size));
  errno = ENETUNREACH;
  return -1;
}

namespace skein::fuzz {
namespace {

using fabric::service::Submission;
using service::RawProcess;
using service::RawSession;

enum class Step : uint8_t {
  kBytes,     // piece: on the socket
  kAsk,       // u8 operation | u8 number | u8 other | u8 what is passed, see Pass | u32 size | u64 address | piece
  kSubmit,    // u8 opcode | u8 which fields are hostile | u64 their value: a request
  kPublish,   // u8: so many more than there are
  kWord,      // u8 which word of those that hand over | u64
  kScribble,  // u8 which memory | u32 offset | piece
  kTurns,     // u8
  kLeave,     // closes the socket
  kAccept,    // u8 number | u8 host | u8 port | u8 number there | u64 token: asks to accept that offer
};
constexpr size_t kSteps = 9;
constexpr int kMostSteps = 100;

// One host by several names, hosts of this machine where nobody listens, one of another machine, and what is no number.
constexpr absl::string_view kHosts[] = {
    "127.0.0.1",        "127.1",     "2130706433", "0x7f.0.0.1", {"127.0.0.1\0x", 11},
    "::ffff:127.0.0.1", "127.0.0.2", "192.0.2.1",  "localhost",  "",
};

class HostileProcess {
 public:
  HostileProcess() { hosts_.Connect(*own_, *peer_); }
  ~HostileProcess() { hosts_.RequireWorks(); }
  void Do(Step step, Script& script);

 private:
  void Ask(Script& script) {
    RawSession::Request request;
    const auto operation = script.Take<uint8_t>();
    request.operation = static_cast<RawSession::Operation>(operation % 128);
    request.unanswered = operation / 128;
    request.number = Number(script.Take<uint8_t>());
    request.other = Number(script.Take<uint8_t>());
    const size_t passed = script.Choice(5);
    request.size = script.Take<uint32_t>();
    request.address = script.Take<uint64_t>();
    request.access = static_cast<uint32_t>(request.address);
    request.SetText(script.Piece());
    own_->session.Send(request, Pass(passed, request.size));
  }
  void Accept(Script& script) {
    RawSession::Request request;
    request.operation = RawSession::Operation::kAccept;
    request.number = Number(script.Take<uint8_t>());
    const uint16_t ports[] = {hosts_.other.skeind->trunk_port(), hosts_.one.skeind->trunk_port(), silent_.port};
    service::Offer offer;
    offer.host = std::string(kHosts[script.Choice(std::size(kHosts))]);
    offer.port = ports[script.Choice(std::size(ports))];
    offer.number = script.Take<uint8_t>();
    offer.token = script.Take<uint64_t>();
    request.SetText(service::EncodeOffer(offer));
    own_->session.Send(request);
  }
  // Small ones are its own, as counted from what it has.
  uint32_t Number(uint8_t said) const { return said < 128 ? said % 16 : own_->number + said % 4; }
  int Pass(size_t kind, uint64_t size) {
    switch (kind) {
      case 1:
        return own_->memory.memfd.get();
      case 2:
        return own_->session.socket();
      case 3:
        return own_->requests.memfd.get();
      case 4:
        passed_ = CreateSealedMemfd("fuzz", std::clamp<uint64_t>(size, 1, 1 << 20)).value_or(UniqueFd());
        return passed_.get();
      default:
        return -1;
    }
  }
  void Submit(Script& script) {
    Submission request = own_->Write({peer_->base, peer_->rkey});
    request.opcode = script.Take<uint8_t>();
    const auto hostile = script.Take<uint8_t>();
    const auto value = script.Take<uint64_t>();
    const auto half = static_cast<uint32_t>(value);
    if ((hostile & 1) != 0) request.lkey = half;
    if ((hostile & 2) != 0) request.length = half;
    if ((hostile & 4) != 0) request.address += value;
    if ((hostile & 8) != 0) request.remote_address += value;
    if ((hostile & 16) != 0) request.rkey = half;
    if ((hostile & 32) != 0) request.immediate = half;
    if ((hostile & 64) != 0) request.signaled = 0;
    if ((hostile & 128) != 0) request.length = half % RawProcess::kBytes;
    own_->Lay(request);
  }
  void Word(size_t which, uint64_t value) {
    const auto half = static_cast<uint32_t>(value);
    switch (which) {
      case 0:
        return own_->submissions.header().published.store(value);
      case 1:
        return own_->submissions.header().end.store(half);
      case 2:
        return own_->completed.header().published.store(value);
      case 3:
        return own_->completed.header().consumed.store(value);
      case 4:
        return own_->completed.header().sleeps.store(half);
      default:
        return own_->Ring(half % fabric::service::kMostPlaces);
    }
  }

  ServiceHosts hosts_;
  const std::unique_ptr<RawProcess> peer_ = hosts_.NewProcess(hosts_.other);
  const std::unique_ptr<RawProcess> own_ = hosts_.NewProcess(hosts_.one);
  const service::RawTrunks silent_;  // takes connections, and says nothing
  UniqueFd passed_;
};

void HostileProcess::Do(Step step, Script& script) {
  switch (step) {
    case Step::kBytes: {
      const absl::string_view piece = script.Piece();
      if (!piece.empty()) SendMessage(own_->session.socket(), piece);
      return;
    }
    case Step::kAsk:
      return Ask(script);
    case Step::kSubmit:
      return Submit(script);
    case Step::kPublish:
      return own_->Publish(own_->laid + script.Take<uint8_t>());
    case Step::kWord: {
      const size_t which = script.Choice(6);
      return Word(which, script.Take<uint64_t>());
    }
    case Step::kScribble: {
      const absl::Span<std::byte> memories[] = {own_->session.page_bytes(), own_->requests.mapping.bytes(),
                                                own_->completions.mapping.bytes()};
      const absl::Span<std::byte> memory = memories[script.Choice(3)];
      const size_t offset = script.Take<uint32_t>() % memory.size();
      const absl::string_view bytes = script.Piece();
      std::memcpy(memory.data() + offset, bytes.data(), std::min(bytes.size(), memory.size() - offset));
      return;
    }
    case Step::kTurns:
      for (size_t turns = script.Choice(8) + 1; turns > 0; --turns) hosts_.Turn();
      return;
    case Step::kLeave:
      return own_->session.Leave();
    case Step::kAccept:
      return Accept(script);
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  using Operation = RawSession::Operation;
  const std::string turns = Say(Step::kTurns, uint8_t{7});
  const std::string publish = Say(Step::kPublish, uint8_t{0});
  const auto submit = [](fabric::Opcode opcode, uint8_t hostile, uint64_t value) {
    return Say(Step::kSubmit, static_cast<uint8_t>(opcode), hostile, value);
  };
  const auto ask = [&](Operation operation, uint8_t number, uint8_t passed, uint32_t size, const std::string& text) {
    return Say(Step::kAsk, static_cast<uint8_t>(operation), number, uint8_t{2}, passed, size, uint64_t{4096},
               Piece(text)) +
           turns;
  };
  // A queue pair that is not connected yet, its next: a connected one accepts no offer.
  const std::string fresh = ask(Operation::kCreateQueuePair, 2, 3, 16, "");
  const auto accept = [&](uint8_t number, uint8_t host, uint8_t port) {
    return fresh + Say(Step::kAccept, number, host, port, uint8_t{1}, uint64_t{2}) + turns + turns;
  };
  std::string all_opcodes;
  for (uint8_t opcode = 0; opcode < 8; ++opcode) {
    all_opcodes += submit(static_cast<fabric::Opcode>(opcode), 0, 0);
  }
  std::vector<std::string> seeds = {
      submit(fabric::Opcode::kWrite, 0, 0) + submit(fabric::Opcode::kRead, 128, 100) +
          submit(fabric::Opcode::kFetchAdd, 64, 0) + submit(fabric::Opcode::kWriteWithImmediate, 32, ~uint64_t{0}) +
          publish + turns + turns,
      all_opcodes + publish + turns,
      submit(fabric::Opcode::kRead, 2, 0) + publish + turns,
      submit(fabric::Opcode::kFetchAdd, 8, 4) + publish + turns,
      submit(fabric::Opcode::kWrite, 16, 7) + publish + turns + Say(Step::kLeave) + turns,
      ask(Operation::kRegister, 0, 4, 8192, "") + ask(Operation::kForget, 3, 0, 0, "") +
          ask(Operation::kForget, 1, 0, 0, ""),
      ask(Operation::kCreateCompletionQueue, 0, 4, 1000, "") + ask(Operation::kWakeBy, 2, 2, 0, "") +
          ask(Operation::kWakeBy, 3, 2, 0, "") + ask(Operation::kCreateQueuePair, 2, 3, 16, "") +
          ask(Operation::kDropCompletionQueue, 2, 0, 0, "") + submit(fabric::Opcode::kWrite, 0, 0) + publish + turns,
      ask(Operation::kAccept, 128, 0, 0, "an offer") + ask(Operation::kClose, 128, 0, 0, "") +
          ask(Operation::kDestroyQueuePair, 128, 0, 0, ""),
      ask(Operation::kAbout, 0, 0, 0, "") + ask(Operation::kPassListener, 0, 0, 0, "") +
          ask(Operation::kPassListener, 1, 0, 0, "") + ask(Operation::kPassListener, 2, 0, 0, "") +
          ask(Operation::kStop, 0, 0, 0, ""),
      Say(Step::kWord, uint8_t{0}, ~uint64_t{0}) + Say(Step::kWord, uint8_t{5}, uint64_t{0}) + turns,
      Say(Step::kWord, uint8_t{3}, uint64_t{1} << 40) + submit(fabric::Opcode::kWrite, 0, 0) + publish + turns,
      Say(Step::kScribble, uint8_t{0}, uint32_t{0}, Piece(std::string(512, '\xFF'))) + turns,
      Say(Step::kBytes, Piece(std::string(232, 'x'))) + turns,
      accept(129, 0, 1) + Say(Step::kLeave) + turns,
      accept(129, 0, 2) + Say(Step::kLeave) + turns,
  };
  for (uint8_t host = 0; host < std::size(kHosts); ++host) {
    seeds.push_back(accept(129, host, 0) + accept(130, 1, 0) + ask(Operation::kDestroyQueuePair, 129, 0, 0, ""));
  }
  return seeds;
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  Script script(Text(data, size));
  HostileProcess process;
  for (int steps = 0; steps < kMostSteps && !script.done(); ++steps) {
    process.Do(static_cast<Step>(script.Choice(kSteps)), script);
  }
  return 0;
}
