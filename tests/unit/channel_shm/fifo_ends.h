// The two ends of one FIFO, on memory of a test's own.
#ifndef SKEIN_TESTS_UNIT_CHANNEL_SHM_FIFO_ENDS_H_
#define SKEIN_TESTS_UNIT_CHANNEL_SHM_FIFO_ENDS_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "core/base/mapping.h"
#include "core/base/sealed_memory.h"
#include "core/channel/shm/fifo_reader.h"
#include "core/channel/shm/fifo_writer.h"
#include "core/channel/shm/handover.h"
#include "tests/support/out_item.h"

namespace skein::channel::shm {

inline constexpr size_t kFifoBytes = size_t{64} << 10;

class FifoEnds {
 public:
  explicit FifoEnds(size_t bytes = kFifoBytes, size_t reserved = kFirstBytes)
      : reserved_{0, reserved},
        memfd_(CreateSealedMemfd("fifo", bytes, {&reserved_, 1}).value()),
        memory_(Map(memfd_.get(), bytes).value()),
        writer(memory_.bytes(), reserved, consumed),
        reader(memory_.bytes(), published, consumed) {}

  // A message of one item.
  absl::Status Lay(const std::string& text, size_t reserve = 0) {
    const absl::Span<const std::byte> part(reinterpret_cast<const std::byte*>(text.data()), text.size());
    OutItem item;
    Carry(item, {&part, 1});
    return writer.Lay({&item, 1}, reserve);
  }
  void Publish() { Handover<>::Publish(published, writer.Commit(0), sleeps); }
  absl::Status Write(const std::string& text, size_t reserve = 0) {
    absl::Status laid = Lay(text, reserve);
    if (laid.ok()) Publish();
    return laid;
  }
  // The next message's text; "nothing", or why not.
  std::string Peek() {
    if (absl::Status status = reader.Look(); !status.ok()) return status.ToString();
    if (!reader.next().has_value()) return "nothing";
    std::string text;
    for (wire::ItemWalk walk = reader.next()->walk(); !walk.done();) {
      const absl::StatusOr<wire::Item> item = walk.Next();
      if (!item.ok()) return item.status().ToString();
      text.append(reinterpret_cast<const char*>(item->payload.data()), item->payload.size());
    }
    return text;
  }
  std::string Read() {
    std::string text = Peek();
    reader.Pop();
    return text;
  }
  std::byte* data() { return memory_.data(); }
  int memfd() const { return memfd_.get(); }

  std::atomic<uint64_t> published = 0;
  std::atomic<uint64_t> consumed = 0;
  std::atomic<uint32_t> sleeps = 0;

 private:
  const Range reserved_;
  UniqueFd memfd_;
  Mapping memory_;

 public:
  FifoWriter writer;
  FifoReader reader;
};

}  // namespace skein::channel::shm

#endif  // SKEIN_TESTS_UNIT_CHANNEL_SHM_FIFO_ENDS_H_
