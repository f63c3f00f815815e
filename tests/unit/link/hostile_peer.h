// A peer that knows the ring's secret, as a link's peer does, and writes into the ring whatever it likes.
#ifndef SKEIN_TESTS_UNIT_LINK_HOSTILE_PEER_H_
#define SKEIN_TESTS_UNIT_LINK_HOSTILE_PEER_H_

#include <cstring>
#include <string>
#include <vector>

#include "core/channel/ring/ring_reader.h"
#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "core/wire/bytes.h"
#include "core/wire/control.h"
#include "core/wire/ring_descriptor.h"
#include "gtest/gtest.h"
#include "tests/support/fabric_end.h"
#include "tests/support/raw_message.h"
#include "tests/support/ring_message.h"

namespace skein::link {

class HostilePeer {
 public:
  explicit HostilePeer(fabric::Simulation& simulation, absl::string_view device = "hostile")
      : simulation_(simulation), end_(simulation.CreateDevice(device), 2 * wire::kRingGranule + wire::kControlBytes) {}

  std::string Offer() { return end_.queue_pair->Offer().value(); }
  std::string Accept(absl::string_view offer) { return end_.queue_pair->Accept(offer).value(); }
  // Where to write, once connected; `answer` is empty if this peer has accepted.
  void Attach(const wire::RingDescriptor& victims, absl::string_view answer = {}) {
    if (!answer.empty()) {
      ASSERT_TRUE(end_.queue_pair->Complete(answer).ok());
    }
    victims_ = victims;
    for (int i = 0; i < 64; ++i) ASSERT_TRUE(fabric::PostReceive(*end_.queue_pair, {}).ok());
  }

  // The second half of its memory, the first being what it writes from.
  wire::RingDescriptor ring() const {
    const fabric::RemoteAddress at = end_.Remote(wire::kRingGranule);
    return {at.address, wire::kRingGranule, kOwnSecret, at.rkey};
  }
  std::string Hello() const { return wire::RawItem(wire::ItemKind::kHello, 0, 0, wire::EncodeRingDescriptor(ring())); }

  // The ring that an active victim has told of; one of size 0 if it has not.
  wire::RingDescriptor ReceivedHello() const {
    const std::vector<std::string> hellos = Received(wire::ItemKind::kHello);
    return hellos.empty() ? wire::RingDescriptor{}
                          : wire::DecodeRingDescriptor(hellos[0]).value_or(wire::RingDescriptor{});
  }
  // The payloads of all items of that kind that the victim has sent; out of the first ring full.
  std::vector<std::string> Received(wire::ItemKind kind) const {
    channel::RingReader reader(end_.memory->bytes().subspan(wire::kRingGranule, wire::kRingGranule), kOwnSecret);
    std::vector<std::string> payloads;
    for (; reader.Next().value().has_value(); reader.Pop()) {
      for (wire::ItemWalk items = ItemsOf(*reader.Next().value()); !items.done();) {
        const wire::Item item = items.Next().value();
        if (item.header.kind == kind) payloads.push_back(wire::CopyOf(item.payload));
      }
    }
    return payloads;
  }

  // Writes the next message, whose header is `header` but for length and canary.
  void Write(const wire::MessageHeader& header, absl::string_view items) {
    const std::string message = wire::RawMessage(victims_.secret, number_++, header, items);
    const uint64_t at = written_ % victims_.size;
    ASSERT_LE(message.size(), wire::kRingGranule);
    ASSERT_LE(at + message.size(), victims_.size) << "tests are too short to need a wrap";
    end_.Put(0, message);
    ASSERT_TRUE(fabric::Post(*end_.queue_pair, fabric::Opcode::kWriteWithImmediate, end_.Local(0, message.size()),
                             {victims_.address + at, victims_.rkey})
                    .ok());
    written_ += message.size();
    simulation_.RunUntilIdle();
    TakeCompletions();
  }
  void Write(uint32_t items, absl::string_view bytes) {
    wire::MessageHeader header;
    header.items = items;
    Write(header, bytes);
  }
  void WriteItem(absl::string_view item) { Write(1, item); }
  void WriteItem(wire::ItemKind kind, uint32_t stream, uint32_t sequence, absl::string_view payload = {}) {
    WriteItem(wire::RawItem(kind, stream, sequence, payload));
  }

  // What it says of itself.
  wire::Control says = {.open = true};
  void Say() { SayWords(wire::EncodeControl(says, victims_.secret)); }
  void SayWords(const wire::ControlLine& line) {
    end_.Put(0, {reinterpret_cast<const char*>(line.data()), sizeof(line)});
    ASSERT_TRUE(fabric::Post(*end_.queue_pair, fabric::Opcode::kWriteWithImmediate, end_.Local(0, sizeof(line)),
                             {victims_.address + victims_.size, victims_.rkey})
                    .ok());
    simulation_.RunUntilIdle();
    TakeCompletions();
  }
  void Grant() {
    ++says.answers;
    ++says.refills;
    says.open = true;
    Say();
  }
  // What the victim has said of itself.
  wire::Control heard() const {
    wire::ControlLine line;
    std::memcpy(line.data(), end_.at(2 * wire::kRingGranule), sizeof(line));
    return wire::DecodeControl(line, kOwnSecret)->value_or(wire::Control{});
  }

  // A WRITE_WITH_IMM of no bytes.
  void Ring(uint32_t immediate) {
    fabric::SendRequest notification =
        fabric::Request(fabric::Opcode::kWriteWithImmediate, {}, {victims_.address, victims_.rkey});
    notification.immediate = immediate;
    ASSERT_TRUE(fabric::Post(*end_.queue_pair, notification).ok());
    simulation_.RunUntilIdle();
    TakeCompletions();
  }

  uint64_t victims_secret() const { return victims_.secret; }
  bool cut_off() { return end_.queue_pair->state() == fabric::QueuePairState::kError; }

 private:
  static constexpr uint64_t kOwnSecret = 1;

  void TakeCompletions() {
    for (const fabric::Completion& completion : end_.Poll()) {
      const bool receive = completion.opcode == fabric::Opcode::kReceiveWithImmediate;
      // In vain once the victim has cut it off.
      if (receive) fabric::PostReceive(*end_.queue_pair, {}).IgnoreError();
    }
  }

  fabric::Simulation& simulation_;
  fabric::End end_;
  wire::RingDescriptor victims_;
  uint64_t number_ = 0;
  uint64_t written_ = 0;
};

inline void PollAll(fabric::Simulation& simulation, absl::Span<Link* const> links) {
  for (bool any = true; any;) {
    simulation.RunUntilIdle();
    any = false;
    for (Link* link : links) any |= link->Poll();
    any |= simulation.pending_events() > 0;
  }
}

inline std::string NumberPayload(uint64_t number) {
  std::string bytes;
  wire::Put(bytes, number);
  return bytes;
}

}  // namespace skein::link

#endif  // SKEIN_TESTS_UNIT_LINK_HOSTILE_PEER_H_
