// A peer that knows the ring's secret, as a link's peer does, and does what a script says, of which any order is
// possible: messages with the right canaries and anything in them, bytes anywhere in the ring, notifications.
#ifndef SKEIN_TESTS_FUZZ_RING_PEER_H_
#define SKEIN_TESTS_FUZZ_RING_PEER_H_

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/channel/ring/ring_reader.h"
#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "core/wire/bytes.h"
#include "core/wire/control.h"
#include "core/wire/ring_descriptor.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/script.h"
#include "tests/support/fabric_end.h"
#include "tests/support/raw_message.h"
#include "tests/support/ring_message.h"

namespace skein::fuzz {

enum class PeerStep : uint8_t {
  kItem,     // u8 kind | u8 stream | u8 that the sequence is wrong by | piece
  kMessage,  // u16 seen | u8 items | piece: with the right canaries
  kRaw,      // u16 offset | piece: anywhere in the ring
  kNotify,   // u32 immediate
  kBlock,    // u8 stream | u8 number | u16 size: of this peer's memory, announced
  kPad,      // u16 units: a message without items
  kWrap,     //
  kHello,    //
  kSay,      // u8 consumed | u8 wanted | u8 answers | u8 refills: so many more | u8 open, presence: a control line
};
constexpr size_t kPeerSteps = 9;

class RingPeer {
 public:
  explicit RingPeer(fabric::Simulation& simulation)
      : simulation_(simulation),
        end_(simulation.CreateDevice("hostile"), 2 * wire::kRingGranule + wire::kControlBytes) {}

  std::string Offer() { return end_.queue_pair->Offer().value(); }
  std::string Accept(absl::string_view offer) {
    const std::string answer = end_.queue_pair->Accept(offer).value();
    Listen();
    return answer;
  }
  void Complete(absl::string_view answer) {
    Require(end_.queue_pair->Complete(answer).ok(), "it connects");
    Listen();
  }
  // Where to write.
  void Attach(const wire::RingDescriptor& victims) { victims_ = victims; }
  // The second half of its memory, the first being what it writes from.
  wire::RingDescriptor ring() const {
    const fabric::RemoteAddress at = end_.Remote(wire::kRingGranule);
    return {at.address, wire::kRingGranule, kOwnSecret, at.rkey};
  }
  // The payload of the last item of that kind that the victim has sent, out of the first ring full.
  std::string LastReceived(wire::ItemKind kind) const {
    channel::RingReader reader(end_.memory->bytes().subspan(wire::kRingGranule, wire::kRingGranule), kOwnSecret);
    std::string payload;
    for (; reader.Next().value().has_value(); reader.Pop()) {
      for (wire::ItemWalk items = ItemsOf(*reader.Next().value()); !items.done();) {
        const wire::Item item = items.Next().value();
        if (item.header.kind == kind) payload = wire::CopyOf(item.payload);
      }
    }
    return payload;
  }

  void Do(PeerStep step, Script& script) {
    switch (step) {
      case PeerStep::kItem: {
        const auto kind = script.Take<wire::ItemKind>();
        const uint32_t stream = script.Take<uint8_t>();
        const uint32_t wrong = script.Take<uint8_t>();
        return Item(kind, stream, script.Piece(), wrong);
      }
      case PeerStep::kMessage: {
        wire::MessageHeader header;
        header.seen = script.Take<uint16_t>();
        header.items = script.Take<uint8_t>();
        return Message(header, script.Piece());
      }
      case PeerStep::kRaw: {
        const auto offset = script.Take<uint16_t>();
        return WriteAt(offset, script.Piece());
      }
      case PeerStep::kNotify:
        return Wakeup(script.Take<uint32_t>());
      case PeerStep::kBlock: {
        const uint32_t stream = script.Take<uint8_t>();
        const uint32_t number = script.Take<uint8_t>();
        const wire::Block block{ring().address, ring().rkey, script.Take<uint16_t>(), number};
        return Item(wire::ItemKind::kBlock, stream, wire::Encode(block), 0);
      }
      case PeerStep::kPad:
        return Message({}, std::string(script.Take<uint16_t>() % 512 * wire::kMessageUnit, '\0'));
      case PeerStep::kWrap:
        return Message({.items = wire::kWrap}, {});
      case PeerStep::kHello:
        return Item(wire::ItemKind::kHello, 0, wire::EncodeRingDescriptor(ring()), 0);
      case PeerStep::kSay: {
        says_.consumed += script.Take<uint8_t>() * wire::kMessageUnit;
        says_.wanted += script.Take<uint8_t>() * wire::kMessageUnit;
        says_.answers += script.Take<uint8_t>();
        says_.refills += script.Take<uint8_t>();
        return Say(script.Take<uint8_t>());
      }
    }
  }

  // An answer to the victim's request for credits.
  void Grant() {
    ++says_.answers;
    ++says_.refills;
    Say(/*open_and_presence=*/1);
  }
  // Bytes as they are, which nothing tells of; while the victim looks, too.
  void WriteAt(uint64_t offset, absl::string_view bytes) {
    const uint64_t end = victims_.size + wire::kControlBytes;
    if (offset >= victims_.size) offset = end - 1 - offset % wire::kControlBytes;
    if (victims_.size > 0) Post(fabric::Opcode::kWrite, offset, bytes.substr(0, end - offset));
  }

 private:
  static constexpr uint64_t kOwnSecret = 1;

  void Listen() {
    for (int i = 0; i < 64; ++i) fabric::PostReceive(*end_.queue_pair, {}).IgnoreError();
  }
  void Item(wire::ItemKind kind, uint32_t stream, absl::string_view payload, uint32_t wrong) {
    Message({.items = 1}, wire::RawItem(kind, stream, sequences_[stream]++ + wrong, payload));
  }
  void Message(const wire::MessageHeader& header, absl::string_view items) {
    const std::string message = wire::RawMessage(victims_.secret, number_, header, items);
    if (victims_.size == 0 || message.size() > victims_.size - written_ % victims_.size) return;
    Post(fabric::Opcode::kWriteWithImmediate, written_ % victims_.size, message);
    ++number_;
    const bool wrap = header.items == wire::kWrap;
    written_ += wrap ? victims_.size - written_ % victims_.size : message.size();
  }
  void Say(uint8_t open_and_presence) {
    wire::ControlLine line = wire::EncodeControl(says_, victims_.secret);
    line[2] |= static_cast<uint64_t>(open_and_presence & 3) << 32 | static_cast<uint64_t>(open_and_presence >> 2) << 40;
    line = wire::RawControl(line, victims_.secret);
    if (victims_.size == 0) return;
    Post(fabric::Opcode::kWriteWithImmediate, victims_.size,
         {reinterpret_cast<const char*>(line.data()), sizeof(line)});
  }
  void Wakeup(uint32_t immediate) {
    fabric::SendRequest notification =
        fabric::Request(fabric::Opcode::kWriteWithImmediate, {}, {victims_.address, victims_.rkey});
    notification.immediate = immediate;
    fabric::Post(*end_.queue_pair, notification).IgnoreError();
    Settle();
  }
  void Post(fabric::Opcode opcode, uint64_t offset, absl::string_view bytes) {
    end_.Put(0, bytes);
    // In vain once the victim has cut it off.
    fabric::Post(*end_.queue_pair, opcode, end_.Local(0, bytes.size()), {victims_.address + offset, victims_.rkey})
        .IgnoreError();
    Settle();
  }
  void Settle() {
    simulation_.RunUntilIdle();
    for (const fabric::Completion& completion : end_.Poll()) {
      const bool receive = completion.opcode == fabric::Opcode::kReceiveWithImmediate;
      if (receive) fabric::PostReceive(*end_.queue_pair, {}).IgnoreError();
    }
  }

  fabric::Simulation& simulation_;
  fabric::End end_;
  wire::RingDescriptor victims_{};
  uint64_t number_ = 0;
  uint64_t written_ = 0;
  wire::Control says_;
  std::map<uint32_t, uint32_t> sequences_;
};

}  // namespace skein::fuzz

#endif  // SKEIN_TESTS_FUZZ_RING_PEER_H_
