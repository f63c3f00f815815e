// Writers at both ends at once, and a poller at each: what every stream says arrives whole and in its order, be it
// small, or large and in blocks, however full the queues are.
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/channel/shm/shm_transport.h"
#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "gtest/gtest.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/waiting_port.h"

namespace skein::link {
namespace {

constexpr int kWriters = 3;  // at each end
constexpr int kWordsEach = 60;

// One in nine is of several blocks, and one in five of several messages to a full queue.
std::string WordsOf(int writer, int number) {
  const size_t size = number % 9 == 0 ? 150'000 : number % 5 == 0 ? 6000 : 50;
  std::string text = absl::StrCat(writer, ":", number, ":");
  for (uint32_t i = 0; text.size() < size; ++i) text += static_cast<char>('a' + (i * 7 + i / 256 + number) % 26);
  return text;
}

class BothWaysTest : public testing::TestWithParam<bool> {
 protected:
  struct End {
    std::shared_ptr<Link> link;
    std::vector<std::shared_ptr<WaitingPort>> ports;
  };

  BothWaysTest() {
    for (End& end : ends_) end.link = NewLink();
    const Link::Answer accepted = ends_[1].link->Accept(ends_[0].link->Offer().value()).value();
    EXPECT_TRUE(ends_[0].link->Complete(accepted).ok());
    for (int i = 0; i < kWriters; ++i) {
      const uint32_t stream = ends_[1].link->ports().NewNumber();
      for (End& end : ends_) {
        end.ports.push_back(std::make_shared<WaitingPort>(stream));
        EXPECT_TRUE(end.link->ports().Add(end.ports.back()).ok());
      }
    }
  }

  std::shared_ptr<Link> NewLink() {
    const LinkOptions options = {.ring_bytes = wire::kRingGranule, .takes_blocks = true};
    if (shm()) return Link::Create(channel::OpenShm(), options).value();
    return LinkOn(simulation_.CreateDevice(absl::StrCat("end", devices_++)), options);
  }
  static bool shm() { return GetParam(); }

  // Sleeps where the kernel wakes it; simulated time goes on only if somebody makes it.
  void PollUntilOver(Link& link) {
    while (!over_) {
      if (!shm()) simulation_.RunUntilIdle();
      // over_ comes last: the poll may have taken the wake-up that tells of it.
      if (link.Poll() || !shm() || !link.Arm() || over_) continue;
      link.Sleep(/*also=*/-1, /*timeout_ms=*/-1);
    }
  }

  void AwaitFlushed(Link& link) {
    absl::Notification flushed;
    link.flushing().When([&](const absl::Status& status) {
      EXPECT_TRUE(status.ok()) << status;
      flushed.Notify();
    });
    ASSERT_TRUE(flushed.WaitForNotificationWithTimeout(absl::Seconds(120)));
  }

  fabric::Simulation simulation_{20261129};
  int devices_ = 0;
  std::array<End, 2> ends_;
  std::atomic<bool> over_ = false;
};

TEST_P(BothWaysTest, EveryByteArrivesInItsOrder) {
  std::vector<std::thread> pollers;
  std::vector<std::thread> writers;
  for (End& end : ends_) {
    pollers.emplace_back([&] { PollUntilOver(*end.link); });
    for (int i = 0; i < kWriters; ++i) {
      writers.emplace_back([&end, i] {
        for (int number = 0; number < kWordsEach; ++number) {
          end.ports[static_cast<size_t>(i)]->SendAll(*end.link, WordsOf(i, number));
        }
      });
    }
  }
  for (std::thread& writer : writers) writer.join();
  for (End& end : ends_) AwaitFlushed(*end.link);
  over_ = true;
  for (End& end : ends_) end.link->WakeSleeper();
  for (std::thread& poller : pollers) poller.join();
  for (End& end : ends_) end.link->Drain();
  for (size_t i = 0; i < kWriters; ++i) {
    for (size_t end = 0; end < 2; ++end) {
      EXPECT_TRUE(ends_[1 - end].ports[i]->heard == ends_[end].ports[i]->said) << "stream " << i << " of end " << end;
    }
  }
  for (const End& end : ends_) EXPECT_FALSE(end.link->finished());
}

INSTANTIATE_TEST_SUITE_P(Fabrics, BothWaysTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "shm" : "sim"; });

}  // namespace
}  // namespace skein::link
