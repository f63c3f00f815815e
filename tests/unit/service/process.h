// Processes that use skeind as programs do, and what tests wait for.
#ifndef SKEIN_TESTS_UNIT_SERVICE_PROCESS_H_
#define SKEIN_TESTS_UNIT_SERVICE_PROCESS_H_

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "core/fabric/fabric.h"
#include "core/fabric/service/service_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/raw_session.h"
#include "tests/support/skeind_host.h"

namespace skein::service {

// Whether that comes to be true while other threads run. For who would wait for ever: 20 s.
inline bool Eventually(absl::FunctionRef<bool()> is_so) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

using Operation = RawSession::Operation;

constexpr uint32_t kAllAccess = fabric::kRemoteWrite | fabric::kRemoteRead | fabric::kRemoteAtomic;

// A process with a device, memory and a completion queue. It dies as the kernel lets one die: its socket closes.
struct Process {
  explicit Process(const SkeindHost& host, uint32_t entries = 256, absl::Duration silence = absl::Seconds(5))
      : Process(host.folder(), entries, silence) {}
  explicit Process(const std::string& folder, uint32_t entries = 256, absl::Duration silence = absl::Seconds(5))
      : device(fabric::OpenServiceDevice(folder, "127.0.0.1", silence).value()),
        completions(device->CreateCompletionQueue(entries).value()),
        memory(device->Allocate(4096, kAllAccess).value()) {}

  fabric::SendRequest Write(fabric::RemoteAddress to, uint64_t id, size_t offset = 0) {
    segment = {memory->bytes().data() + offset, 8, memory->lkey()};
    fabric::SendRequest write;
    write.id = id;
    write.opcode = fabric::Opcode::kWrite;
    write.local = absl::MakeConstSpan(&segment, 1);
    write.remote = to;
    return write;
  }

  std::shared_ptr<fabric::Device> device;
  std::unique_ptr<fabric::CompletionQueue> completions;
  std::unique_ptr<fabric::MemoryRegion> memory;
  fabric::Segment segment;
};

inline absl::StatusOr<std::unique_ptr<fabric::QueuePair>> CreatePair(const Process& of) {
  fabric::QueuePairOptions options;
  options.send_queue = options.receive_queue = of.completions.get();
  options.max_send_requests = 64;
  options.max_receive_requests = 64;
  return of.device->CreateQueuePair(options);
}

inline std::unique_ptr<fabric::QueuePair> NewPair(const Process& of, uint32_t receives = 16) {
  auto pair = CreatePair(of).value();
  std::vector<fabric::ReceiveRequest> batch(receives);
  EXPECT_TRUE(pair->PostReceive(batch).ok());
  return pair;
}

inline absl::Status Connect(fabric::QueuePair& one, fabric::QueuePair& other) {
  const absl::StatusOr<std::string> offer = one.Offer();
  if (!offer.ok()) return offer.status();
  const absl::StatusOr<std::string> answer = other.Accept(*offer);
  return answer.ok() ? one.Complete(*answer) : answer.status();
}
inline absl::Status Connect(RawProcess& raw, fabric::QueuePair& other) {
  const auto offer = raw.session.Ask(Operation::kOffer, raw.number);
  if (!offer.ok()) return offer.status();
  const absl::StatusOr<std::string> answer = other.Accept(offer->text_view());
  return answer.ok() ? raw.session.Ask(Operation::kComplete, raw.number, *answer).status() : answer.status();
}

// The next `count` completions of that queue, or what there is when no more come.
inline std::vector<fabric::Completion> Take(fabric::CompletionQueue& queue, size_t count) {
  std::vector<fabric::Completion> taken(count);
  size_t have = 0;
  const bool all = Eventually([&] {
    have += queue.Poll(absl::MakeSpan(taken).subspan(have));
    return have == count;
  });
  EXPECT_TRUE(all) << have << " of " << count << " completions";
  taken.resize(have);
  return taken;
}

// Two processes of two hosts, connected.
struct Couple {
  Couple(const SkeindHost& one, const SkeindHost& other) : Couple(one.folder(), other) {}
  Couple(const std::string& one, const SkeindHost& other) : a(one), b(other), to_b(NewPair(a)), to_a(NewPair(b)) {
    EXPECT_EQ(Connect(*to_b, *to_a), absl::OkStatus());
  }
  // A word goes there and comes back: both ends are in order, and so is what is between them.
  void ExpectWorks() {
    ++value;
    std::memcpy(a.memory->bytes().data() + 64, &value, sizeof(value));
    fabric::SendRequest there = a.Write({b.memory->remote().address + 128, b.memory->remote().rkey}, 7, 64);
    there.opcode = fabric::Opcode::kWriteWithImmediate;
    there.immediate = 0x00050000;
    ASSERT_EQ(to_b->PostSend({&there, 1}), absl::OkStatus());
    const auto arrived = Take(*b.completions, 1);
    ASSERT_EQ(arrived.size(), 1U);
    EXPECT_EQ(arrived[0].opcode, fabric::Opcode::kReceiveWithImmediate);
    EXPECT_EQ(arrived[0].immediate, 0x00050000U);
    EXPECT_EQ(arrived[0].queue_pair, to_a.get());
    const auto sent = Take(*a.completions, 1);
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].status, fabric::CompletionStatus::kSuccess);
    EXPECT_EQ(std::memcmp(b.memory->bytes().data() + 128, &value, sizeof(value)), 0);
    const fabric::ReceiveRequest again;
    ASSERT_EQ(to_a->PostReceive({&again, 1}), absl::OkStatus());
    fabric::SendRequest back = a.Write({b.memory->remote().address + 128, b.memory->remote().rkey}, 8, 256);
    back.opcode = fabric::Opcode::kRead;
    ASSERT_EQ(to_b->PostSend({&back, 1}), absl::OkStatus());
    const auto read = Take(*a.completions, 1);
    ASSERT_EQ(read.size(), 1U);
    EXPECT_EQ(read[0].status, fabric::CompletionStatus::kSuccess);
    EXPECT_EQ(std::memcmp(a.memory->bytes().data() + 256, &value, sizeof(value)), 0);
  }

  Process a;
  Process b;
  std::unique_ptr<fabric::QueuePair> to_b;
  std::unique_ptr<fabric::QueuePair> to_a;
  uint64_t value = 0x1234567812345678;
};

// Shares and Turns know a session by its address alone.
inline const Session* SessionNumbered(int number) { return reinterpret_cast<const Session*>(uintptr_t{64} * number); }

inline bool Ended(fabric::QueuePair& pair) {
  return Eventually([&] { return pair.RefreshState() == fabric::QueuePairState::kError; });
}

}  // namespace skein::service

#endif  // SKEIN_TESTS_UNIT_SERVICE_PROCESS_H_
