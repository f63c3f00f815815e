// Whatever a peer writes into its side, the consumer copies nothing from beside it and nothing twice.
//
//   input = u8 records read before | u64 tail, from there | the mailbox, from there
#include <algorithm>
#include <cstring>
#include <memory>

#include "core/fabric/shm/mailbox.h"
#include "core/wire/bytes.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {
namespace {

using fabric::shm::kMailboxBytes;
using fabric::shm::Record;
using fabric::shm::RecordKind;

constexpr uint32_t kHistoryBytes = 8000;  // payload of each record read before; the fifth wraps

std::string Input(uint8_t history, absl::string_view records) {
  std::string input;
  wire::Put(input, history);
  wire::Put(input, uint64_t{records.size()});
  input.append(records.data(), records.size());
  return input;
}

std::string RecordBytes(RecordKind kind, uint32_t size) {
  std::string bytes;
  wire::Put(bytes, Record{kind, /*solicited=*/0, size, 7, size});
  bytes.append((size_t{size} + 15) / 16 * 16, 'r');
  return bytes;
}

void ConsumeAll(fabric::shm::MailboxConsumer& consumer, uint64_t available) {
  uint64_t consumed = 0;
  for (;;) {
    const absl::StatusOr<Record> record = consumer.Peek();
    if (!record.ok()) {
      Require(absl::IsNotFound(record.status()) || absl::IsDataLoss(record.status()), "NOT_FOUND or DATA_LOSS");
      if (absl::IsNotFound(record.status())) Require(consumed == available, "nothing is left");
      return;
    }
    Require(record->size <= fabric::shm::kMaxFragmentBytes, "a record's size");
    const auto exact = std::make_unique<std::byte[]>(record->size);
    consumer.Copy(*record, absl::MakeSpan(exact.get(), record->size));
    consumer.Copy(*record, absl::MakeSpan(exact.get(), record->size / 2));
    consumer.Pop(*record);
    consumed += 16 + (record->size + 15) / 16 * 16;
    Require(consumed <= available, "no more than was there");
  }
}

}  // namespace

std::vector<std::string> Seeds() {
  const std::string three = RecordBytes(RecordKind::kImmediate, 0) + RecordBytes(RecordKind::kFragment, 8192) +
                            RecordBytes(RecordKind::kLastFragment, 17);
  return {Input(0, three), Input(4, three), Input(3, RecordBytes(RecordKind::kFragment, 8192) + three), Input(0, "")};
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  skein::wire::FieldReader reader(Text(data, size));
  const int history = reader.Take<uint8_t>() % 16;
  const auto available = reader.Take<uint64_t>();
  if (!reader.ok()) return 0;
  const absl::string_view content = Text(data, size).substr(9, kMailboxBytes);
  // Each side on its own, so that AddressSanitizer sees who leaves it.
  const auto peer = std::make_unique<skein::fabric::shm::Side>();
  const auto own = std::make_unique<skein::fabric::shm::Side>();
  skein::fabric::shm::MailboxProducer producer(*peer, *own);
  skein::fabric::shm::MailboxConsumer consumer(*own, *peer);
  const std::string payload(kHistoryBytes, 'h');
  for (int i = 0; i < history; ++i) {
    Require(producer.Push({RecordKind::kLastFragment, /*solicited=*/0, kHistoryBytes, 0, 0},
                          reinterpret_cast<const std::byte*>(payload.data())),
            "what was read makes room");
    const absl::StatusOr<Record> record = consumer.Peek();
    Require(record.ok(), "an honest record is read");
    consumer.Pop(*record);
  }
  // Now the peer turns hostile.
  const size_t at = producer.position() % kMailboxBytes;
  const size_t first = std::min(content.size(), kMailboxBytes - at);
  std::memcpy(peer->mailbox + at, content.data(), first);
  std::memcpy(peer->mailbox, content.data() + first, content.size() - first);
  peer->tail.store(producer.position() + available, std::memory_order_release);
  ConsumeAll(consumer, available);
  return 0;
}
