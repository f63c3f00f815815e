// skeinds that answer a process's request after the process has ceased to wait: the request fails, and nothing else.
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using fabric::CompletionStatus;
using ::testing::HasSubstr;

// Its user may have one thing more of each kind than the process begins with, and one that a late answer has.
class LateAnswer : public TwoHosts {
 protected:
  LateAnswer() : TwoHosts({.queue_pairs = 3, .bytes = 3 * 4096}) {}
  ~LateAnswer() override { one_.Hang(false); }

  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate() {
    return couple_.a.device->Allocate(4096, kAllAccess);
  }
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> CreateQueuePair() { return CreatePair(couple_.a); }
  // skeind hangs with that request of the process.
  void HangWith(const absl::Status& status_of_request) {
    EXPECT_EQ(status_of_request.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(status_of_request.message(), HasSubstr("skeind has not answered within"));
  }

  Couple couple_{one_, other_};
};

TEST_F(LateAnswer, FailsItsRequestAlone) {
  one_.Hang(true);
  HangWith(Allocate().status());
  EXPECT_EQ(couple_.a.device->Usable(), absl::OkStatus());
  // Nobody waits for the answer to a second one.
  EXPECT_THAT(Allocate().status().message(), HasSubstr("not yet answered an earlier request"));
  EXPECT_THAT(CreateQueuePair().status().message(), HasSubstr("not yet answered an earlier request"));
  one_.Hang(false);
  couple_.ExpectWorks();
  EXPECT_TRUE(Eventually([&] { return Allocate().ok(); }));
}

TEST_F(LateAnswer, BringsMemoryThatSkeindGetsBack) {
  const auto second = Allocate();
  ASSERT_TRUE(second.ok());
  one_.Hang(true);
  HangWith(Allocate().status());
  one_.Hang(false);
  EXPECT_TRUE(Eventually([&] { return Allocate().ok(); })) << "there is memory for one more, which the late answer has";
  EXPECT_TRUE(Eventually([&] { return device_one_->regions == 2; }));
}

TEST_F(LateAnswer, BringsAQueuePairThatSkeindGetsBack) {
  const auto second = CreateQueuePair();
  ASSERT_TRUE(second.ok());
  one_.Hang(true);
  HangWith(CreateQueuePair().status());
  one_.Hang(false);
  EXPECT_TRUE(Eventually([&] { return CreateQueuePair().ok(); })) << "there is a place for one more";
}

TEST_F(LateAnswer, IsNotWaitedForByWhoLetsGo) {
  const auto second = CreateQueuePair();
  ASSERT_TRUE(second.ok());
  one_.Hang(true);
  HangWith(Allocate().status());
  const fabric::SendRequest write = couple_.a.Write(couple_.b.memory->remote(), 5);
  ASSERT_EQ(couple_.to_b->PostSend({&write, 1}), absl::OkStatus());
  couple_.to_b->Close();
  EXPECT_EQ(couple_.to_b->state(), fabric::QueuePairState::kError);
  EXPECT_THAT(couple_.to_b->error().message(), HasSubstr("closed by this end"));
  fabric::Completion none;
  EXPECT_EQ(couple_.a.completions->Poll({&none, 1}), 0U) << "skeind may yet read the request's memory";
  couple_.a.memory = nullptr;
  one_.Hang(false);
  EXPECT_EQ(Take(*couple_.a.completions, 1).at(0).id, 5U);
  EXPECT_TRUE(Ended(*couple_.to_a));
  EXPECT_THAT(couple_.to_a->error().message(), HasSubstr("closed by the peer"));
  couple_.to_b = nullptr;
  EXPECT_TRUE(Eventually([&] { return device_one_->regions == 0; }));
}

// What an honest process asks for only while an answer is late.
TEST_F(LateAnswer, IsWhySkeindTakesRequestsWithoutOne) {
  RawProcess process(other_.folder());
  RawSession::Request request;
  request.unanswered = 1;
  for (const auto& [operation, number] :
       {std::pair(Operation::kClose, process.number), std::pair(Operation::kDestroyQueuePair, process.number),
        std::pair(Operation::kForget, process.lkey), std::pair(Operation::kForget, 77U)}) {
    request.operation = operation;
    request.number = number;
    ASSERT_TRUE(process.session.Send(request));
  }
  request.operation = Operation::kOffer;
  EXPECT_EQ(process.session.Ask(request).status().message(), "no such queue pair") << "the first answer of all";
  EXPECT_EQ(process.end(), fabric::service::End::kClosed);
}

}  // namespace
}  // namespace skein::service
