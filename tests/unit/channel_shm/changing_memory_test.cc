// Shared memory that its other owner changes while it is read: another process writes what is valid, and then changes
// words of it, a million times, while this one reads. fuzz_memory_changing changes them between calls only. The memory
// lies between pages that nobody may touch; its pages are taken away now and then, which sealing does not prevent.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "core/base/deadline.h"
#include "core/base/unique_fd.h"
#include "core/channel/ring/ring_reader.h"
#include "core/channel/shm/fifo_reader.h"
#include "core/channel/shm/layout.h"
#include "core/wire/bytes.h"
#include "gtest/gtest.h"
#include "tests/support/raw_message.h"
#include "tests/support/ring_message.h"

namespace skein::channel::shm {
namespace {

constexpr uint64_t kChanges = 1'000'000;
// Messages that were read, and that were refused. Beside programs that compute, the two processes meet a hundred times
// a second or less: one read and one refused are enough then, after half a minute.
constexpr uint64_t kEnough = 500;
constexpr absl::Duration kLong = absl::Seconds(30);
constexpr size_t kGuard = 4096;

using Bytes = absl::Span<std::byte>;

// Of the two processes.
struct Shared {
  std::atomic<uint64_t> at;       // where the reader looks next; relaxed, a hint
  std::atomic<uint64_t> changes;  // relaxed
};

void Change(std::byte* at, std::mt19937_64& random) {
  constexpr uint64_t kWords[] = {0, 1, 8, 64, 1 << 12, 1 << 20, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
  const uint64_t word = random() % 2 == 0 ? kWords[random() % std::size(kWords)] : random();
  const size_t bytes = size_t{1} << random() % 4;
  std::memcpy(at, &word, bytes);
}

// What a reader has come to.
struct Sum {
  uint64_t read = 0;
  uint64_t refused = 0;
};

// A process that writes into `memory` as long as this lives.
class HostileOwner {
 public:
  // `write` puts something valid where the reader looks next, and tells where it lies.
  using Write = std::function<Bytes(Bytes memory, uint64_t at)>;

  HostileOwner(size_t bytes, const Write& write) : fd_(memfd_create("changing", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(fd_.get(), static_cast<off_t>(bytes)), 0);
    guarded_ = {
        static_cast<std::byte*>(Mapped(nullptr, bytes + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1)),
        bytes + 2 * kGuard};
    memory_ = guarded_.subspan(kGuard, bytes);
    Mapped(memory_.data(), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_.get());
    shared_ = new (Mapped(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1)) Shared();
    const uint64_t seed = std::random_device()();
    std::cout << "seed " << seed << std::endl;
    child_ = fork();
    if (child_ == 0) ChangeForEver(write, seed);
  }
  ~HostileOwner() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    munmap(shared_, sizeof(Shared));
    munmap(guarded_.data(), guarded_.size());
  }

  Bytes memory() const { return memory_; }
  // The reader's; false: it has seen enough.
  bool GoOn(uint64_t at, const Sum& sum) {
    shared_->at.store(at, std::memory_order_relaxed);
    const uint64_t changes = shared_->changes.load(std::memory_order_relaxed);
    const uint64_t enough = Clock::now() < late_ ? kEnough : 1;
    if (changes < kChanges || sum.read < enough || sum.refused < enough) return true;
    std::cout << changes << " changes, " << sum.read << " read, " << sum.refused << " refused" << std::endl;
    return false;
  }

 private:
  static void* Mapped(void* at, size_t bytes, int protection, int flags, int fd) {
    void* const mapped = mmap(at, bytes, protection, flags, fd, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    return mapped;
  }
  [[noreturn]] void ChangeForEver(const Write& write, uint64_t seed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::mt19937_64 random(seed);
    for (uint64_t round = 0;; ++round) {
      const Bytes written = write(memory_, shared_->at.load(std::memory_order_relaxed));
      for (uint64_t changes = random() % 8; changes > 0; --changes) {
        const Bytes where = random() % 4 == 0 ? memory_ : written;
        Change(&where[random() % (where.size() - sizeof(uint64_t))], random);
        shared_->changes.fetch_add(1, std::memory_order_relaxed);
      }
      if (round % 1024 == 0) {
        fallocate(fd_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(memory_.size()));
      }
    }
  }

  const UniqueFd fd_;
  Bytes guarded_;
  Bytes memory_;
  Shared* shared_ = nullptr;
  pid_t child_ = 0;
  const Deadline late_ = After(kLong);
};

Bytes Put(Bytes memory, size_t at, const std::string& bytes) {
  std::memcpy(&memory[at], bytes.data(), bytes.size());
  return memory.subspan(at, bytes.size());
}

// Every byte of what was told, so that it is looked at.
void Look(absl::Span<const std::byte> bytes) {
  uint8_t seen = 0;
  for (const std::byte byte : bytes) seen ^= static_cast<uint8_t>(byte);
  static std::atomic<uint8_t> last;
  last.store(seen, std::memory_order_relaxed);
}

bool IsWithin(absl::Span<const std::byte> part, absl::Span<const std::byte> whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

TEST(ChangingMemory, OfARing) {
  constexpr uint64_t kSecret = 0x5ec3e7;
  constexpr size_t kRing = 4096;
  const std::string items = wire::RawItem(wire::ItemKind::kData, 1, 0, "some bytes") +
                            wire::RawItem(wire::ItemKind::kData, 1, 1, std::string(100, 'd'));
  const size_t most = wire::RawMessage(kSecret, 0, 2, items).size();
  HostileOwner owner(kRing, [&items](Bytes memory, uint64_t at) {
    return Put(memory, at % kRing, wire::RawMessage(kSecret, at / kRing, 2, items));
  });
  auto reader = std::make_unique<channel::RingReader>(owner.memory(), kSecret);
  uint64_t number = 0;
  Sum sum;
  while (owner.GoOn(number * kRing + reader->head(), sum)) {
    const absl::StatusOr<std::optional<channel::Message>> next = reader->Next();
    if (next.ok() && !next->has_value()) {
      std::this_thread::yield();  // to the owner, where both share a processor
      continue;
    }
    sum.refused += next.ok() ? 0 : 1;
    if (next.ok()) {
      ++sum.read;
      ++number;
      ASSERT_TRUE(IsWithin((*next)->area, owner.memory()));
      for (wire::ItemWalk walk = ItemsOf(**next); !walk.done();) {
        const absl::StatusOr<wire::Item> item = walk.Next();
        if (!item.ok()) break;
        ASSERT_TRUE(IsWithin(item->payload, (*next)->area));
        ASSERT_EQ(item->payload.size(), item->header.size);
        Look(item->payload);
      }
      reader->Pop();
    }
    if (!next.ok() || reader->head() + most > kRing) {
      reader = std::make_unique<channel::RingReader>(owner.memory(), kSecret);
      number = 0;
    }
  }
}

TEST(ChangingMemory, OfAChannel) {
  using channel::shm::FifoReader;
  using channel::shm::kUnit;
  constexpr size_t kFifo = 4096;
  const std::string items = wire::RawItem(wire::ItemKind::kData, 1, 0, "some bytes") +
                            wire::RawItem(wire::ItemKind::kData, 1, 1, std::string(100, 'd'));
  std::string message;
  wire::Put(message, channel::shm::MessageHeader{static_cast<uint32_t>(items.size()), 2, 0});
  message += items;
  message.resize(channel::shm::Footprint(items.size()));
  // The FIFO, up to the guard, and before it the writer's word.
  const auto published = [](Bytes memory) { return reinterpret_cast<std::atomic<uint64_t>*>(memory.data()); };
  HostileOwner owner(kGuard + kFifo, [&](Bytes memory, uint64_t at) {
    const Bytes written = Put(memory.subspan(kGuard), at, message);
    published(memory)->store(at + message.size(), std::memory_order_release);
    return written;
  });
  const Bytes fifo = owner.memory().subspan(kGuard);
  std::atomic<uint64_t> consumed = 0;
  std::optional<FifoReader> reader;
  reader.emplace(fifo, *published(owner.memory()), consumed);
  Sum sum;
  while (owner.GoOn(reader->position(), sum)) {
    const bool sound = reader->Look().ok();
    const std::optional<channel::InMessage> next = reader->next();
    if (sound && !next.has_value()) {
      std::this_thread::yield();
      continue;
    }
    sum.refused += sound ? 0 : 1;
    if (sound) {
      ++sum.read;
      ASSERT_TRUE(IsWithin(next->area, fifo));
      for (wire::ItemWalk walk = next->walk(); !walk.done();) {
        const absl::StatusOr<wire::Item> item = walk.Next();
        if (!item.ok()) break;
        ASSERT_TRUE(IsWithin(item->payload, next->area));
        Look(item->payload);
      }
      reader->Pop();
    }
    if (!sound || reader->position() + message.size() + kUnit > kFifo) {
      reader.emplace(fifo, *published(owner.memory()), consumed);
    }
  }
}

}  // namespace
}  // namespace skein::channel::shm
