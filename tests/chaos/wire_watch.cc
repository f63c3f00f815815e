#include "tests/chaos/wire_watch.h"

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
  if (TakesReceive(request)) OnBell(wire, wires_[wire.peer]);
  const bool writes = request.opcode == fabric::Opcode::kWrite || request.opcode == fabric::Opcode::kWriteWithImmediate;
  const auto ring = rings_.find(request.remote.rkey);
  if (!writes || ring == rings_.end()) return;
  const std::vector<std::byte> message = BytesOf(request);
  if (message.size() >= sizeof(wire::MessageHeader)) {
    const bool renews = request.opcode == fabric::Opcode::kWriteWithImmediate && request.immediate != wire::kBell;
    OnMessage(wire, ring->second, request.remote.address - ring->second.address, message, renews);
  }
}

void WireWatch::OnBell(Wire& wire, const Wire& peer) {
  // What goes to an end that has failed takes no receive.
  if (peer.inner->state() == fabric::QueuePairState::kError) return;
  journal_.Count(Sight::kBell);
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
  const uint64_t begin = wire.tail;
  wire.tail += message.size();
  journal_.Check(wire.tail - peer.read_head <= ring.size, "written up to ", wire.tail, ", read up to ", peer.read_head,
                 ", in a ring of ", ring.size);
  wire::MessageHeader header;
  std::memcpy(&header, message.data(), sizeof(header));
  journal_.Check(header.head >= wire.read_head, "read up to ", wire.read_head, ", then only to ", header.head);
  journal_.Check(header.head <= peer.tail, "read up to ", header.head, ", where the peer wrote ", peer.tail);
  wire.read_head = header.head;
  if ((header.flags & wire::kWrap) != 0) return;
  CreditModel::Message seen{.renews = renews, .head = header.head};
  LookAtItems(wire, message, seen);
  OnCredits(wire, header, begin, seen);
  journal_.Count(Sight::kMessage);
  if (seen.head_only) journal_.Count(Sight::kHead);
  if (renews) journal_.Count(Sight::kRenewal);
}

void WireWatch::OnCredits(Wire& wire, const wire::MessageHeader& header, uint64_t begin,
                          const CreditModel::Message& message) {
  const std::string wrong = wire.credits.OnPosted(message);
  journal_.Check(wrong.empty(), wrong);
  CreditModel& peers = wires_[wire.peer].credits;
  if ((header.flags & wire::kGrant) != 0) peers.OnWord(CreditModel::Word::kGrant, begin);
  if ((header.flags & wire::kDecline) != 0) peers.OnWord(CreditModel::Word::kDecline, begin);
  if ((header.flags & wire::kActivate) != 0) peers.OnWord(CreditModel::Word::kActivate, begin);
}

void WireWatch::LookAtItems(Wire& wire, absl::Span<const std::byte> bytes, CreditModel::Message& message) {
  wire::MessageHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  message.word = message.renews || (header.flags & ~wire::kPresence) != 0;
  message.head_only = true;
  const size_t around = sizeof(header) + sizeof(uint64_t);
  wire::ItemWalk items(header.items, bytes.subspan(sizeof(header), bytes.size() - around));
  while (!items.done()) {
    const absl::StatusOr<wire::Item> item = items.Next();
    if (!item.ok()) return journal_.Violate("a message of bad items");
    const wire::ItemKind kind = item->header.kind;
    message.data |= kind == wire::ItemKind::kData || kind == wire::ItemKind::kBlock;
    message.head_only &= kind == wire::ItemKind::kHead;
    if (kind != wire::ItemKind::kWindow) continue;
    uint64_t window = 0;
    std::memcpy(&window, item->payload.data(), std::min(sizeof(window), item->payload.size()));
    wire.end->GiveBack(item->header.stream, window);
    journal_.Count(Sight::kWindow);
  }
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
