#include "core/service/trunk_greeting.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/fabric/sim/simulation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::service {
namespace {

using testing::HasSubstr;
using Kind = TrunkGreeting::Step::Kind;

constexpr char kHost[] = "10.0.0.2";
constexpr TrunkKind kKinds[] = {TrunkKind::kHello, TrunkKind::kChallenge, TrunkKind::kProof, TrunkKind::kWelcome};

// Both sides of one greeting. `said`: the last message, which the other side has not heard.
class TrunkGreetingTest : public testing::Test {
 protected:
  static constexpr char kSecret[] = "0123456789abcdef";

  struct Side {
    TrunkGreeting greeting;
    SharedQueuePair own;
  };

  Side Connecting(const std::string& secret = "") { return {{true, secret}, MakeQueuePair()}; }
  Side Accepting(const std::string& secret = "") { return {{false, secret}, {}}; }
  SharedQueuePair MakeQueuePair(absl::string_view offer = "") {
    return SharedQueuePair::Create(offer.empty() ? *one_ : *other_, offer).value();
  }

  void Hello(Side& connects) { said_ = connects.greeting.Hello(kHost, connects.own).value(); }
  // That side hears what was said, and says the next message.
  void Answer(Side& side) {
    absl::StatusOr<TrunkGreeting::Step> step = side.greeting.Heed(said_);
    ASSERT_EQ(step.status(), absl::OkStatus());
    ASSERT_EQ(step->kind, Kind::kSay);
    said_ = step->message;
  }
  void Accept(Side& accepts, const TrunkMessage& hello) {
    const absl::StatusOr<TrunkGreeting::Step> step = accepts.greeting.Heed(said_);
    ASSERT_EQ(step.status(), absl::OkStatus());
    ASSERT_EQ(step->kind, Kind::kAccept);
    EXPECT_EQ(step->message.host_view(), kHost);
    EXPECT_EQ(step->message.view(), hello.view());
    accepts.own = MakeQueuePair(step->message.text_view());
    said_ = accepts.greeting.Welcome(accepts.own).value();
  }
  void ExpectOpens(Side& connects, const Side& accepts) {
    const absl::StatusOr<TrunkGreeting::Step> step = connects.greeting.Heed(said_);
    ASSERT_EQ(step.status(), absl::OkStatus());
    EXPECT_EQ(step->kind, Kind::kOpen);
    EXPECT_EQ(step->message.address, accepts.own.landing->remote().address);
    EXPECT_EQ(step->message.key, accepts.own.landing->remote().rkey);
    EXPECT_EQ(connects.own.queue_pair->Complete(step->message.text_view()), absl::OkStatus());
  }

  // Of the four, the one at most that `make`'s side heeds.
  template <typename Make>
  void ExpectHeedsOnly(std::vector<TrunkKind> which, Make make) {
    for (const TrunkKind kind : kKinds) {
      Side side = make();
      TrunkMessage message;
      message.kind = kind;
      message.size = kTrunkVersion;
      const bool heeded = side.greeting.Heed(message).status().code() != absl::StatusCode::kInvalidArgument;
      const bool expected = std::find(which.begin(), which.end(), kind) != which.end();
      EXPECT_EQ(heeded, expected) << static_cast<uint32_t>(kind);
    }
  }

  fabric::Simulation simulation_{20261130, {}};
  const std::shared_ptr<fabric::Device> one_ = simulation_.CreateDevice("one");
  const std::shared_ptr<fabric::Device> other_ = simulation_.CreateDevice("other");
  TrunkMessage said_;
};

TEST_F(TrunkGreetingTest, WithoutASecretHelloAndWelcomeConnectTheQueuePairs) {
  Side connects = Connecting();
  Side accepts = Accepting();
  Hello(connects);
  Accept(accepts, said_);
  ExpectOpens(connects, accepts);
}

TEST_F(TrunkGreetingTest, WithASecretBothSidesProveThatTheyKnowIt) {
  Side connects = Connecting(kSecret);
  Side accepts = Accepting(kSecret);
  Hello(connects);
  const TrunkMessage hello = said_;
  Answer(accepts);
  EXPECT_EQ(said_.kind, TrunkKind::kChallenge);
  Answer(connects);
  EXPECT_EQ(said_.kind, TrunkKind::kProof);
  Accept(accepts, hello);
  ExpectOpens(connects, accepts);
}

TEST_F(TrunkGreetingTest, ASideWithAnotherSecretIsNotAccepted) {
  Side connects = Connecting("another one, as long");
  Side accepts = Accepting(kSecret);
  Hello(connects);
  Answer(accepts);
  Answer(connects);
  EXPECT_EQ(accepts.greeting.Heed(said_).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(TrunkGreetingTest, ASideWithoutASecretSaysThatItHasNone) {
  Side connects = Connecting();
  Side accepts = Accepting(kSecret);
  Hello(connects);
  Answer(accepts);
  const absl::Status refused = connects.greeting.Heed(said_).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("--secret-file"));
}

TEST_F(TrunkGreetingTest, AWelcomeWithoutAProofIsNotBelieved) {
  Side connects = Connecting(kSecret);
  Side accepts = Accepting();
  Hello(connects);
  Accept(accepts, said_);
  EXPECT_EQ(connects.greeting.Heed(said_).status().code(), absl::StatusCode::kUnauthenticated);
}

// Somebody between the two may not lead one to another host or queue pair.
TEST_F(TrunkGreetingTest, AHelloThatWasChangedOnItsWayIsNotProven) {
  Side connects = Connecting(kSecret);
  Side accepts = Accepting(kSecret);
  Hello(connects);
  said_.SetHost("10.0.0.3");
  Answer(accepts);
  Answer(connects);
  EXPECT_EQ(accepts.greeting.Heed(said_).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(TrunkGreetingTest, AWelcomeThatWasChangedOnItsWayIsNotProven) {
  Side connects = Connecting(kSecret);
  Side accepts = Accepting(kSecret);
  Hello(connects);
  const TrunkMessage hello = said_;
  Answer(accepts);
  Answer(connects);
  Accept(accepts, hello);
  ++said_.key;
  EXPECT_EQ(connects.greeting.Heed(said_).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(TrunkGreetingTest, TheSideThatConnectsHeedsEachMessageOnceAndWhenItExpectsIt) {
  const auto greeted = [this] {
    Side side = Connecting(kSecret);
    Hello(side);
    return side;
  };
  const auto challenged = [this, greeted] {
    Side side = greeted();
    Side other = Accepting(kSecret);
    Answer(other);
    Answer(side);
    return side;
  };
  ExpectHeedsOnly({}, [this] { return Connecting(kSecret); });
  ExpectHeedsOnly({TrunkKind::kChallenge, TrunkKind::kWelcome}, greeted);
  ExpectHeedsOnly({TrunkKind::kWelcome}, challenged);
}

TEST_F(TrunkGreetingTest, TheOtherSideHeedsEachMessageOnceAndWhenItExpectsIt) {
  const auto challenging = [this] {
    Side side = Accepting(kSecret);
    Side other = Connecting(kSecret);
    Hello(other);
    Answer(side);
    return side;
  };
  const auto accepted = [this](const std::string& secret) {
    Side side = Accepting(secret);
    Side other = Connecting(secret);
    Hello(other);
    const TrunkMessage hello = said_;
    if (!secret.empty()) Answer(side);
    if (!secret.empty()) Answer(other);
    Accept(side, hello);
    return side;
  };
  ExpectHeedsOnly({TrunkKind::kHello}, [this] { return Accepting(kSecret); });
  ExpectHeedsOnly({TrunkKind::kProof}, challenging);
  ExpectHeedsOnly({}, [accepted] { return accepted(kSecret); });
  ExpectHeedsOnly({}, [accepted] { return accepted(""); });
}

TEST_F(TrunkGreetingTest, AnotherVersionIsNamed) {
  Side accepts = Accepting();
  TrunkMessage hello;
  hello.size = kTrunkVersion + 1;
  EXPECT_THAT(accepts.greeting.Heed(hello).status().message(), HasSubstr("version 2"));
}

TEST_F(TrunkGreetingTest, AnOfferThatNoMessageHoldsIsAnError) {
  SharedQueuePair own = MakeQueuePair();
  own.says = std::string(TrunkMessage().text.size() + 1, 'x');
  EXPECT_EQ(Connecting().greeting.Hello(kHost, own).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Accepting().greeting.Welcome(own).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace skein::service
