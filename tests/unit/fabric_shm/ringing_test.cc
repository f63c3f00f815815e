// How a sleeper is woken over shared memory: by a doorbell, or by messages where descriptors are few.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "core/base/closer.h"
#include "core/base/unique_fd.h"
#include "core/fabric/shm/shm_device.h"
#include "gtest/gtest.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/fabric_end.h"

namespace skein::fabric {
namespace {

class Ringing : public testing::Test {
 protected:
  // How many descriptors that takes of both ends: two sockets and the one to meet at; each end's doorbell at each end.
  static constexpr ptrdiff_t kByMessages = 3;
  static constexpr ptrdiff_t kByDoorbells = kByMessages + 4;

  // Until what earlier tests have left to the Closer is closed. When this pipe has been taken, so has all that came
  // before it, by threads that have a name by then, and end when they have closed what they took.
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const UniqueFd read(ends[0]);
    Closer::Get().Close(UniqueFd(ends[1]));
    pollfd closed = {read.get(), 0, 0};
    ASSERT_EQ(poll(&closed, 1, 10000), 1);
    while (CloserRuns()) std::this_thread::yield();
  }

  void Connect(ptrdiff_t descriptors) {
    const ptrdiff_t before = OpenDescriptors();
    const absl::StatusOr<std::string> offer = a_.queue_pair->Offer();
    ASSERT_TRUE(offer.ok()) << offer.status();
    const absl::StatusOr<std::string> answer = b_.queue_pair->Accept(*offer);
    ASSERT_TRUE(answer.ok()) << answer.status();
    ASSERT_TRUE(a_.queue_pair->Complete(*answer).ok());
    for (End* end : {&a_, &b_}) end->queue->AckEvents();
    EXPECT_EQ(OpenDescriptors() - before, descriptors);
  }

  void ArmB() {
    b_.queue->AckEvents();
    ASSERT_TRUE(b_.queue->Arm(WakeFor::kCompletions).ok());
    ASSERT_TRUE(b_.Poll().empty());
    ASSERT_FALSE(Readable(*b_.queue));
  }

  void SendToB() {
    SendRequest write;
    write.id = 1;
    write.opcode = Opcode::kWriteWithImmediate;
    write.remote = b_.Remote(0);
    ReceiveRequest receive;
    ASSERT_TRUE(b_.queue_pair->PostReceive({&receive, 1}).ok());
    ASSERT_TRUE(a_.queue_pair->PostSend({&write, 1}).ok());
    a_.Poll();
    a_.queue->AckEvents();
  }

  // Whether b, asleep, is woken by what a sends, again and again.
  void ExpectSleeperIsRung() {
    for (int i = 0; i < 100; ++i) {
      ArmB();
      SendToB();
      ASSERT_TRUE(Readable(*b_.queue)) << i;
      while (b_.Poll().empty()) a_.Poll();
    }
  }

  static bool CloserRuns() {
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      std::ifstream(thread.path() / "comm") >> name;
      if (name == "skein-closer") return true;
    }
    return false;
  }
  static ptrdiff_t OpenDescriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  }

  static bool Readable(const CompletionQueue& queue) {
    pollfd waiting = {queue.fd(), POLLIN, 0};
    return poll(&waiting, 1, 0) == 1;
  }

  End a_ = End(OpenShmDevice().value());
  End b_ = End(OpenShmDevice().value());
};

TEST_F(Ringing, ByDoorbell) {
  Connect(kByDoorbells);
  ExpectSleeperIsRung();
}

TEST_F(Ringing, ByMessagesWhereDescriptorsAreFew) {
  const DescriptorLimit few(100);
  Connect(kByMessages);
  ExpectSleeperIsRung();
}

TEST_F(Ringing, NobodyWhereNoConnectionCameAbout) {
  ASSERT_TRUE(b_.queue_pair->Offer().ok());  // so it cannot accept
  const absl::StatusOr<std::string> offer = a_.queue_pair->Offer();
  ASSERT_TRUE(offer.ok()) << offer.status();
  ASSERT_FALSE(b_.queue_pair->Accept(*offer).ok());
  const UniqueFd also(eventfd(0, EFD_CLOEXEC));
  EXPECT_FALSE(b_.queue->Sleep(also.get(), 0).by_queue) << "it still waits for what was closed";
}

TEST_F(Ringing, NotWhoPollsAgain) {
  Connect(kByDoorbells);
  ArmB();
  EXPECT_TRUE(b_.queue->Disarm());
  SendToB();
  EXPECT_FALSE(Readable(*b_.queue));
  EXPECT_EQ(b_.Poll().size(), 1U);
  a_.Poll();
  ExpectSleeperIsRung();
}

TEST_F(Ringing, WhoPollsAgainIsToldThatItHasRung) {
  Connect(kByDoorbells);
  ArmB();
  SendToB();
  EXPECT_FALSE(b_.queue->Disarm());
  EXPECT_TRUE(Readable(*b_.queue));
  EXPECT_EQ(b_.Poll().size(), 1U);
  a_.Poll();
  ExpectSleeperIsRung();
}

}  // namespace
}  // namespace skein::fabric
