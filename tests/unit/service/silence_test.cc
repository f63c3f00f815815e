// skeinds that have been stopped, or hang: their sockets stay open.
#include <poll.h>

#include <atomic>
#include <initializer_list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/service/offer.h"
#include "tests/support/raw_trunk.h"
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using fabric::CompletionStatus;
using ::testing::HasSubstr;

// Long enough for a thread that gets no processor for a while, and is not silent.
constexpr absl::Duration kSilence = absl::Seconds(3);
// Of what is silent from the first question on.
constexpr absl::Duration kShortSilence = absl::Milliseconds(200);
// A process that waits with kSilence finds out about a peer that is silent for so long.
constexpr absl::Duration kLonger = absl::Seconds(4);
void LetTimePass() { std::this_thread::sleep_for(absl::ToChronoNanoseconds(kLonger)); }

// Sleeps as a program does, until the queue has something. False: nothing for 20 s.
bool SleepFor(fabric::CompletionQueue& queue, fabric::Completion& out) {
  return Eventually([&] {
    if (queue.Poll({&out, 1}) == 1) return true;
    EXPECT_EQ(queue.Arm(), absl::OkStatus());
    if (queue.Poll({&out, 1}) == 1) return true;
    queue.Sleep(-1, 20'000);
    queue.AckEvents();
    return queue.Poll({&out, 1}) == 1;
  });
}

// A process of the one host, connected to one of the other, whose skeind misses nobody: on a busy machine kShortSilence
// is seconds.
class SilentSkeind : public TwoHosts {
 protected:
  explicit SilentSkeind(absl::Duration silence = kShortSilence)
      : TwoHosts({}, {.silence = absl::Minutes(5)}), process_(one_, 256, silence) {
    EXPECT_EQ(Connect(*pair_, *peers_), absl::OkStatus());
  }
  ~SilentSkeind() override { one_.Hang(false); }
  void Post() {
    const fabric::SendRequest write = process_.Write(peer_.memory->remote(), 5);
    ASSERT_EQ(pair_->PostSend({&write, 1}), absl::OkStatus());
  }
  void ExpectGivenUp() {
    EXPECT_EQ(pair_->state(), fabric::QueuePairState::kError);
    EXPECT_THAT(pair_->error().message(), HasSubstr("skeind does not answer"));
    EXPECT_THAT(process_.device->Usable().message(), HasSubstr("skeind does not answer"));
  }

  Process process_;
  Process peer_{other_};
  const std::unique_ptr<fabric::QueuePair> pair_ = NewPair(process_, 0);
  const std::unique_ptr<fabric::QueuePair> peers_ = NewPair(peer_);
};

TEST_F(SilentSkeind, IsFoundOutByWhoSleeps) {
  one_.Hang(true);
  Post();
  fabric::Completion flushed;
  ASSERT_TRUE(SleepFor(*process_.completions, flushed));
  EXPECT_EQ(flushed.id, 5U);
  EXPECT_EQ(flushed.status, CompletionStatus::kFlushed);
  ExpectGivenUp();
}

TEST_F(SilentSkeind, IsFoundOutByWhoPolls) {
  one_.Hang(true);
  Post();
  EXPECT_EQ(Take(*process_.completions, 1).at(0).status, CompletionStatus::kFlushed);
  ExpectGivenUp();
}

// It answers first.
class LateSilentSkeind : public SilentSkeind {
 protected:
  LateSilentSkeind() : SilentSkeind(kSilence) {}
};

// It was there when it was asked first; the completion is still to come.
TEST_F(LateSilentSkeind, WithARequestUnderWay) {
  HoldTime(true);
  Post();
  fabric::Completion none;
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kLonger);
  while (std::chrono::steady_clock::now() < until) ASSERT_EQ(process_.completions->Poll({&none, 1}), 0U);
  ASSERT_EQ(pair_->state(), fabric::QueuePairState::kReady) << "it has answered, though nothing has completed";
  one_.Hang(true);
  HoldTime(false);
  fabric::Completion flushed;
  ASSERT_TRUE(SleepFor(*process_.completions, flushed));
  EXPECT_EQ(flushed.status, CompletionStatus::kFlushed);
  ExpectGivenUp();
}

TEST_F(SilentSkeind, WakesAllThatSleep) {
  const auto other_queue = process_.device->CreateCompletionQueue(16).value();
  one_.Hang(true);
  Post();
  EXPECT_EQ(Take(*process_.completions, 1).size(), 1U);
  pollfd wait = {other_queue->fd(), POLLIN, 0};
  EXPECT_EQ(poll(&wait, 1, 0), 1);
}

TEST_F(SilentSkeind, ThatGoesOnServesAgain) {
  Couple couple(one_, other_);
  one_.Hang(true);
  Post();
  EXPECT_EQ(Take(*process_.completions, 1).size(), 1U);
  one_.Hang(false);
  couple.ExpectWorks();  // nobody had missed it
  EXPECT_TRUE(Ended(*peers_)) << "it has let go of what had given it up";
  Couple(one_, other_).ExpectWorks();
}

// Nobody is woken for it while nothing is to be done: neither the process, nor skeind.
TEST_F(LateSilentSkeind, IsAskedForAsLongAsSomethingIsUnderWay) {
  Post();
  EXPECT_EQ(Take(*process_.completions, 1).at(0).status, CompletionStatus::kSuccess);
  const auto sleeps = [&](absl::Duration time) {
    ASSERT_EQ(process_.completions->Arm(), absl::OkStatus());
    fabric::Completion none;
    ASSERT_EQ(process_.completions->Poll({&none, 1}), 0U);
    const bool woken = process_.completions->Sleep(-1, static_cast<int>(absl::ToInt64Milliseconds(time))).by_queue;
    process_.completions->AckEvents();
    EXPECT_EQ(woken, time == absl::Seconds(10));
  };
  sleeps(absl::Seconds(10));  // and looks at the answer
  sleeps(kLonger);
}

// What only waits, waits together: each scenario has hosts of its own, which this thread makes and takes apart.
template <typename Hosts>
void RunAtOnce(std::initializer_list<void (Hosts::*)()> scenarios) {
  std::vector<std::unique_ptr<Hosts>> hosts;
  std::vector<std::thread> threads;
  for (const auto scenario : scenarios) {
    Hosts* const its = hosts.emplace_back(std::make_unique<Hosts>()).get();
    threads.emplace_back([its, scenario] { (its->*scenario)(); });
  }
  for (std::thread& thread : threads) thread.join();
}

// The other host's skeind. Its device answers still, and so does TCP.
class SilentTrunk : public TwoHosts {
 public:
  SilentTrunk() : TwoHosts({}, {.silence = kSilence, .answers = kSilence}) {}
  ~SilentTrunk() override { other_.Hang(false); }

  void EndsAndTheNextConnectionMakesAnother() {
    Couple couple(one_, other_);
    couple.ExpectWorks();
    LetTimePass();
    ASSERT_EQ(couple.to_b->RefreshState(), fabric::QueuePairState::kReady) << "it has answered";
    other_.Hang(true);
    const fabric::SendRequest write = couple.a.Write(couple.b.memory->remote(), 1);
    ASSERT_EQ(couple.to_b->PostSend({&write, 1}), absl::OkStatus());
    EXPECT_EQ(Take(*couple.a.completions, 1).at(0).status, CompletionStatus::kSuccess) << "the device answers";
    ASSERT_TRUE(Ended(*couple.to_b));
    EXPECT_THAT(couple.to_b->error().message(), HasSubstr("the connection between the two hosts' skeinds has failed"));
    other_.Hang(false);
    ASSERT_TRUE(Ended(*couple.to_a));
    Couple(one_, other_).ExpectWorks();
  }
  // Of what the two skeinds say to each other, nothing is under way once time has passed.
  void OfWhichNobodyWantsAnythingStays() {
    Couple couple(one_, other_);
    couple.ExpectWorks();
    LetTimePass();
    other_.Hang(true);
    LetTimePass();
    other_.Hang(false);
    couple.ExpectWorks();
  }
  // Whoever connects to the port takes a place there.
  void ThatNeverGreets() {
    const RawTrunk stranger(one_.trunk_port());
    EXPECT_EQ(stranger.Receive().status().message(), "skeind has closed the connection");
  }

 private:
  void TestBody() override {}
};

TEST(SilentTrunks, EndWhereSomethingIsAwaited) {
  RunAtOnce<SilentTrunk>({&SilentTrunk::EndsAndTheNextConnectionMakesAnother,
                          &SilentTrunk::OfWhichNobodyWantsAnythingStays, &SilentTrunk::ThatNeverGreets});
}

// A skeind that says that it is there, and nothing else, by a thread of its own.
class EvasiveSkeind : public SilentTrunk {
 public:
  ~EvasiveSkeind() override { thread_.join(); }

  void NeverSaysThatItHasConnected() {
    Begin(/*connects=*/false);
    const Process process(one_);
    EXPECT_FALSE(NewPair(process)->Accept(Offer()).ok());
    ExpectEnded();
  }
  void NeverSaysThatItHasClosed() {
    Begin(/*connects=*/true);
    const Process process(one_);
    EXPECT_TRUE(NewPair(process)->Accept(Offer()).ok());
    ExpectEnded();
  }
  // Whenever the memory goes, the trunk has gone: the other skeind had it until then.
  void NeverGivesMemoryBack() {
    Process process(one_);
    rkey_ = process.memory->remote().rkey;
    Begin(/*connects=*/true);
    const auto pair = NewPair(process);
    ASSERT_TRUE(pair->Accept(Offer()).ok());
    ASSERT_TRUE(Eventually([&] { return lent_.load(); }));
    std::thread forgets([&] { process.memory = nullptr; });
    EXPECT_TRUE(Eventually([&] { return revoked_.load(); }));
    EXPECT_TRUE(Eventually([&] { return device_one_->regions == 0; }));
    EXPECT_TRUE(one_.mailbox()->Ask(absl::Seconds(20))->peers.empty());
    ExpectEnded();
    forgets.join();
  }
  void NeverSaysWhereMemoryIs() {
    Begin(/*connects=*/true);
    Process process(one_);
    const auto pair = NewPair(process);
    ASSERT_TRUE(pair->Accept(Offer()).ok());
    const fabric::SendRequest write = process.Write({4096, 77}, 1);
    ASSERT_EQ(pair->PostSend({&write, 1}), absl::OkStatus());
    EXPECT_TRUE(Ended(*pair));
    ExpectEnded();
  }

 private:
  // Answers the greeting and, if it is to, the process that would connect.
  void Begin(bool connects) {
    thread_ = std::thread([this, connects] {
      const auto trunk = trunks_.Next();
      if (!trunk->Welcome(*device_).ok()) return;
      for (absl::StatusOr<TrunkMessage> said; (said = trunk->Receive()).ok();) {
        lent_ = lent_ || said->kind == TrunkKind::kResolved;
        revoked_ = revoked_ || said->kind == TrunkKind::kRevoke;
        if (said->kind != TrunkKind::kConnect || !connects) continue;
        TrunkMessage answer;
        answer.kind = TrunkKind::kConnected;
        answer.number = said->from;
        answer.from = 9;
        trunk->Send(answer);
        answer.kind = TrunkKind::kResolve;
        answer.rkey = rkey_;
        trunk->Send(answer);
      }
      ended_ = true;
    });
  }
  std::string Offer() const { return EncodeOffer({1, 2, trunks_.port, "127.0.0.1"}); }
  void ExpectEnded() {
    EXPECT_TRUE(Eventually([&] { return ended_.load(); }));
  }

  const std::shared_ptr<fabric::Device> device_ = simulation_.CreateDevice("evasive");
  const RawTrunks trunks_;
  std::thread thread_;
  std::atomic<uint32_t> rkey_ = 0;  // where it asks for the process's memory
  std::atomic<bool> lent_ = false;
  std::atomic<bool> revoked_ = false;  // it has been asked to give the memory back
  std::atomic<bool> ended_ = false;
};

TEST(EvasiveSkeinds, AreGivenUp) {
  RunAtOnce<EvasiveSkeind>({&EvasiveSkeind::NeverSaysThatItHasConnected, &EvasiveSkeind::NeverSaysThatItHasClosed,
                            &EvasiveSkeind::NeverGivesMemoryBack, &EvasiveSkeind::NeverSaysWhereMemoryIs});
}

}  // namespace
}  // namespace skein::service
