// A link whose peer is hostile: whatever is in the ring, and however it changes while it is read, the link delivers to
// its ports what was there, or ends, and tells each port once.
//
//   input = u8 active | steps: those of the peer, or of the victim
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "core/link/link.h"
#include "core/link/shares.h"
#include "tests/fuzz/peer_seeds.h"
#include "tests/support/ring_link.h"

namespace skein::fuzz {
namespace {

using wire::ItemKind;

enum class VictimStep : uint8_t {
  kPoll = kPeerSteps,
  kSend,     // u8 port | piece
  kBlocks,   // u8 port | u16 size
  kControl,  // u8 port | u8 kind
  kTalk,     // u8: so many messages, and the credits for them
  kRemove,   // u8 port
  kFlush,    //
  kLater,    // u16 offset | piece: the peer writes so into the ring while a port is told something, the next time
  kClock,    // u8 ms: so much later
  kArm,      //
  kDrain,    //
  kLeave,    //
};
constexpr size_t kSteps = kPeerSteps + 12;
constexpr int kMostSteps = 200;
constexpr size_t kMostPulled = 1 << 20;

struct Change {
  uint16_t offset = 0;
  std::string bytes;
};

// Looks at all it is given. While it does, the peer changes the ring.
class ChangingPort final : public link::Port {
 public:
  ChangingPort(uint32_t stream, std::function<void()> change) : Port(stream), change_(std::move(change)) {}
  absl::Status OnData(absl::Span<const std::byte> payload) override {
    Look(payload);
    change_();
    Look(payload);
    return Told();
  }
  absl::StatusOr<bool> OnBlock(size_t size) override {
    Require(size <= wire::kMaxBlockBytes, "a block's size");
    announced_ += size;
    return announced_ <= kMostPulled;
  }
  void OnPulled(ReceivedBytes bytes, size_t size) override { Look({bytes.get(), size}); }
  absl::Status OnOpen(uint64_t) override { return Told(); }
  absl::Status OnWindow(uint64_t) override { return Told(); }
  absl::Status OnCloseWrite() override { return Told(); }
  void OnAbort(std::string text) override {
    Require(text.size() <= wire::kMaxAbortTextBytes, "an abort's text is short");
    Told().IgnoreError();
  }
  void OnSpace() override {}
  void OnLost(const absl::Status& why) override {
    Require(!why.ok() && !lost_, "lost once, with a reason");
    lost_ = true;
  }
  void Notify() override { change_(); }
  bool lost() const { return lost_; }
  bool removed = false;

 private:
  absl::Status Told() {
    Require(!lost_, "nothing comes after the end");
    change_();
    return absl::OkStatus();
  }
  void Look(absl::Span<const std::byte> bytes) {
    for (const std::byte byte : bytes) sum_ = sum_ + static_cast<uint8_t>(byte);
  }

  const std::function<void()> change_;
  size_t announced_ = 0;
  bool lost_ = false;
  volatile uint64_t sum_ = 0;  // so that every byte given is looked at
};

class Victim {
 public:
  explicit Victim(bool active) {
    shares_->Join([] {}).IgnoreError();
    if (active) {
      const std::string answer = peer_.Accept(link_->Offer().value());
      Require(link_->Complete({answer, peer_.ring()}).ok(), "it connects");
      Poll();
      peer_.Attach(wire::DecodeRingDescriptor(peer_.LastReceived(ItemKind::kHello)).value());
    } else {
      const link::Link::Answer accepted = link_->Accept(peer_.Offer()).value();
      peer_.Complete(accepted.connection);
      peer_.Attach(accepted.ring);
    }
    for (const uint32_t stream : {1, 2}) AddPort(active ? stream : link_->ports().NewNumber());
  }
  ~Victim() {
    link_->Close();
    Poll();
    Require(link_->finished(), "a closed link ends");
    for (const auto& port : ports_) Require(port->lost() != port->removed, "and each port hears of it");
  }

  void Do(size_t step, Script& script) {
    if (step < kPeerSteps) return peer_.Do(static_cast<PeerStep>(step), script);
    switch (static_cast<VictimStep>(step)) {
      case VictimStep::kPoll:
        return Poll();
      case VictimStep::kSend: {
        ChangingPort& port = *Port(script);
        Send(port, script.Piece());
        return;
      }
      case VictimStep::kBlocks: {
        ChangingPort& port = *Port(script);
        const std::string bytes(script.Take<uint16_t>(), 'b');
        const link::ConstBytes part = Bytes(bytes);
        if (!port.removed) link_->SendBlocks(port, {&part, 1}, bytes.size()).IgnoreError();
        return;
      }
      case VictimStep::kControl: {
        const auto port = Port(script);
        const ItemKind kinds[] = {ItemKind::kOpen, ItemKind::kCloseWrite, ItemKind::kAbort};
        if (!port->removed) link_->SendControl(port, kinds[script.Choice(3)], std::string(8, '\0'));
        return;
      }
      case VictimStep::kTalk: {
        for (int messages = script.Take<uint8_t>(); messages > 0; --messages) {
          Send(*ports_[0], "word");
          if (messages % 16 == 0) peer_.Grant();
        }
        return Poll();
      }
      case VictimStep::kRemove: {
        const auto port = Port(script);
        port->removed |= !port->lost();
        link_->ports().Remove(port->stream());
        return;
      }
      case VictimStep::kFlush:
        link_->flushing().Flushed();
        return;
      case VictimStep::kLater: {
        const auto offset = script.Take<uint16_t>();
        later_.push_back({offset, std::string(script.Piece())});
        return;
      }
      case VictimStep::kClock:
        now_ += absl::Milliseconds(script.Take<uint8_t>());
        shares_->Poll();
        return;
      case VictimStep::kArm:
        link_->Arm();
        return;
      case VictimStep::kDrain:
        Require(link_->Drain(), "nobody else polls");
        return;
      case VictimStep::kLeave:
        return link_->Leave();
    }
  }

  void Poll() {
    int turns = 0;
    for (bool any = true; any; Require(++turns < 10'000, "polling comes to an end")) {
      simulation_.RunUntilIdle();
      any = link_->Poll();
      any |= simulation_.pending_events() > 0;
    }
  }

 private:
  static link::ConstBytes Bytes(absl::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
  }
  std::shared_ptr<ChangingPort> Port(Script& script) { return ports_[script.Choice(ports_.size())]; }
  void Send(ChangingPort& port, absl::string_view text) {
    const link::ConstBytes part = Bytes(text);
    if (!port.removed) link_->Send(port, {&part, 1}, text.size()).IgnoreError();
  }
  void AddPort(uint32_t stream) {
    ports_.push_back(std::make_shared<ChangingPort>(stream, [this] { ChangeRing(); }));
    Require(link_->ports().Add(ports_.back()).ok(), "a port is added");
  }
  void ChangeRing() {
    if (later_.empty()) return;
    const Change change = std::move(later_.back());
    later_.pop_back();
    peer_.WriteAt(change.offset, change.bytes);
  }
  link::LinkOptions Options() {
    link::LinkOptions options;
    options.ring_bytes = wire::kRingGranule;
    options.takes_blocks = true;
    options.shares = shares_;
    return options;
  }

  fabric::Simulation simulation_{20261121};
  RingPeer peer_{simulation_};
  absl::Time now_ = absl::UnixEpoch();
  // With another peer, whom there is no place for besides.
  const std::shared_ptr<link::Shares> shares_ =
      std::make_shared<link::Shares>(1, link::Shares::kTurn, [this] { return now_; });
  std::shared_ptr<link::Link> link_ = link::LinkOn(simulation_.CreateDevice("victim"), Options());
  std::vector<std::shared_ptr<ChangingPort>> ports_;
  std::vector<Change> later_;
};

}  // namespace

std::vector<std::string> Seeds() {
  const std::string passive(1, '\0');
  const std::string active(1, '\1');
  const std::string poll = Say(VictimStep::kPoll);
  const std::string hello = Say(PeerStep::kHello);
  const std::string data = ItemStep(ItemKind::kData, 1, "some bytes");
  const std::string two = wire::RawItem(ItemKind::kData, 1, 2, "abc") + wire::RawItem(ItemKind::kData, 2, 0, "d");
  return {
      passive + hello + ItemStep(ItemKind::kOpen, 1, Number(1000)) + data + poll +
          ItemStep(ItemKind::kWindow, 1, Number(5)) + Say(PeerStep::kMessage, uint16_t{0}, uint8_t{2}, Piece(two)) +
          ItemStep(ItemKind::kCloseWrite, 1) + ItemStep(ItemKind::kAbort, 2, "why") + poll,
      passive + hello + Say(PeerStep::kBlock, uint8_t{1}, uint8_t{3}, uint16_t{1000}) + poll +
          Say(VictimStep::kBlocks, uint8_t{0}, uint16_t{4000}) + ItemStep(ItemKind::kPulled, 0, Number(0)) + poll,
      passive + hello + Say(PeerStep::kPad, uint16_t{500}) + poll + Say(PeerStep::kPad, uint16_t{500}) + poll +
          Say(PeerStep::kWrap) + data + poll + Say(PeerStep::kNotify, uint32_t{1u << 16}) + poll,
      passive + hello + poll + Say(PeerStep::kNotify, uint32_t{1u << 16}) + poll +
          Say(VictimStep::kClock, uint8_t{20}) + Say(PeerStep::kNotify, uint32_t{1u << 16 | 7}) + poll +
          Say(VictimStep::kArm) + data + Say(VictimStep::kDrain) + Say(VictimStep::kLeave) + poll,
      active + data + poll + Say(VictimStep::kTalk, uint8_t{255}) + Say(VictimStep::kTalk, uint8_t{255}) +
          ItemStep(ItemKind::kBye, 0) + poll,
      active + Say(VictimStep::kLater, uint16_t{64}, Piece(std::string(128, '\xff'))) +
          Say(PeerStep::kMessage, uint16_t{0}, uint8_t{2}, Piece(two)) + poll + Say(VictimStep::kFlush) + poll,
      active + Say(VictimStep::kSend, uint8_t{0}, Piece("bytes")) + Say(VictimStep::kControl, uint8_t{1}, uint8_t{1}) +
          Say(PeerStep::kSay, uint8_t{1}, uint8_t{1}, uint8_t{0}, uint8_t{0}, uint8_t{5}) + poll +
          Say(PeerStep::kSay, uint8_t{0}, uint8_t{1}, uint8_t{0}, uint8_t{0}, uint8_t{1}) + poll +
          Say(VictimStep::kRemove, uint8_t{0}) + data + poll,
  };
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  Script script(Text(data, size));
  Victim victim(script.Choice(2) == 1);
  for (int steps = 0; steps < kMostSteps && !script.done(); ++steps) victim.Do(script.Choice(kSteps), script);
  victim.Poll();
  return 0;
}
