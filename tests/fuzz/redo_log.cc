// Any bytes in a storage are a log and a ledger, or an error, and then nothing of it was changed.
#include <cstring>
#include <memory>
#include <utility>

#include "core/durable/ledger/ledger.h"
#include "core/durable/log/checksum.h"
#include "core/durable/log/recovery.h"
#include "core/durable/sim/simulated_medium.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {
namespace {

using durable::sim::Granule;
using durable::sim::SimulatedMedium;

constexpr uint64_t kRing = 4096;

durable::LedgerOptions Options() {
  durable::LedgerOptions options;
  options.clients = 3;
  options.outcome_room = 32;
  return options;
}

// The pages before the ring hold 48 and 2 x 32 bytes; an input has these and the ring, so that mutants hit what counts.
struct Front {
  durable::LogHeader header;
  durable::HeadSlot slots[2];
};

std::string ToStorage(absl::string_view input) {
  std::string bytes(durable::kRingOffset + kRing, '\0');
  Front front;
  std::memcpy(&front, input.data(), std::min(input.size(), sizeof(front)));
  input.remove_prefix(std::min(input.size(), sizeof(front)));
  std::memcpy(bytes.data(), &front.header, sizeof(front.header));
  for (const uint64_t slot : {0, 1}) {
    std::memcpy(bytes.data() + durable::SlotOffset(slot), &front.slots[slot], sizeof(front.slots[slot]));
  }
  std::memcpy(bytes.data() + durable::kRingOffset, input.data(), std::min<size_t>(input.size(), kRing));
  return bytes;
}

std::string FromStorage(const std::string& bytes) {
  return bytes.substr(0, sizeof(durable::LogHeader)) + bytes.substr(durable::SlotOffset(0), sizeof(durable::HeadSlot)) +
         bytes.substr(durable::SlotOffset(1), sizeof(durable::HeadSlot)) + bytes.substr(durable::kRingOffset);
}

// Not so high that the next opening would be one too many.
constexpr uint32_t kMostEpoch = 1000;

// Makes the checksums right again, of what looks at all like a log: mutants would otherwise end there.
void Seal(std::string& bytes) {
  durable::LogHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const durable::LogHeader sealed = durable::MakeLogHeader(header.size, header.identity);
  std::memcpy(&header.checksum, &sealed.checksum, sizeof(sealed.checksum));
  std::memcpy(bytes.data(), &header, sizeof(header));
  for (const uint64_t parity : {0, 1}) {
    durable::HeadSlot slot;
    std::memcpy(&slot, bytes.data() + durable::SlotOffset(parity), sizeof(slot));
    slot.epoch %= kMostEpoch;
    slot = durable::MakeHeadSlot(header.identity, slot);
    std::memcpy(bytes.data() + durable::SlotOffset(parity), &slot, sizeof(slot));
  }
  for (uint64_t place = 0; place < kRing; place += durable::kEntryUnit) {
    durable::EntryHeader entry;
    char* const at = bytes.data() + durable::kRingOffset + place;
    std::memcpy(&entry, at, sizeof(entry));
    if (entry.size > kRing - place - sizeof(entry)) continue;
    for (uint64_t lap = 0; lap < 3; ++lap) {
      const uint64_t position = lap * kRing + place;
      if (entry.stamp != durable::Stamp(header.identity, position)) continue;
      const durable::EntryHeader again =
          durable::MakeEntryHeader(header.identity, entry.settled, durable::EpochOf(entry) % kMostEpoch,
                                   {.position = position,
                                    .kind = entry.kind,
                                    .client = entry.client,
                                    .sequence = entry.sequence,
                                    .tag = entry.tag,
                                    .payload = {at + sizeof(entry), entry.kind == durable::kPad ? 0 : entry.size}});
      std::memcpy(at, &again.operator_word, sizeof(again.operator_word));
    }
  }
}

int EntriesIn(const std::string& bytes) {
  int entries = 0;
  const auto count = [&entries](const durable::Entry&) { return ++entries, absl::OkStatus(); };
  auto medium = std::make_shared<SimulatedMedium>(bytes, Granule::kSector, 1);
  return durable::Recover(*medium->Open(), count).ok() ? entries : -1;
}

void Open(const std::string& bytes) {
  auto medium = std::make_shared<SimulatedMedium>(bytes, Granule::kSector, 1);
  auto ledger = durable::Ledger::Open(medium->Open(), Options());
  if (!ledger.ok()) {
    Require(!ledger.status().message().empty(), "a reason");
    return;
  }
  // It is a ledger like any other: what is unfinished can be finished, and a new client be served.
  for (int i = 0; i < 100; ++i) {
    auto request = (*ledger)->Take();
    Require(request.ok(), "what is unfinished can be read");
    if (!request->has_value()) break;
    (*ledger)->Finish((*request)->client, (*request)->sequence, "outcome", nullptr).IgnoreError();
    (*ledger)->Flush();
  }
  const durable::ClientId client = {200};
  (*ledger)->Accept(client, 1, "request", [](const auto&) {}).IgnoreError();
  Require((*ledger)->Persist().ok(), "it persists");
  ledger->reset();
  Require(durable::Ledger::Open(medium->Open(), Options()).ok(), "what was opened once opens again");
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  // The first ones of `requests` are executed; of 200 marks alone tell that.
  for (const auto& [requests, executed] : {std::pair{0, 0}, {3, 2}, {20, 6}, {200, 195}}) {
    auto medium = std::make_shared<SimulatedMedium>(durable::kRingOffset + kRing, Granule::kSector, 1);
    durable::LedgerOptions options = Options();
    options.log.identity = durable::LogId{1, 2, 3};
    auto ledger = *durable::Ledger::Open(medium->Open(), options);
    for (uint64_t i = 0; i < static_cast<uint64_t>(requests); ++i) {
      const durable::ClientId client = {static_cast<uint8_t>(i % 2)};
      ledger->Accept(client, 1 + i / 2, std::string(i % 70, 'r'), [](const auto&) {}).IgnoreError();
      ledger->Flush();
      if (i >= static_cast<uint64_t>(executed)) continue;
      const auto request = ledger->Take();
      Require(request.ok() && request->has_value(), "it is to be executed");
      Require(ledger->Finish(client, 1 + i / 2, "outcome", nullptr).ok(), "it is finished");
      ledger->Flush();
      ledger->Acknowledge(client, i / 4);
    }
    ledger.reset();
    std::string sealed = medium->bytes();
    Seal(sealed);
    Require(EntriesIn(sealed) == EntriesIn(medium->bytes()), "what is whole stays so when it is sealed");
    seeds.push_back(FromStorage(medium->bytes()));
  }
  return seeds;
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes = skein::fuzz::ToStorage(skein::fuzz::Text(data, size));
  skein::fuzz::Open(bytes);
  skein::fuzz::Seal(bytes);
  skein::fuzz::Open(bytes);
  return 0;
}
