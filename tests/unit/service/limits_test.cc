// What one user's processes may have together.
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Budget, IsGivenBackAndNeverExceeded) {
  const auto budget = std::make_shared<UserBudget>(UserLimits{.sessions = 1, .queue_pairs = 2, .bytes = 100});
  using Kind = UserBudget::Kind;
  {
    const auto most = budget->Take(Kind::kBytes, 99);
    ASSERT_TRUE(most.ok());
    EXPECT_TRUE(absl::IsResourceExhausted(budget->Take(Kind::kBytes, 2).status()));
    EXPECT_TRUE(absl::IsResourceExhausted(budget->Take(Kind::kBytes, ~uint64_t{0}).status()));
    EXPECT_TRUE(budget->Take(Kind::kBytes, 1).ok());
    EXPECT_TRUE(budget->Take(Kind::kQueuePair, 2).ok()) << "each has a limit of its own";
  }
  EXPECT_TRUE(budget->Take(Kind::kBytes, 100).ok());
}

class Limits : public TwoHosts {
 protected:
  Limits() : TwoHosts({.sessions = 2, .queue_pairs = 3, .bytes = 3 * 4096}) {}
};

// skeind closes the connection behind its refusal, with the process's greeting unread: often before it comes.
TEST_F(Limits, OfSessionsAreNamed) {
  const auto first = fabric::OpenServiceDevice(one_.folder(), "").value();
  for (int round = 0; round < 50; ++round) {
    auto second = fabric::OpenServiceDevice(one_.folder(), "").value();
    const absl::Status refused = fabric::OpenServiceDevice(one_.folder(), "").status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
    EXPECT_THAT(refused.message(), AllOf(HasSubstr("2 sessions"), HasSubstr("skeind")));
    second = nullptr;
    ASSERT_TRUE(Eventually([&] { return fabric::OpenServiceDevice(one_.folder(), "").ok(); }));
    Settle();
  }
}

TEST_F(Limits, OfQueuePairsAreNamed) {
  Process first(one_);
  Process second(one_);
  auto one = NewPair(first);
  const auto two = NewPair(first);
  const auto three = NewPair(second);
  fabric::QueuePairOptions options;
  options.send_queue = options.receive_queue = second.completions.get();
  const absl::Status refused = second.device->CreateQueuePair(options).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("3 queue pairs"));
  one = nullptr;
  EXPECT_EQ(second.device->CreateQueuePair(options).status(), absl::OkStatus());
}

TEST_F(Limits, OfBytesAreNamed) {
  Process first(one_);
  Process second(one_);
  EXPECT_EQ(second.device->Allocate(4096, 0).status(), absl::OkStatus()) << "the one before has gone";
  const auto third = second.device->Allocate(4096, 0).value();
  const absl::Status refused = first.device->Allocate(1, 0).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.message(), HasSubstr("12288 registered bytes"));
  EXPECT_EQ(device_one_->regions, 3);
}

// A process that says that its memory is larger than it is has none of it.
TEST_F(Limits, AreNotUsedUpByWhatIsRefused) {
  const RawProcess process(one_.folder());
  for (int round = 0; round < 10; ++round) {
    RawSession::Request request;
    request.operation = RawSession::Operation::kRegister;
    request.size = 8192;
    EXPECT_FALSE(process.session.Ask(request, process.memory.memfd.get()).ok());
    request.operation = RawSession::Operation::kCreateQueuePair;
    request.size = 8;
    EXPECT_FALSE(process.session.Ask(request, process.memory.memfd.get()).ok());
  }
  const Process other(one_);
  EXPECT_EQ(other.device->Allocate(4096, 0).status(), absl::OkStatus());
  EXPECT_NE(NewPair(other), nullptr);
}

class Hosts : public TwoHosts {
 protected:
  Hosts() : TwoHosts({.hosts = 1}, {.unused = absl::Milliseconds(50)}) {}
};

TEST_F(Hosts, ConnectedToAreCountedAndNamed) {
  Process asks(other_);
  Process first(one_);
  const auto to_first = NewPair(asks);
  const auto pair = NewPair(first);
  ASSERT_EQ(Connect(*pair, *to_first), absl::OkStatus());
  SkeindHost third(simulation_, "third");
  Process second(third);
  const auto to_second = NewPair(asks);
  const auto another = NewPair(second);
  const absl::Status refused = Connect(*another, *to_second);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted) << refused;
  EXPECT_THAT(refused.message(), HasSubstr("1 hosts connected to"));
}

TEST_F(Hosts, ThatNobodyHasAConnectionWithAreLetGo) {
  const auto trunks = [this] { return other_.mailbox()->Ask(absl::Seconds(20))->peers.size(); };
  auto couple = std::make_unique<Couple>(one_, other_);
  couple->ExpectWorks();
  EXPECT_EQ(trunks(), 1U);
  couple->to_a = nullptr;
  couple->to_b = nullptr;
  EXPECT_TRUE(Eventually([&] { return trunks() == 0; }));
  Couple(one_, other_).ExpectWorks();
}

}  // namespace
}  // namespace skein::service
