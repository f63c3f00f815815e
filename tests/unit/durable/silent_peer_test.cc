// On a fabric that does not tell when a peer is gone: nobody waits for ever.
#include <memory>

#include "core/durable/flush/flush_receiver.h"
#include "core/durable/flush/flush_sender.h"
#include "core/fabric/sim/simulation.h"
#include "gtest/gtest.h"

namespace skein::durable {
namespace {

fabric::SimConfig Silent() {
  fabric::SimConfig config;
  config.announce_close = false;
  return config;
}

class SilentPeerTest : public testing::TestWithParam<FlushMode> {
 protected:
  void SetUp() override {
    FlushReceiverOptions receiver_options;
    receiver_options.mode = GetParam();
    receiver_ = FlushReceiver::Open(*receiving_, nullptr, receiver_options).value();
    FlushSenderOptions sender_options;
    sender_options.mode = GetParam();
    sender_ = FlushSender::Create(*sending_, sender_options).value();
    ASSERT_TRUE(sender_->Complete(receiver_->Accept(sender_->Offer().value()).value()).ok());
  }
  absl::Status PollSender() {
    return sender_->Poll([](uint64_t, absl::string_view) {});
  }
  absl::Status PollReceiver() {
    return receiver_->Poll([](const FlushEntry&) {});
  }

  fabric::Simulation simulation_{7, Silent()};
  const std::shared_ptr<fabric::Device> sending_ = simulation_.CreateDevice("s");
  const std::shared_ptr<fabric::Device> receiving_ = simulation_.CreateDevice("r");
  std::unique_ptr<FlushReceiver> receiver_;
  std::unique_ptr<FlushSender> sender_;
};

TEST_P(SilentPeerTest, ASenderThatWaitsForAReplyLooksWhetherAnybodyIsThere) {
  ASSERT_TRUE(sender_->Send("request").ok());
  ASSERT_TRUE(sender_->Flush().ok());
  for (int i = 0; i < 10; ++i) {
    simulation_.RunUntilIdle();
    ASSERT_TRUE(PollReceiver().ok());
    ASSERT_TRUE(PollSender().ok());
  }
  ASSERT_EQ(sender_->acknowledged().up_to, 1u);
  simulation_.KillDevice("r");
  int polls = 0;
  for (; polls < 20000 && PollSender().ok(); ++polls) simulation_.RunUntilIdle();
  EXPECT_EQ(PollSender().code(), absl::StatusCode::kUnavailable);
  EXPECT_GT(polls, 100) << "not by what was sent before";
}

TEST_P(SilentPeerTest, ASenderWithNothingToWaitForAsksNobody) {
  simulation_.RunUntilIdle();
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(PollSender().ok());
  EXPECT_EQ(simulation_.pending_events(), 0u);
}

INSTANTIATE_TEST_SUITE_P(EveryMode, SilentPeerTest,
                         testing::Values(FlushMode::kWFlush, FlushMode::kSFlush, FlushMode::kWRFlush,
                                         FlushMode::kSRFlush),
                         [](const auto& info) {
                           return std::string(SentByWrite(info.param) ? "write" : "send") +
                                  (FlushedBySender(info.param) ? "_sender" : "_receiver");
                         });

}  // namespace
}  // namespace skein::durable
