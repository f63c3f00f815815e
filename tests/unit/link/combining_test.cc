// Many threads on one link: what each sends arrives whole and in order, whoever led; and who waits until it has is
// told, whoever asks meanwhile.
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
#include "core/trace/counters.h"
#include "gtest/gtest.h"
#include "tests/support/noted_device.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/recording_port.h"
#include "tests/unit/link/waiting_port.h"

namespace skein::link {
namespace {

constexpr int kThreads = 6;

struct Setup {
  bool shm;  // there payloads are copied by their own threads, into memory that the peer reads
  bool combines = true;
};

class CombiningTest : public testing::TestWithParam<Setup> {
 protected:
  CombiningTest() {
    const LinkOptions options = {.ring_bytes = wire::kRingGranule, .combines = GetParam().combines};
    server_ = NewLink("server", options);
    client_ = NewLink("client", options);
    const Link::Answer accepted = server_->Accept(client_->Offer().value()).value();
    EXPECT_TRUE(client_->Complete(accepted).ok());
  }

  std::shared_ptr<Link> NewLink(absl::string_view name, const LinkOptions& options) {
    if (GetParam().shm) return Link::Create(channel::OpenShm(), options).value();
    devices_.push_back(std::make_shared<fabric::NotedDevice>(simulation_.CreateDevice(name)));
    return LinkOn(devices_.back(), options);
  }

  void Pump() {
    if (!GetParam().shm) simulation_.RunUntilIdle();
    server_->Poll();
    client_->Poll();
  }

  fabric::Simulation simulation_{20261121};
  std::vector<std::shared_ptr<fabric::NotedDevice>> devices_;
  std::shared_ptr<Link> server_;
  std::shared_ptr<Link> client_;
};

std::string TextOf(int thread, int number) {
  const size_t size = number % 7 == 0 ? 5000 : 40;
  return absl::StrCat(thread, ":", number, std::string(size, static_cast<char>('a' + number % 26)), ";");
}

TEST_P(CombiningTest, EachThreadsBytesArriveInItsOrder) {
  constexpr int kMessages = 400;
  std::vector<std::shared_ptr<RecordingPort>> to;
  std::vector<std::thread> threads;
  std::atomic<int> running = kThreads;
  for (int i = 0; i < kThreads; ++i) {
    to.push_back(std::make_shared<RecordingPort>(server_->ports().NewNumber()));
    ASSERT_TRUE(server_->ports().Add(to.back()).ok());
    auto from = std::make_shared<WaitingPort>(to.back()->stream());
    ASSERT_TRUE(client_->ports().Add(from).ok());
    threads.emplace_back([this, from, i, &running] {
      for (int number = 0; number < kMessages; ++number) from->SendAll(*client_, TextOf(i, number));
      --running;
    });
  }
  while (running > 0) Pump();
  for (std::thread& thread : threads) thread.join();
  while (!client_->flushing().Flushed()) Pump();
  server_->Drain();
  for (int i = 0; i < kThreads; ++i) {
    std::string expected;
    for (int number = 0; number < kMessages; ++number) expected += TextOf(i, number);
    EXPECT_TRUE(to[static_cast<size_t>(i)]->data == expected) << "of thread " << i;
  }
  EXPECT_FALSE(client_->finished());
  for (const auto& device : devices_) EXPECT_EQ(device->queue_pairs.size(), 1u) << "however they contend";
  if (!GetParam().combines) {
    EXPECT_EQ(client_->traffic().coalesced, 0u);
  }
}

TEST_P(CombiningTest, WhoWaitsIsToldThoughOthersAskMeanwhile) {
  constexpr int kMessages = 300;
  auto to = std::make_shared<RecordingPort>(server_->ports().NewNumber());
  ASSERT_TRUE(server_->ports().Add(to).ok());
  auto from = std::make_shared<WaitingPort>(to->stream());
  ASSERT_TRUE(client_->ports().Add(from).ok());
  std::atomic<int> told = 0;
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    for (int number = 0; number < kMessages; ++number) {
      from->SendAll(*client_, TextOf(0, number));
      absl::Notification flushed;
      client_->flushing().When([&](const absl::Status& status) {
        told += status.ok() ? 1 : 0;
        flushed.Notify();
      });
      if (!flushed.WaitForNotificationWithTimeout(absl::Seconds(60))) break;  // told never, and not late
    }
    over = true;
  });
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!over) {
        EXPECT_TRUE(client_->StillConnected());
        client_->flushing().Flushed();
      }
    });
  }
  while (!over) Pump();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, kMessages);
}

TEST_P(CombiningTest, TheStatisticsCountWhatHasAQueuePairAsOne) {
  const auto counted = [] { return trace::ReadCounters().Value(trace::Counter::kQueuePairsActive); };
  const uint64_t both = counted();
  client_->Close();
  client_->Poll();
  ASSERT_TRUE(client_->finished());
  EXPECT_EQ(both - counted(), GetParam().shm ? 0u : 1u) << "shared memory has none";
  client_ = nullptr;
  EXPECT_EQ(both - counted(), GetParam().shm ? 0u : 1u);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, CombiningTest,
                         testing::Values(Setup{false}, Setup{true}, Setup{false, false}, Setup{true, false}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.shm ? "shm" : "sim",
                                               info.param.combines ? "" : "_one_by_one");
                         });

}  // namespace
}  // namespace skein::link
