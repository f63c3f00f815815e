// What a process may say to skeind, and how little that matters to others.
#include <sys/mman.h>
#include <sys/socket.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>

#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using Request = RawSession::Request;

class HostileProcess : public TwoHosts {
 protected:
  static Request Of(Operation operation, uint32_t number = 0, uint64_t size = 0) {
    Request request;
    request.operation = operation;
    request.number = number;
    request.size = size;
    return request;
  }

  Couple honest_{one_, other_};
};

TEST_F(HostileProcess, SaysWhatIsNoRequest) {
  std::mt19937 random(31);
  for (const size_t size : {1U, 16U, 200U, 231U, 233U, 255U, 256U, 257U, 4000U}) {
    const RawSession session(one_.folder());
    ASSERT_EQ(session.Hello(), absl::OkStatus());
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    ASSERT_EQ(SendMessage(session.socket(), bytes), SendResult::kSent);
    EXPECT_FALSE(session.Receive().ok()) << size;
  }
  honest_.ExpectWorks();
}

TEST_F(HostileProcess, SaysATextThatIsLongerThanItsPlace) {
  const RawSession session(one_.folder());
  Request hello = Of(Operation::kHello, 0, fabric::service::kVersion);
  hello.text_size = ~0U;
  ASSERT_TRUE(session.Send(hello));
  EXPECT_FALSE(session.Receive().ok());
}

TEST_F(HostileProcess, AsksBeforeItGreets) {
  for (uint32_t operation = 2; operation < 14; ++operation) {
    const RawSession session(one_.folder());
    EXPECT_EQ(session.Ask(Of(static_cast<Operation>(operation))).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(session.Hello(), absl::OkStatus()) << "it may still";
    EXPECT_FALSE(session.Hello().ok()) << "once";
  }
}

TEST_F(HostileProcess, SpeaksAnotherVersion) {
  const RawSession session(one_.folder());
  EXPECT_EQ(session.Ask(Of(Operation::kHello, 0, 99)).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(HostileProcess, PassesTwoDescriptors) {
  const RawSession session(one_.folder());
  ASSERT_EQ(session.Hello(), absl::OkStatus());
  // SendMessage passes one.
  const Request work;
  iovec vector = {const_cast<char*>(work.view().data()), work.view().size()};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const int descriptors[] = {0, 1};
  std::memcpy(CMSG_DATA(rights), descriptors, sizeof(descriptors));
  ASSERT_GT(sendmsg(session.socket(), &header, 0), 0);
  EXPECT_FALSE(session.Receive().ok());
  honest_.ExpectWorks();
}

TEST_F(HostileProcess, NeverCeasesToAsk) {
  const RawSession session(one_.folder());
  ASSERT_EQ(session.Hello(), absl::OkStatus());
  std::atomic<bool> stop = false;
  std::thread asks([&] {
    while (!stop) session.Send(Of(Operation::kWork));
  });
  for (int i = 0; i < 10; ++i) honest_.ExpectWorks();
  stop = true;
  asks.join();
}

TEST_F(HostileProcess, PassesNoMemory) {
  RawSession session(one_.folder());
  ASSERT_EQ(session.Hello(), absl::OkStatus());
  ASSERT_EQ(session.PassPage(), absl::OkStatus());
  EXPECT_FALSE(session.PassPage().ok()) << "it has one";
  for (const Operation operation : {Operation::kRegister, Operation::kCreateCompletionQueue}) {
    for (const uint64_t size : {uint64_t{0}, uint64_t{16}, uint64_t{4096}, uint64_t{1} << 40, ~uint64_t{0}}) {
      EXPECT_FALSE(session.Ask(Of(operation, 0, size)).ok()) << size;
      EXPECT_FALSE(session.Ask(Of(operation, 0, size), session.socket()).ok()) << size;
    }
  }
  // Memory that could shrink under skeind's feet.
  const UniqueFd unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
  EXPECT_FALSE(session.Ask(Of(Operation::kRegister, 0, 4096), unsealed.get()).ok());
  honest_.ExpectWorks();
}

TEST_F(HostileProcess, NamesWhatItHasNot) {
  RawProcess process(one_.folder());
  for (const Operation operation :
       {Operation::kForget, Operation::kWakeBy, Operation::kOffer, Operation::kAccept, Operation::kComplete,
        Operation::kClose, Operation::kDestroyQueuePair, Operation::kCreateQueuePair}) {
    for (const uint32_t number : {0U, 77U, ~0U}) EXPECT_FALSE(process.session.Ask(Of(operation, number, 4)).ok());
  }
  // Queue pairs are numbered for all processes together.
  for (uint32_t number = 1; number < process.number; ++number) {
    EXPECT_FALSE(process.session.Ask(Operation::kClose, number).ok());
    EXPECT_FALSE(process.session.Ask(Operation::kDestroyQueuePair, number).ok());
  }
  honest_.ExpectWorks();
}

TEST_F(HostileProcess, AsksForWhatThereIsNot) {
  for (const uint32_t operation : {0U, 18U, ~0U}) {
    const RawProcess process(one_.folder());
    EXPECT_FALSE(process.session.Ask(static_cast<Operation>(operation), process.number).ok());
  }
  honest_.ExpectWorks();
}

// Whatever skeind reads there, it reads once.
TEST_F(HostileProcess, WritesOverWhatItSharesWithSkeind) {
  std::atomic<bool> stop = false;
  std::thread scribbles([&] {
    std::mt19937_64 random(31);
    while (!stop) {
      RawProcess process(one_.folder());
      Process other(other_);
      const auto pair = NewPair(other);
      if (!Connect(process, *pair).ok()) continue;
      for (int i = 0; i < 16; ++i) process.Lay(process.Write(other.memory->remote()));
      process.Publish();
      const absl::Span<std::byte> pages[] = {process.session.page_bytes(), process.requests.mapping.bytes(),
                                             process.completions.mapping.bytes()};
      for (int i = 0; i < 5000 && !stop; ++i) {
        const absl::Span<std::byte> page = pages[random() % 3];
        const size_t at = random() % 4 == 0 ? random() % 24 * 8 : random() % (page.size() / 8) * 8;
        reinterpret_cast<std::atomic<uint64_t>&>(page[at]).store(random() % 2 == 0 ? random() : random() % 64);
        if (i % 64 == 0) process.session.Send({});
      }
    }
  });
  for (int i = 0; i < 50; ++i) honest_.ExpectWorks();
  stop = true;
  scribbles.join();
}

TEST_F(HostileProcess, TakesAwayWhatItsQueuePairNeeds) {
  RawProcess process(one_.folder());
  Process other(other_);
  const auto pair = NewPair(other);
  ASSERT_EQ(Connect(process, *pair), absl::OkStatus());
  const uint32_t first_queue = process.lkey + 1;
  EXPECT_TRUE(process.session.Ask(Operation::kDropCompletionQueue, first_queue).ok());
  process.Lay(process.Write(other.memory->remote()));
  process.Publish();
  EXPECT_TRUE(Eventually([&] { return process.completed.header().published.load() == 1; }));
  // It says that it has consumed what there never was.
  process.completed.header().consumed.store(uint64_t{1} << 60);
  process.Lay(process.Write(other.memory->remote()));
  process.Publish();
  EXPECT_TRUE(Eventually([&] { return process.end() == fabric::service::End::kOverrun; }));
  honest_.ExpectWorks();
}

}  // namespace
}  // namespace skein::service
