// Processes, trunks and skeinds that end: who hears of it, how, and what is free afterwards.

#include "tests/support/temporary_folder.h"
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using fabric::CompletionStatus;
using fabric::QueuePairState;
using ::testing::HasSubstr;

class Dying : public TwoHosts {
 protected:
  using TwoHosts::TwoHosts;
};

TEST_F(Dying, AProcessThatDiesEndsItsPeersQueuePairAndWhatItHadUnderWay) {
  RawProcess dies(one_.folder());
  Process peer(other_);
  const auto pair = NewPair(peer, /*receives=*/3);
  ASSERT_EQ(Connect(dies, *pair), absl::OkStatus());
  HoldTime(true);
  const fabric::SendRequest write = peer.Write({dies.base, dies.rkey}, 11);
  ASSERT_EQ(pair->PostSend({&write, 1}), absl::OkStatus());
  Settle();
  dies.session.Leave();
  ASSERT_TRUE(Ended(*pair));
  EXPECT_THAT(pair->error().message(), HasSubstr("closed by the peer, or its process has died"));
  const auto flushed = Take(*peer.completions, 4);
  for (const fabric::Completion& each : flushed) EXPECT_EQ(each.status, CompletionStatus::kFlushed);
  EXPECT_EQ(flushed.at(0).id, 11U);
  HoldTime(false);
}

TEST_F(Dying, TheMemoryOfADeadProcessGoesOnceNobodyWritesThere) {
  RawProcess dies(one_.folder());
  Process peer(other_);
  const auto pair = NewPair(peer);
  ASSERT_EQ(Connect(dies, *pair), absl::OkStatus());
  HoldTime(true);
  const fabric::SendRequest write = peer.Write({dies.base, dies.rkey}, 11);
  ASSERT_EQ(pair->PostSend({&write, 1}), absl::OkStatus());
  Settle();
  dies.session.Leave();
  ASSERT_TRUE(Ended(*pair));
  Settle();
  EXPECT_EQ(device_one_->regions, 1) << "a WRITE to it is under way";
  HoldTime(false);
  EXPECT_TRUE(Eventually([&] { return device_one_->regions == 0; }));
}

class DyingWithinLimits : public Dying {
 protected:
  DyingWithinLimits() : Dying({.sessions = 3, .queue_pairs = 1, .bytes = 3 * 4096}) {}
};

TEST_F(DyingWithinLimits, WhatItHadIsFreeForOthers) {
  Process peer(other_);
  for (int round = 0; round < 3; ++round) {
    const auto pair = NewPair(peer);
    RawProcess dies(one_.folder());
    ASSERT_EQ(Connect(dies, *pair), absl::OkStatus());
    Process waits(one_);
    ASSERT_TRUE(absl::IsResourceExhausted(CreatePair(waits).status()));
    dies.session.Leave();
    // Both skeinds have to hear of it.
    EXPECT_TRUE(Eventually([&] { return CreatePair(waits).ok(); }));
  }
}

// skeind on the other side had taken the offer, and would have kept its queue pair for a peer that there never was.
TEST_F(DyingWithinLimits, AProcessThatDiesWhileItAccepts) {
  Process peer(other_);
  for (int round = 0; round < 20; ++round) {
    auto pair = NewPair(peer);
    const std::string offer = pair->Offer().value();
    RawProcess dies(one_.folder());
    RawSession::Request accept;
    accept.operation = RawSession::Operation::kAccept;
    accept.number = dies.number;
    accept.SetText(offer);
    dies.session.Send(accept);
    if (round % 2 == 0) dies.session.Leave();
    pair = nullptr;
    dies.session.Leave();
    ASSERT_TRUE(Eventually([&] { return CreatePair(peer).ok(); })) << round;
    ASSERT_TRUE(Eventually([&] {
      Process other(one_);
      return CreatePair(other).ok();
    })) << round;
  }
}

TEST_F(Dying, ATrunkThatBreaksEndsAllItsQueuePairsAndNewOnesConnect) {
  Couple first(one_, other_);
  Couple second(one_, other_);
  simulation_.Partition("one", "other");
  const fabric::SendRequest write = first.a.Write(first.b.memory->remote(), 1);
  ASSERT_EQ(first.to_b->PostSend({&write, 1}), absl::OkStatus());
  for (const auto& pair : {&first.to_a, &first.to_b, &second.to_a, &second.to_b}) {
    ASSERT_TRUE(Ended(**pair));
    EXPECT_THAT((*pair)->error().message(), HasSubstr("the connection between the two hosts' skeinds has failed"));
  }
  EXPECT_EQ(Take(*first.a.completions, 1).at(0).status, CompletionStatus::kFlushed);
  simulation_.Heal("one", "other");
  Couple(one_, other_).ExpectWorks();
}

TEST_F(Dying, TheOtherHostsSkeindGoesAndComesBack) {
  Couple couple(one_, other_);
  couple.ExpectWorks();
  other_.Stop();
  ASSERT_TRUE(Ended(*couple.to_b));
  // It closes its queue pairs, and then the connection.
  EXPECT_THAT(couple.to_b->error().message(),
              testing::AnyOf(HasSubstr("closed by the peer"), HasSubstr("skeinds has failed")));
  other_.Start();
  Couple(one_, other_).ExpectWorks();
}

// Many queue pairs say that they have closed to a skeind that is no more.
TEST_F(Dying, SkeindAndItsProcessesGoTogether) {
  for (int round = 0; round < 10; ++round) {
    Process stays(one_);
    std::vector<std::unique_ptr<RawProcess>> die;
    std::vector<std::unique_ptr<fabric::QueuePair>> pairs;
    for (int i = 0; i < 8; ++i) {
      pairs.push_back(NewPair(stays, 0));
      die.push_back(std::make_unique<RawProcess>(other_.folder()));
      ASSERT_EQ(Connect(*die.back(), *pairs.back()), absl::OkStatus());
    }
    die.clear();
    other_.Stop();
    for (const auto& pair : pairs) ASSERT_TRUE(Ended(*pair));
    other_.Start();
  }
  Couple(one_, other_).ExpectWorks();
}

TEST_F(Dying, SkeindGoes) {
  auto couple = std::make_unique<Couple>(one_, other_);
  HoldTime(true);
  const fabric::SendRequest write = couple->a.Write(couple->b.memory->remote(), 5);
  ASSERT_EQ(couple->to_b->PostSend({&write, 1}), absl::OkStatus());
  Settle();
  one_.Stop();
  EXPECT_TRUE(Ended(*couple->to_b));
  EXPECT_THAT(couple->to_b->error().message(), HasSubstr("skeind has gone"));
  EXPECT_THAT(couple->a.device->Usable().message(), HasSubstr("skeind has gone"));
  const auto flushed = Take(*couple->a.completions, 1 + 16);
  EXPECT_EQ(flushed.at(0).id, 5U);
  for (const fabric::Completion& each : flushed) EXPECT_EQ(each.status, CompletionStatus::kFlushed);
  // Nothing of it waits for an answer, which would not come.
  for (const absl::Status& status : {couple->to_b->Offer().status(), couple->a.device->Allocate(1, 0).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("skeind has gone"));
  }
  couple->to_b->Close();
  couple = nullptr;
  HoldTime(false);
  one_.Start();
  Couple(one_, other_).ExpectWorks();
}

// A skeind that has been stopped, as by SIGSTOP, takes connections still.
TEST(SkeindThatHangs, IsWaitedForASecond) {
  const TemporaryFolder folder("/tmp");
  ASSERT_NE(folder.path(), "");
  {
    const UniqueFd listens = ListenAtPath(folder.File(std::string(fabric::service::kSocketName))).value();
    const absl::Status opened = fabric::OpenServiceDevice(folder.path(), "").status();
    EXPECT_EQ(opened.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(opened.message(), HasSubstr("skeind has not answered within 1s"));
  }
  const absl::Status refused = fabric::OpenServiceDevice(folder.path(), "").status();
  EXPECT_THAT(refused.message(), HasSubstr("no skeind listens in " + folder.path()));
}

}  // namespace
}  // namespace skein::service
