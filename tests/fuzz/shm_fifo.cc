// Whatever a peer writes into its FIFO and into its words, the reader leaves the FIFO nowhere and gives no byte twice.
// And what it says it has consumed leads the writer nowhere else either.
//
//   input = u8 messages read before | u64 published, from there | u64 consumed, by the peer | the FIFO, from there
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "core/channel/shm/fifo_reader.h"
#include "core/channel/shm/fifo_writer.h"
#include "core/channel/shm/handover.h"
#include "core/wire/bytes.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/out_item.h"

namespace skein::fuzz {
namespace {

using channel::InMessage;
using channel::OutItem;
using channel::shm::FifoReader;
using channel::shm::FifoWriter;
using channel::shm::kMarker;
using channel::shm::kUnit;
using channel::shm::MessageHeader;

constexpr size_t kFifoBytes = 4096;
constexpr size_t kHistoryBytes = 500;  // payload of each message read before

std::string Input(uint8_t history, uint64_t published, uint64_t consumed, absl::string_view content) {
  std::string input;
  wire::Put(input, history);
  wire::Put(input, published);
  wire::Put(input, consumed);
  input.append(content.data(), content.size());
  return input;
}

std::string MessageBytes(MessageHeader header, size_t bytes) {
  std::string message;
  wire::Put(message, header);
  message.resize(std::max(channel::shm::Footprint(bytes), kUnit));
  return message;
}
std::string Empty() { return MessageBytes({16, 1, 0}, 16); }
std::string Marker() { return MessageBytes({kMarker, 0, 0}, 0); }

absl::Status Lay(FifoWriter& writer, size_t payload) {
  static const std::string kText(kFifoBytes, 'h');
  const absl::Span<const std::byte> part(reinterpret_cast<const std::byte*>(kText.data()), payload);
  OutItem item;
  Carry(item, {&part, 1});
  return writer.Lay({&item, 1}, 0);
}

// Copies what is there, as a link does; AddressSanitizer sees who leaves the FIFO.
void ReadAll(FifoReader& reader, uint64_t published) {
  uint64_t before = reader.position();
  for (;;) {
    const bool readable = reader.Readable();
    const absl::Status looked = reader.Look();
    Require(looked.ok() || absl::IsDataLoss(looked), "a message, none, or DATA_LOSS");
    if (!looked.ok()) {
      Require(readable && reader.Readable() && absl::IsDataLoss(reader.Look()), "for ever");
      return;
    }
    Require(readable || !reader.next().has_value(), "Readable misses no message");
    if (!reader.next().has_value()) break;
    for (wire::ItemWalk walk = reader.next()->walk(); !walk.done();) {
      const absl::StatusOr<wire::Item> item = walk.Next();
      if (!item.ok()) break;
      const auto exact = std::make_unique<std::byte[]>(item->payload.size() + 1);
      if (!item->payload.empty()) std::memcpy(exact.get(), item->payload.data(), item->payload.size());
    }
    reader.Pop();
    Require(reader.position() > before && reader.position() <= published, "forwards, and no further than published");
    before = reader.position();
  }
  Require(before == published, "nothing is left");
}

}  // namespace

std::vector<std::string> Seeds() {
  std::string inside(kFifoBytes, '\0');
  for (size_t at = 0; at + kUnit <= inside.size(); at += kUnit) inside.replace(at, kUnit, Empty());
  return {Input(0, 3 * kUnit, 0, Empty() + MessageBytes({50, 2, 7}, 50) + Empty()),
          Input(5, 2 * kUnit, 64, Marker() + Empty()), Input(5, 0, 3072, ""), Input(3, 40 * kUnit, 128, inside),
          Input(0, kUnit, 0, Marker())};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  skein::wire::FieldReader input(Text(data, size));
  const int history = input.Take<uint8_t>() % 32;
  const auto published_more = input.Take<uint64_t>();
  const auto consumed_word = input.Take<uint64_t>();
  if (!input.ok()) return 0;
  const absl::string_view content = Text(data, size).substr(17, kFifoBytes);
  const auto memory = std::make_unique<std::byte[]>(kFifoBytes);
  const absl::Span<std::byte> fifo(memory.get(), kFifoBytes);
  std::atomic<uint64_t> published = 0;
  std::atomic<uint64_t> consumed = 0;
  FifoWriter writer(fifo, kFifoBytes, consumed);
  FifoReader reader(fifo, published, consumed);
  size_t offset = 0;  // of what the reader reads next
  for (int i = 0; i < history; ++i) {
    Require(Lay(writer, kHistoryBytes).ok(), "what was read makes space");
    published = writer.Commit(0);
    Require(reader.Look().ok() && reader.next().has_value(), "an honest message is read");
    const InMessage& next = *reader.next();
    offset = static_cast<size_t>(next.area.data() + next.area.size() - fifo.data() + kUnit - 1) & ~(kUnit - 1);
    reader.Pop();
  }
  // Now the peer turns hostile: as the reader's first, then as the writer's.
  const size_t first = std::min(content.size(), kFifoBytes - offset);
  std::memcpy(fifo.data() + offset, content.data(), first);
  std::memcpy(fifo.data(), content.data() + first, content.size() - first);
  published = published + published_more;
  ReadAll(reader, published);
  std::atomic<uint64_t> claimed = 0;
  FifoWriter other(fifo, kFifoBytes, claimed);
  for (int i = 0; i < 3 + history; ++i) {
    if (Lay(other, (i * 211) % 900).ok()) other.Commit(0);
    if (i == history) claimed = consumed_word;
    Require(other.Space(0) < kFifoBytes, "no more than the FIFO");
  }
  return 0;
}
