// A queue pair over shared memory whose peer is hostile: what it writes into the memory that both have, whenever; what
// it says and passes over their socket. No byte leaves the victim's memory, and what it has posted completes.
//
//   input = steps: those of the peer, or of the victim
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fabric/shm/control.h"
#include "core/fabric/shm/doorbell.h"
#include "core/fabric/shm/mailbox.h"
#include "core/fabric/shm/memory.h"
#include "core/fabric/shm/offer.h"
#include "core/fabric/shm/regions.h"
#include "core/fabric/shm/rendezvous.h"
#include "core/fabric/shm/shm_device.h"
#include "core/fabric/shm/side_message.h"
#include "core/fabric/shm/socket.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/script.h"
#include "tests/support/fabric_end.h"

namespace skein::fuzz {
namespace {

using namespace fabric::shm;  // NOLINT(google-build-using-namespace): a file of its own

enum class Step : uint8_t {
  // The peer's.
  kRecord,    // u16 kind | u32 size | u32 immediate: honest but for these
  kHead,      // u64 that is added to the head; all that was sent is taken if it is 0
  kScribble,  // u32 offset | piece: anywhere in what they share
  kWord,      // u8 which of its side's words | u64
  kSay,       // u8 kind | u8 rkey | u8 access | u32 size | u8 address | u8 what is passed, see Passed
  kBytes,     // piece: on the socket
  kLeave,     // closes the socket
  // The victim's.
  kPoll,     //
  kReceive,  // u16 size
  kSend,     // u16 size
  kWrite,    // u8 with immediate | u8 rkey | u32 address | u16 size
  kRead,     // u8 rkey | u32 address | u16 size
  kAtomic,   // u8 rkey | u32 address
  kArm,      //
  kRefresh,  //
};
constexpr size_t kSteps = 15;
constexpr int kMostSteps = 200;
constexpr size_t kMemory = size_t{1} << 16;

// What a peer passes for a descriptor of this or that.
UniqueFd Passed(size_t kind, size_t bytes) {
  switch (kind) {
    case 1:
      return CreateSealedMemfd("fuzz", bytes).value_or(UniqueFd());
    case 2: {
      UniqueFd fd(memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING));
      Require(ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0, "a memfd grows");
      return fd;
    }
    case 3:
      return std::move(CreateDoorbell().value().to_pass);
    case 4:
      return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
    default:
      return {};
  }
}

class Victim {
 public:
  Victim() {
    const Offer offer = DecodeOffer(end_.queue_pair->Offer().value()).value();
    UniqueFd control = CreateSealedMemfd("skein-control", kControlBytes).value();
    mapping_ = Map(control.get(), kControlBytes).value();
    control_ = reinterpret_cast<Control*>(mapping_.data());
    socket_ = std::move(Meet(offer, {}, {}, std::move(control)).value().socket);
    Require(end_.queue_pair->Complete("\x01met").ok(), "it connects");
    producer_.emplace(mine(), theirs());
  }
  ~Victim() {
    end_.queue_pair->Close();
    while (Poll() > 0) continue;
    Require(posted_ == completed_, "what was posted completes in the end, once");
  }

  void Do(Step step, Script& script);

 private:
  Side& mine() { return control_->sides[0]; }
  Side& theirs() { return control_->sides[1]; }

  void Scribble(size_t offset, absl::string_view bytes) {
    offset %= kControlBytes;
    std::memcpy(mapping_.data() + offset, bytes.data(), std::min(bytes.size(), kControlBytes - offset));
  }
  void Word(size_t which, uint64_t value) {
    switch (which) {
      case 0:
        return mine().tail.store(value);
      case 1:
        return mine().head.store(value);
      case 2:
        return mine().receives.store(value);
      case 3:
        return mine().socket_messages.store(value);
      case 4:
        return mine().state.store(static_cast<uint32_t>(value));
      case 5:
        return mine().armed.store(static_cast<uint32_t>(value));
      default:
        return mine().waits_for_head.store(static_cast<uint32_t>(value));
    }
  }
  void Say(Script& script) {
    SideMessage message;
    message.kind = static_cast<SideMessageKind>(script.Choice(7));
    message.rkey = script.Take<uint8_t>();
    // The victim's own has a number that chance gave it.
    if (message.kind == SideMessageKind::kWant && message.rkey == 0) {
      message.rkey = end_.memory->remote().rkey;
      message.base = end_.memory->remote().address;
    }
    message.access = script.Take<uint8_t>();
    message.size = script.Take<uint32_t>() % (4 * kMemory);
    message.address = script.Take<uint8_t>();
    const size_t header = kRegionHeaderBytes;
    const size_t pages = message.address == 0 ? (message.size + 4095) / 4096 * 4096 : 0;
    const UniqueFd passed = Passed(script.Choice(6), header + pages);
    SendMessage(socket_.get(), message.view(), passed.get());
    mine().socket_messages.fetch_add(1);
  }

  static fabric::RemoteAddress Remote(Script& script) {
    fabric::RemoteAddress remote;
    remote.rkey = script.Take<uint8_t>();
    remote.address = script.Take<uint32_t>();
    return remote;
  }
  void Post(fabric::Opcode opcode, size_t size, fabric::RemoteAddress remote) {
    if (fabric::Post(*end_.queue_pair, opcode, end_.Local(0, size), remote).ok()) ++posted_;
  }
  // Returns how many completions there were; there may be more.
  size_t Poll() {
    const std::vector<fabric::Completion> completions = end_.Poll();
    for (const fabric::Completion& completion : completions) Take(completion);
    return completions.size();
  }
  void Take(const fabric::Completion& completion) {
    ++completed_;
    Require(completion.status != fabric::CompletionStatus::kSuccess || completion.bytes <= kMemory ||
                completion.opcode == fabric::Opcode::kReceiveWithImmediate,
            "no more bytes than there is room for");
  }

  static std::shared_ptr<fabric::Device> Device() {
    static const auto* const device = new std::shared_ptr<fabric::Device>(
        fabric::OpenShmDevice({.max_import_bytes = 8 * kMemory, .max_imports = 4}).value());
    return *device;
  }

  fabric::End end_{Device(), kMemory};
  UniqueFd socket_;
  Mapping mapping_;
  Control* control_ = nullptr;
  std::optional<MailboxProducer> producer_;
  size_t posted_ = 0;
  size_t completed_ = 0;
};

void Victim::Do(Step step, Script& script) {
  switch (step) {
    case Step::kRecord: {
      Record record;
      record.kind = static_cast<RecordKind>(script.Take<uint16_t>());
      record.size = script.Take<uint32_t>();
      record.immediate = script.Take<uint32_t>();
      const std::string payload(kMailboxBytes, 'r');
      if (record.size <= kMaxFragmentBytes) producer_->Push(record, reinterpret_cast<const std::byte*>(payload.data()));
      return;
    }
    case Step::kHead: {
      const auto more = script.Take<uint64_t>();
      mine().head.store(more == 0 ? theirs().tail.load() : mine().head.load() + more);
      return;
    }
    case Step::kScribble: {
      const auto offset = script.Take<uint32_t>();
      return Scribble(offset, script.Piece());
    }
    case Step::kWord: {
      const size_t which = script.Choice(7);
      return Word(which, script.Take<uint64_t>());
    }
    case Step::kSay:
      return Say(script);
    case Step::kBytes:
      SendMessage(socket_.get(), script.Piece());
      mine().socket_messages.fetch_add(1);
      return;
    case Step::kLeave:
      return socket_.Reset();
    case Step::kPoll:
      Poll();
      return;
    case Step::kReceive:
      if (fabric::PostReceive(*end_.queue_pair, end_.Local(0, script.Take<uint16_t>())).ok()) ++posted_;
      return;
    case Step::kSend:
      return Post(fabric::Opcode::kSend, script.Take<uint16_t>(), {});
    case Step::kWrite: {
      const bool immediate = script.Choice(2) == 1;
      const fabric::RemoteAddress to = Remote(script);
      return Post(immediate ? fabric::Opcode::kWriteWithImmediate : fabric::Opcode::kWrite, script.Take<uint16_t>(),
                  to);
    }
    case Step::kRead: {
      const fabric::RemoteAddress from = Remote(script);
      return Post(fabric::Opcode::kRead, script.Take<uint16_t>(), from);
    }
    case Step::kAtomic:
      return Post(fabric::Opcode::kFetchAdd, sizeof(uint64_t), Remote(script));
    case Step::kArm:
      end_.queue->Arm().IgnoreError();
      return;
    case Step::kRefresh:
      end_.queue->AckEvents();
      end_.queue_pair->RefreshState();
      return;
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string poll = Say(Step::kPoll);
  const std::string receive = Say(Step::kReceive, uint16_t{1000});
  const std::string write = Say(Step::kWrite, uint8_t{0}, uint8_t{7}, uint32_t{64}, uint16_t{100});
  // Memory that the peer gives, with all access.
  const std::string grant = Say(Step::kSay, uint8_t{3}, uint8_t{7}, uint8_t{7}, uint32_t{8000}, uint8_t{0}, uint8_t{1});
  return {
      receive + receive + Say(Step::kRecord, uint16_t{2}, uint32_t{100}, uint32_t{0}) +
          Say(Step::kRecord, uint16_t{3}, uint32_t{17}, uint32_t{0}) + poll +
          Say(Step::kRecord, uint16_t{1}, uint32_t{0}, uint32_t{7}) + Say(Step::kArm) + poll,
      write + poll + grant + poll + Say(Step::kRead, uint8_t{7}, uint32_t{0}, uint16_t{100}) +
          Say(Step::kAtomic, uint8_t{7}, uint32_t{8}) + Say(Step::kWord, uint8_t{2}, uint64_t{10}) +
          Say(Step::kWrite, uint8_t{1}, uint8_t{7}, uint32_t{64}, uint16_t{100}) + poll,
      Say(Step::kSend, uint16_t{20000}) + Say(Step::kSend, uint16_t{20000}) + Say(Step::kHead, uint64_t{0}) + poll +
          Say(Step::kHead, uint64_t{0}) + poll + Say(Step::kHead, uint64_t{16}) + poll,
      Say(Step::kSay, uint8_t{2}, uint8_t{0}, uint8_t{0}, uint32_t{0}, uint8_t{0}, uint8_t{0}) + Say(Step::kRefresh) +
          Say(Step::kSay, uint8_t{5}, uint8_t{0}, uint8_t{0}, uint32_t{0}, uint8_t{0}, uint8_t{3}) +
          Say(Step::kRefresh) + Say(Step::kBytes, Piece("bytes")) + poll,
      write + grant + Say(Step::kLeave) + poll + Say(Step::kRefresh) + poll,
      receive + Say(Step::kScribble, uint32_t{192}, Piece(std::string(64, '\x01'))) +
          Say(Step::kWord, uint8_t{0}, uint64_t{32}) + poll,
  };
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  Script script(Text(data, size));
  Victim victim;
  for (int steps = 0; steps < kMostSteps && !script.done(); ++steps) {
    victim.Do(static_cast<Step>(script.Choice(kSteps)), script);
  }
  return 0;
}
