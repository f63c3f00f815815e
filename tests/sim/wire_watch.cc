#include "tests/sim/wire_watch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/wire/immediate.h"

namespace skein::chaos {
namespace {

std::vector<std::byte> BytesOf(const fabric::SendRequest& request) {
  std::vector<std::byte> bytes;
  for (const fabric::Segment& segment : request.local) {
    bytes.insert(bytes.end(), segment.data, segment.data + segment.size);
  }
  return bytes;
}

bool TakesReceive(const fabric::SendRequest& request) {
  return request.opcode == fabric::Opcode::kWriteWithImmediate || request.opcode == fabric::Opcode::kSend;
}

}  // namespace

void WireWatch::Add(uint64_t queue_pair, const fabric::QueuePair* inner, std::shared_ptr<Receives> receives,
                    std::shared_ptr<LinkEnd> end) {
  Wire& wire = wires_[queue_pair];
  wire.end = std::move(end);
  wire.inner = inner;
  wire.receives = std::move(receives);
}

void WireWatch::Remove(uint64_t queue_pair) {
  const auto wire = wires_.find(queue_pair);
  const auto peer = wires_.find(wire->second.peer);
  if (peer != wires_.end()) {
    wire->second.receives->under_way -= peer->second.under_way;
    peer->second.peer = 0;
    peer->second.under_way = 0;
    peer->second.receives->under_way -= wire->second.under_way;
  }
  wires_.erase(wire);
}

void WireWatch::Offer(uint64_t queue_pair, absl::string_view offer) { offers_[std::string(offer)] = queue_pair; }

void WireWatch::Accept(uint64_t queue_pair, absl::string_view offer) {
  const auto offered = offers_.find(offer);
  if (offered == offers_.end() || !wires_.contains(offered->second)) return;
  wires_[queue_pair].peer = offered->second;
  wires_[offered->second].peer = queue_pair;
  offers_.erase(offered);
}

void WireWatch::OnPosted(uint64_t queue_pair, const fabric::SendRequest& request) {
  Wire& wire = wires_[queue_pair];
  if (wire.peer == 0) return;
  if (TakesReceive(request)) OnWakeup(wire, wires_[wire.peer]);
  const bool writes = request.opcode == fabric::Opcode::kWrite || request.opcode == fabric::Opcode::kWriteWithImmediate;
  const auto ring = rings_.find(request.remote.rkey);
  if (!writes || ring == rings_.end()) return;
  const std::vector<std::byte> bytes = BytesOf(request);
  const bool renews = request.opcode == fabric::Opcode::kWriteWithImmediate && request.immediate != wire::kNotify;
  const uint64_t offset = request.remote.address - ring->second.address;
  if (offset == ring->second.size) {
    OnLine(wire, bytes, renews);
  } else if (bytes.size() >= sizeof(wire::MessageHeader)) {
    OnMessage(wire, ring->second, offset, bytes, renews);
  }
}

void WireWatch::OnWakeup(Wire& wire, const Wire& peer) {
  // What goes to an end that has failed takes no receive.
  if (peer.inner->state() == fabric::QueuePairState::kError) return;
  journal_.Count(Sight::kNotify);
  Receives& receives = *peer.receives;
  ++wire.under_way;
  ++receives.under_way;
  const uint64_t left = receives.posted - receives.taken;
  journal_.Check(receives.late || receives.under_way <= left, receives.under_way, " messages for ", left, " receives");
}

void WireWatch::OnMessage(Wire& wire, const Ring& ring, uint64_t offset, absl::Span<const std::byte> message,
                          bool renews) {
  Wire& peer = wires_[wire.peer];
  const uint64_t here = wire.tail % ring.size;
  journal_.Check(offset == here || offset == 0, "a message at ", offset, ", not behind the last at ", here);
  if (offset != here) wire.tail += ring.size - here;
  wire.tail += message.size();
  journal_.Check(wire.tail - peer.says.consumed <= ring.size, "written up to ", wire.tail, ", read up to ",
                 peer.says.consumed, ", in a ring of ", ring.size);
  wire::MessageHeader header;
  std::memcpy(&header, message.data(), sizeof(header));
  if (header.items == wire::kWrap) return;
  OnCredits(wire, {.message = true, .data = LookForData(wire, message), .renews = renews});
  journal_.Count(Sight::kMessage);
}

void WireWatch::OnLine(Wire& wire, absl::Span<const std::byte> bytes, bool renews) {
  // The check is under a secret that is none of this one's business.
  uint64_t words[3];
  if (bytes.size() != wire::kControlWords * sizeof(uint64_t)) return journal_.Violate("a control line of another size");
  std::memcpy(words, bytes.data(), sizeof(words));
  Wire& peer = wires_[wire.peer];
  const uint64_t consumed = words[0];
  const uint64_t wanted = words[1];
  journal_.Check(consumed >= wire.says.consumed, "read up to ", wire.says.consumed, ", then only to ", consumed);
  journal_.Check(consumed <= peer.tail, "read up to ", consumed, ", where the peer wrote ", peer.tail);
  journal_.Check(wanted >= wire.says.wanted && wanted <= wire.tail, "wants to hear of ", wanted, " after ",
                 wire.says.wanted, ", and has written ", wire.tail);
  wire.says.consumed = consumed;
  wire.says.wanted = wanted;
  OnCredits(wire, {.renews = renews});
  peer.credits.OnLine({.answers = static_cast<uint16_t>(words[2]),
                       .refills = static_cast<uint16_t>(words[2] >> 16),
                       .open = (words[2] >> 32 & 1) != 0});
  journal_.Count(Sight::kLine);
}

void WireWatch::OnCredits(Wire& wire, const CreditModel::Posted& posted) {
  if (posted.renews) journal_.Count(Sight::kRenewal);
  const std::string wrong = wire.credits.OnPosted(posted);
  journal_.Check(wrong.empty(), wrong);
}

bool WireWatch::LookForData(Wire& wire, absl::Span<const std::byte> bytes) {
  wire::MessageHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  bool data = false;
  const size_t around = sizeof(header) + sizeof(uint64_t);
  wire::ItemWalk items(header.items, bytes.subspan(sizeof(header), bytes.size() - around));
  while (!items.done()) {
    const absl::StatusOr<wire::Item> item = items.Next();
    if (!item.ok()) {
      journal_.Violate("a message of bad items");
      return data;
    }
    const wire::ItemKind kind = item->header.kind;
    data |= kind == wire::ItemKind::kData || kind == wire::ItemKind::kBlock;
    if (kind != wire::ItemKind::kWindow) continue;
    uint64_t window = 0;
    std::memcpy(&window, item->payload.data(), std::min(sizeof(window), item->payload.size()));
    wire.end->GiveBack(item->header.stream, window);
    journal_.Count(Sight::kWindow);
  }
  return data;
}

void WireWatch::OnReceived(uint64_t queue_pair) {
  const auto wire = wires_.find(queue_pair);
  if (wire == wires_.end()) return;
  ++wire->second.receives->taken;
  const auto peer = wires_.find(wire->second.peer);
  if (peer == wires_.end() || peer->second.under_way == 0) return;
  --peer->second.under_way;
  --wire->second.receives->under_way;
}

}  // namespace skein::chaos
