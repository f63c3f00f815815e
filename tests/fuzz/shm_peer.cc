// A channel in shared memory whose peer is hostile: what it writes into the memory that both have, whenever; what it
// says and passes over their socket. No byte leaves the victim's memory, and an operation touches no more than the peer
// has passed.
//
//   input = steps: those of the peer, or of the victim
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/sealed_memory.h"
#include "core/base/socket_message.h"
#include "core/channel/shm/layout.h"
#include "core/channel/shm/offer.h"
#include "core/channel/shm/region.h"
#include "core/channel/shm/rendezvous.h"
#include "core/channel/shm/shm_transport.h"
#include "core/channel/shm/side_message.h"
#include "core/channel/shm/wakeup_pipe.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/script.h"
#include "tests/support/out_item.h"

namespace skein::fuzz {
namespace {

using namespace channel::shm;  // NOLINT(google-build-using-namespace): a file of its own

enum class Step : uint8_t {
  // The peer's.
  kMessage,   // u32 bytes | u32 items | piece: a message, honest but for these, and published
  kWord,      // u8 which of its words | u64
  kScribble,  // u32 offset | piece: anywhere in what they share
  kSay,       // u8 kind | u8 rkey | u8 access | u32 size | u8 what is passed, see Passed
  kBytes,     // piece: on the socket
  kLeave,     // closes the socket
  // The victim's.
  kRead,     //
  kSend,     // u16 size
  kOperate,  // u8 which | u8 rkey | u32 offset | u16 size
  kPass,     // u8 access
  kSleep,    //
  kLook,     //
  kExpect,   // memory of the peer's
};
constexpr size_t kSteps = 13;
constexpr int kMostSteps = 200;
constexpr size_t kRing = wire::kRingGranule;
constexpr uint64_t kBase = uint64_t{1} << 20;
constexpr size_t kMost = size_t{1} << 16;

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
      return CreateWakeupPipe().value();
    case 4:
      return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
    case 5:
      return std::move(CreateShared("fuzz", bytes, /*peers_write=*/false).value().memfd);
    default:
      return {};
  }
}

std::shared_ptr<channel::Transport> Shm() {
  channel::ShmOptions options;
  options.max_import_bytes = 8 * kMost;
  options.max_imports = 4;
  static const auto* const transport = new std::shared_ptr<channel::Transport>(channel::OpenShm(options));
  return *transport;
}

class Victim {
 public:
  Victim() {
    const Offer offer = DecodeOffer(channel_->Offer().value()).value();
    UniqueFd memfd = CreateSealedMemfd("fuzz", SharedBytes(kRing)).value();
    mapping_ = Map(memfd.get(), SharedBytes(kRing)).value();
    socket_ = std::move(Meet(offer, {}, {}, std::move(memfd)).value().socket);
    channel::Channel::Answer answer;
    answer.connection = "\x01met";
    answer.ring.size = kRing;
    Require(channel_->Complete(answer).ok(), "it connects");
  }

  void Do(Step step, Script& script);

 private:
  End& own() { return reinterpret_cast<Control*>(mapping_.data())->ends[0]; }

  void Say(const SideMessage& message, int fd) {
    SendMessage(socket_.get(), message.view(), fd);
    own().socket_messages.fetch_add(1);
  }
  void Publish(Script& script) {
    MessageHeader header;
    header.bytes = script.Take<uint32_t>();
    header.items = script.Take<uint32_t>();
    const absl::string_view items = script.Piece();
    const size_t at = published_ % (kRing / 2);
    std::memcpy(mapping_.data() + FifoOffset(0, kRing) + at, &header, sizeof(header));
    const size_t space = kRing - at - sizeof(header);
    std::memcpy(mapping_.data() + FifoOffset(0, kRing) + at + sizeof(header), items.data(),
                std::min(items.size(), space));
    published_ += Footprint(items.size());
    own().published.store(published_);
  }
  void Word(size_t which, uint64_t value) {
    const auto half = static_cast<uint32_t>(value);
    switch (which) {
      case 0:
        return own().published.store(value);
      case 1:
        return own().consumed.store(value);
      case 2:
        return own().wakes_at.store(value);
      case 3:
        return own().sleeps.store(half);
      case 4:
        return own().state.store(half);
      default:
        return own().socket_messages.store(half);
    }
  }
  void Send(size_t size) {
    const std::vector<std::byte> bytes(size);
    const absl::Span<const std::byte> part(bytes);
    channel::OutItem item;
    Carry(item, {&part, 1});
    if (channel_->Space(channel::Use::kData) == 0) return;
    if (channel_->Lay({&item, 1}, channel::Use::kData).ok()) channel_->Publish(0).IgnoreError();
  }
  void ReadAll() {
    channel_->Ended();
    for (int i = 0; i < 64; ++i) {
      const absl::StatusOr<std::optional<channel::InMessage>> next = channel_->Next();
      if (!next.ok() || !next->has_value()) break;
      for (wire::ItemWalk walk = (*next)->walk(); !walk.done();) {
        const absl::StatusOr<wire::Item> item = walk.Next();
        if (!item.ok()) break;
        const std::vector<std::byte> copy(item->payload.begin(), item->payload.end());
      }
      channel_->Pop();
    }
    channel_->AfterReading();
  }
  void Operate(Script& script) {
    constexpr fabric::Opcode kOpcodes[] = {fabric::Opcode::kRead, fabric::Opcode::kWrite, fabric::Opcode::kFetchAdd,
                                           fabric::Opcode::kCompareSwap, fabric::Opcode::kSend};
    fabric::SendRequest request;
    request.opcode = kOpcodes[script.Choice(std::size(kOpcodes))];
    request.remote.rkey = script.Take<uint8_t>();
    request.remote.address = kBase + static_cast<int32_t>(script.Take<uint32_t>());
    const bool atomic = request.opcode == fabric::Opcode::kFetchAdd || request.opcode == fabric::Opcode::kCompareSwap;
    std::vector<std::byte> bytes(atomic ? sizeof(uint64_t) : script.Take<uint16_t>());
    const fabric::Segment local = {bytes.data(), bytes.size(), 0};
    request.local = {&local, 1};
    const bool connected = channel_->connected();
    const absl::StatusOr<fabric::CompletionStatus> done = channel_->Execute(request);
    Require(done.ok() || absl::IsInvalidArgument(done.status()), "done, or no such operation");
    Require(!done.ok() || *done != fabric::CompletionStatus::kSuccess || connected, "nothing is done after the end");
  }

  const std::unique_ptr<channel::ChannelGroup> group_ = Shm()->NewGroup(false).value();
  const std::unique_ptr<channel::Channel> channel_ = group_->Open({kRing}).value();
  std::vector<std::unique_ptr<Region>> regions_;
  UniqueFd socket_;
  Mapping mapping_;
  uint64_t published_ = 0;
};

void Victim::Do(Step step, Script& script) {
  switch (step) {
    case Step::kMessage:
      return Publish(script);
    case Step::kWord: {
      const size_t which = script.Choice(6);
      return Word(which, script.Take<uint64_t>());
    }
    case Step::kScribble: {
      const size_t offset = script.Take<uint32_t>() % mapping_.size();
      const absl::string_view bytes = script.Piece();
      std::memcpy(mapping_.data() + offset, bytes.data(), std::min(bytes.size(), mapping_.size() - offset));
      return;
    }
    case Step::kSay: {
      SideMessage message;
      message.kind = static_cast<SideMessageKind>(script.Choice(7));
      message.rkey = script.Take<uint8_t>();
      message.access = script.Take<uint8_t>();
      message.size = script.Take<uint32_t>() % (4 * kMost);
      message.base = kBase;
      const UniqueFd passed = Passed(script.Choice(6), std::max<size_t>(message.size, 1));
      return Say(message, passed.get());
    }
    case Step::kBytes:
      SendMessage(socket_.get(), script.Piece());
      own().socket_messages.fetch_add(1);
      return;
    case Step::kLeave:
      return socket_.Reset();
    case Step::kRead:
      return ReadAll();
    case Step::kSend:
      return Send(script.Take<uint16_t>());
    case Step::kOperate:
      return Operate(script);
    case Step::kPass:
      if (regions_.size() < 8) regions_.push_back(Region::Allocate(kMost, script.Take<uint8_t>() % 8).value());
      channel_->Pass(*regions_.back()).IgnoreError();
      return;
    case Step::kSleep:
      group_->Arm().IgnoreError();
      group_->Disarm();
      group_->AckEvents();
      channel_->MoreSpace();
      channel_->Heed().IgnoreError();
      return;
    case Step::kLook:
      group_->AckAllEvents();
      channel_->StillConnected();
      return;
    case Step::kExpect:
      return channel_->ExpectMemory();
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string read = Say(Step::kRead);
  const std::string unasked = Say(Step::kSay, uint8_t{3}, uint8_t{7}, uint8_t{7}, uint32_t{8000}, uint8_t{1});
  const std::string grant = Say(Step::kExpect) + unasked;
  const std::string read_only =
      Say(Step::kExpect) + Say(Step::kSay, uint8_t{3}, uint8_t{8}, uint8_t{2}, uint32_t{100}, uint8_t{5});
  const auto operate = [](uint8_t which, uint8_t rkey, uint32_t offset, uint16_t size) {
    return Say(Step::kOperate, which, rkey, offset, size);
  };
  return {
      Say(Step::kMessage, uint32_t{16}, uint32_t{1}, Piece(std::string(16, '\0'))) + read +
          Say(Step::kSend, uint16_t{100}) + Say(Step::kSleep) + Say(Step::kWord, uint8_t{1}, uint64_t{128}) +
          Say(Step::kSleep),
      grant + operate(0, 7, 0, 100) + operate(1, 7, 7900, 100) +
          Say(Step::kOperate, uint8_t{2}, uint8_t{7}, uint32_t{8}) +
          Say(Step::kOperate, uint8_t{3}, uint8_t{7}, uint32_t{8}) + operate(1, 7, 7901, 100),
      unasked + Say(Step::kLook) + operate(0, 7, 0, 8),
      read_only + operate(0, 8, 0, 100) + operate(1, 8, 0, 8),
      Say(Step::kPass, uint8_t{7}) + Say(Step::kPass, uint8_t{2}) + grant + grant + Say(Step::kLook),
      Say(Step::kSay, uint8_t{5}, uint8_t{0}, uint8_t{0}, uint32_t{0}, uint8_t{3}) + Say(Step::kLook) +
          Say(Step::kWord, uint8_t{3}, uint64_t{1}) + Say(Step::kSend, uint16_t{8}) +
          Say(Step::kBytes, Piece("bytes")) + read,
      grant + Say(Step::kLeave) + read + operate(0, 7, 0, 8),
      Say(Step::kScribble, uint32_t{0}, Piece(std::string(64, '\x01'))) + read + Say(Step::kSend, uint16_t{1000}),
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
