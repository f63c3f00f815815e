// Any bytes in a storage are a flush ring, or an error; any bytes in a slot are an entry, or none; any bytes are an
// offer or an answer, or neither.
#include "core/durable/flush/flush_ring.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "core/durable/flush/handshake.h"
#include "core/durable/log/head_slot.h"
#include "core/durable/sim/simulated_medium.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {
namespace {

using durable::FlushEntry;
using durable::FlushRing;
using durable::HeaderPlace;
using durable::RingKey;
using durable::RingShape;
using durable::sim::Granule;
using durable::sim::SimulatedMedium;

constexpr RingShape kShape{.slot_bytes = 192, .slots = 5};
const durable::LogId kIdentity = {1, 2, 3};
// Of the pages before the slots, what counts: the ring's header, two openings, marks.
constexpr size_t kHeader = 48;
constexpr size_t kOpening = 32;
constexpr size_t kMarks = 8 * kShape.slots;

std::string ToStorage(absl::string_view input) {
  std::string bytes(StorageBytes(kShape), '\0');
  const auto put = [&](uint64_t offset, size_t size) {
    const absl::string_view part = input.substr(0, size);
    std::memcpy(bytes.data() + offset, part.data(), part.size());
    input.remove_prefix(part.size());
  };
  put(0, kHeader);
  put(durable::SlotOffset(0), kOpening);
  put(durable::SlotOffset(1), kOpening);
  put(durable::MarkOffset(0), kMarks);
  put(durable::SlotsOffset(kShape), durable::SlotsBytes(kShape));
  return bytes;
}
std::string FromStorage(const std::string& bytes) {
  return bytes.substr(0, kHeader) + bytes.substr(durable::SlotOffset(0), kOpening) +
         bytes.substr(durable::SlotOffset(1), kOpening) + bytes.substr(durable::MarkOffset(0), kMarks) +
         bytes.substr(durable::SlotsOffset(kShape));
}

std::string Ring(HeaderPlace place, uint64_t entries);

// Makes header, stamps and checksums right again: mutants would otherwise end there.
std::string Sealed(std::string bytes, HeaderPlace place) {
  static const std::string headers[] = {Ring(HeaderPlace::kLast, 0), Ring(HeaderPlace::kFirst, 0)};
  bytes.replace(0, kHeader, headers[place == HeaderPlace::kLast ? 0 : 1], 0, kHeader);
  for (const uint64_t parity : {0, 1}) {
    durable::HeadSlot opening;
    char* const at = bytes.data() + durable::SlotOffset(parity);
    std::memcpy(&opening, at, sizeof(opening));
    // Not so often that the next opening would be one too many.
    opening.number %= uint64_t{1} << 32;
    opening.epoch %= 1000;
    opening = MakeHeadSlot(kIdentity, opening);
    std::memcpy(at, &opening, sizeof(opening));
  }
  for (uint64_t slot = 0; slot < kShape.slots; ++slot) {
    char* const begin = bytes.data() + durable::SlotsOffset(kShape) + slot * kShape.slot_bytes;
    durable::FlushHeader header;
    std::memcpy(&header, begin + (place == HeaderPlace::kFirst ? 0 : kShape.slot_bytes - sizeof(header)),
                sizeof(header));
    if (header.size > LargestPayload(kShape)) continue;
    const std::string payload(
        begin + (place == HeaderPlace::kFirst ? sizeof(header)
                                              : kShape.slot_bytes - sizeof(header) - (header.size + 7) / 8 * 8),
        header.size);
    MakeFlushEntry({reinterpret_cast<std::byte*>(begin), kShape.slot_bytes}, place,
                   {.identity = kIdentity, .epoch = header.epoch}, header.client, header.sequence, header.settled,
                   payload);
  }
  return bytes;
}

void Open(const std::string& bytes, HeaderPlace place) {
  auto medium = std::make_shared<SimulatedMedium>(bytes, Granule::kSector, 1);
  std::vector<FlushEntry> unfinished;
  auto ring = FlushRing::Open(medium->Open(), kShape, place, unfinished);
  if (!ring.ok()) {
    Require(!ring.status().message().empty(), "a reason");
    return;
  }
  Require(unfinished.size() <= kShape.slots, "no more entries than slots");
  uint64_t before = (*ring)->head() - 1;
  for (const FlushEntry& entry : unfinished) {
    Require(entry.sequence > before && entry.sequence < (*ring)->next(), "in order");
    Require(entry.payload.size() <= LargestPayload(kShape), "out of its slot");
    before = entry.sequence;
  }
  // It is a ring like any other: what is unfinished can be finished, and stays so.
  std::vector<uint64_t> sequences;
  for (const FlushEntry& entry : unfinished) sequences.push_back(entry.sequence);
  Require((*ring)->Finish(sequences).ok(), "it finishes");
  ring->reset();
  unfinished.clear();
  ring = FlushRing::Open(medium->Open(), kShape, place, unfinished);
  Require(ring.ok(), "what was opened once opens again");
  Require(unfinished.empty(), "what was finished is not shown again");
}

// A peer's slot: whatever is in it.
void Take(absl::string_view input, HeaderPlace place) {
  std::string slot(kShape.slot_bytes, '\0');
  std::memcpy(slot.data(), input.data(), std::min(input.size(), slot.size()));
  for (const uint64_t sequence : {1, 2}) {
    const std::optional<FlushEntry> entry = TakeFlushEntry(
        {reinterpret_cast<const std::byte*>(slot.data()), slot.size()}, place, RingKey{.epoch = 1}, sequence);
    if (entry) Require(entry->payload.size() <= LargestPayload(kShape), "out of its slot");
  }
}

void Decode(absl::string_view input) {
  if (const auto offer = durable::DecodeOffer(input); offer.ok()) {
    Require(durable::DecodeOffer(EncodeOffer(*offer)).ok(), "an offer again");
  }
  if (const auto answer = durable::DecodeAnswer(input); answer.ok()) {
    Require(durable::DecodeAnswer(EncodeAnswer(*answer)).ok(), "an answer again");
  }
}

std::string Ring(HeaderPlace place, uint64_t entries) {
  auto medium = std::make_shared<SimulatedMedium>(StorageBytes(kShape), Granule::kSector, 1);
  std::vector<FlushEntry> none;
  auto ring = *FlushRing::Open(medium->Open(), kShape, place, none, kIdentity);
  for (uint64_t sequence = 1; sequence <= entries; ++sequence) {
    const FlushEntry entry{
        .sequence = sequence, .settled = sequence - 1, .payload = std::string(sequence * 13 % 129, 'r')};
    ring->Persist(sequence + 1, {&entry, 1}).IgnoreError();
    if (sequence + 3 > entries || sequence % 3 == 0) continue;
    ring->Finish(std::vector<uint64_t>{sequence}).IgnoreError();
  }
  return FromStorage(medium->bytes());
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const HeaderPlace place : {HeaderPlace::kLast, HeaderPlace::kFirst}) {
    for (const uint64_t entries : {0, 3, 5}) seeds.push_back(Ring(place, entries));
    std::string slot(kShape.slot_bytes, '\0');
    MakeFlushEntry({reinterpret_cast<std::byte*>(slot.data()), slot.size()}, place, RingKey{.epoch = 1}, {}, 1, 0,
                   "one");
    seeds.push_back(slot);
  }
  durable::FlushOffer offer;
  offer.queue_pair = "an offer";
  seeds.push_back(EncodeOffer(offer));
  durable::FlushAnswer answer;
  answer.key.epoch = 1;
  answer.queue_pair = "an answer";
  seeds.push_back(EncodeAnswer(answer));
  return seeds;
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input = skein::fuzz::Text(data, size);
  const std::string bytes = skein::fuzz::ToStorage(input);
  for (const auto place : {skein::durable::HeaderPlace::kLast, skein::durable::HeaderPlace::kFirst}) {
    skein::fuzz::Open(bytes, place);
    skein::fuzz::Open(skein::fuzz::Sealed(bytes, place), place);
    skein::fuzz::Take(input, place);
  }
  skein::fuzz::Decode(input);
  return 0;
}
