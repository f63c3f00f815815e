// The backlog counts each message as gone before the peer can act upon that message.
#include "core/rpc/backlog.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "gtest/gtest.h"
#include "tests/support/hooked_device.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/recording_port.h"

namespace skein::rpc {
namespace {

class BacklogTest : public testing::TestWithParam<bool> {
 protected:
  BacklogTest() {
    fabric::Hooks hooks;
    hooks.posting = [this](absl::Span<const fabric::SendRequest> batch) {
      const bool answer = !batch.back().local.empty() && batch.back().local[0].size > kBytes;
      if (answer) due_at_posts_.push_back(due_);
    };
    const auto device = std::make_shared<fabric::HookedDevice>(simulation_.CreateDevice("server"), std::move(hooks));
    server_ = link::LinkOn(device, {.ring_bytes = wire::kRingGranule});
    client_ = link::LinkOn(simulation_.CreateDevice("client"), {.ring_bytes = wire::kRingGranule});
    const link::Link::Answer accepted = server_->Accept(client_->Offer().value()).value();
    EXPECT_TRUE(client_->Complete(accepted).ok());
    from_ = std::make_shared<link::RecordingPort>(server_->ports().NewNumber());
    to_ = std::make_shared<link::RecordingPort>(from_->stream());
    EXPECT_TRUE(server_->ports().Add(from_).ok());
    EXPECT_TRUE(client_->ports().Add(to_).ok());
    Pump();
  }

  void Pump() {
    do {
      simulation_.RunUntilIdle();
    } while (int{client_->Poll()} | int{server_->Poll()});
  }
  // One item fills a message.
  void Answer() {
    const std::string text(kBytes, 'a');
    const link::ConstBytes bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
    const link::Gathered item(&bytes, 1);
    EXPECT_TRUE(backlog_.Send(*server_, *from_, {&item, 1}).ok());
  }

  static constexpr size_t kBytes = 15'000;
  static constexpr int kAnswers = 12;  // three times as many as the ring has space for

  fabric::Simulation simulation_{20261121};
  std::atomic<int32_t> due_ = kAnswers;
  std::vector<int32_t> due_at_posts_;
  std::shared_ptr<link::Link> server_;
  std::shared_ptr<link::Link> client_;
  std::shared_ptr<link::RecordingPort> from_;
  std::shared_ptr<link::RecordingPort> to_;
  Backlog backlog_{/*together=*/GetParam(), [](const MessageHeader&, const absl::Status&) { return std::string(); },
                   &due_};
};

// A client that reads an answer may call again before the sending thread goes on. So at the post of the n-th answer,
// the count is lower by n already.
TEST_P(BacklogTest, CountsEachMessageBeforeItGoes) {
  due_at_posts_.clear();
  for (int i = 0; i + 1 < kAnswers; ++i) Answer();
  const size_t gone = due_at_posts_.size();
  ASSERT_LT(gone, size_t{kAnswers - 2}) << "some wait for space";
  EXPECT_EQ(due_, kAnswers - static_cast<int32_t>(gone));
  // The peer reads, and this end hears of the space. The port does not retry here: the next answer takes the waiting
  // ones along.
  while (to_->data.size() < kBytes * gone) {
    simulation_.RunUntilIdle();
    client_->Poll();
  }
  simulation_.RunUntilIdle();
  server_->Poll();
  due_at_posts_.clear();
  const int32_t due = due_;
  Answer();
  ASSERT_GT(due_at_posts_.size(), 2u);
  for (size_t i = 0; i < due_at_posts_.size(); ++i) {
    EXPECT_LE(due_at_posts_[i], due - static_cast<int32_t>(i) - 1) << "at post " << i;
  }
  while (due_ > 0) {
    Pump();
    backlog_.Retry(*server_, *from_);
  }
  Pump();
  EXPECT_EQ(due_, 0);
  EXPECT_EQ(to_->data.size(), kBytes * kAnswers);
}

INSTANTIATE_TEST_SUITE_P(Together, BacklogTest, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "together" : "one_by_one"); });

}  // namespace
}  // namespace skein::rpc
