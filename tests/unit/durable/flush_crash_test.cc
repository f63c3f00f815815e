// A receiver's host loses power at every step of many scripts, on simulated time: at every event of the fabric and at
// every step of its storage. The sender's guarantees hold at each.
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/durable/flush/flush_receiver.h"
#include "core/durable/flush/flush_sender.h"
#include "core/fabric/sim/simulation.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/crashing_memory.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {
namespace {

// A mode; and whether devices have FLUSH, where its sender flushes. Nobody says anything of the platform then: what
// no FLUSH has named is lost.
struct Way {
  FlushMode mode = FlushMode::kWFlush;
  bool native = false;
};

class CrashingReceiver {
 public:
  CrashingReceiver(Way way, uint64_t seed)
      : mode_(way.mode),
        native_(way.native),
        mapped_(FlushedBySender(mode_) || seed % 2 == 0),
        random_(seed),
        simulation_(seed, {.flush = way.native}),
        sending_(simulation_.CreateDevice("s")),
        memory_(std::make_shared<CrashingMemory>(StorageBytes(kShape), seed)) {
    simulation_.OnFlushServed("r", [this](absl::Span<const std::byte> flushed) {
      const auto begin = static_cast<uint64_t>(reinterpret_cast<const char*>(flushed.data()) - memory_->bytes());
      memory_->PushFromDevice(begin, begin + flushed.size());
    });
    simulation_.OnReadServed("r", [this] {
      if (mapped_ && !native_) memory_->PushFromDevice(SlotsOffset(kShape), StorageBytes(kShape));
    });
  }

  CrashingMemory& memory() { return *memory_; }
  uint64_t executed() const { return finished_.size(); }

  // Until the crash, so many turns, or the log cannot be opened. Then the receiver is gone, and its sender has heard
  // all that was on the way.
  enum class Lost : uint8_t { kProcess, kPower };
  void Live(int turns, Lost lost = Lost::kPower) {
    ++life_;
    if (Open() && Connect()) {
      for (int i = 0; i < turns && receiver_ && !memory_->crashed() && !testing::Test::HasFailure(); ++i) Turn();
    }
    End(lost);
  }
  void LiveToTheEnd() {
    ++life_;
    ASSERT_TRUE(Open() && Connect());
    for (int i = 0; i < 2000 && sender_->finished() + 1 < sender_->next(); ++i) {
      Poll();
      while (!handed_over_.empty()) FinishOne();
      simulation_.RunFor(absl::Microseconds(5));
    }
    EXPECT_EQ(sender_->finished() + 1, sender_->next()) << "something was never executed";
    End(Lost::kPower);
  }

 private:
  static constexpr RingShape kShape{.slot_bytes = 192, .slots = 5};

  uint64_t Draw(uint64_t below) { return random_() % below; }

  bool Open() {
    receiving_ = simulation_.CreateDevice("r");
    FlushReceiverOptions options;
    options.mode = mode_;
    options.shape = kShape;
    if (!native_) options.platform = {.ddio = false, .domain = PersistenceDomain::kAdr};
    options.identity = LogId{1, 2, 3};
    options.batch = 1 + Draw(4);
    handed_over_.clear();
    auto receiver = FlushReceiver::Open(*receiving_, memory_->Open(mapped_), options);
    if (!receiver.ok()) {
      EXPECT_TRUE(memory_->crashed() || memory_->failed()) << receiver.status();
      return false;
    }
    receiver_ = *std::move(receiver);
    return true;
  }

  bool Connect() {
    FlushSenderOptions options;
    options.mode = mode_;
    options.slots = kShape.slots;
    options.wanted = Persistence::kEmulated;
    sender_ = FlushSender::Create(*sending_, options).value();
    const absl::StatusOr<std::string> answer = receiver_->Accept(sender_->Offer().value());
    EXPECT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(receiver_->level(), Persistence::kEmulated);
    EXPECT_EQ(receiver_->verb(), native_ ? FlushVerb::kFlushPersistent : FlushVerb::kRead);
    const absl::Status connected = sender_->Complete(*answer);
    EXPECT_TRUE(connected.ok()) << connected;
    const uint64_t next = sender_->next();
    EXPECT_GT(next, acknowledged_) << "acknowledged, and lost";
    EXPECT_LE(next, highest_ + 1) << "nobody sent that";
    // What the receiver does not have is sent again, as something else.
    sent_.erase(sent_.lower_bound(next), sent_.end());
    // Before anything new comes: what a former life has left.
    std::set<uint64_t> again;
    receiver_
        ->Poll([&](FlushEntry entry) {
          again.insert(entry.sequence);
          Take(std::move(entry));
        })
        .IgnoreError();
    for (uint64_t sequence = 1; sequence < next; ++sequence) {
      EXPECT_TRUE(again.contains(sequence) || finished_.contains(sequence)) << sequence << " is lost";
      EXPECT_FALSE(again.contains(sequence) && replied_.contains(sequence)) << sequence << " is executed again";
    }
    for (uint64_t sequence = 1; sequence <= sender_->finished(); ++sequence) replied_.insert(sequence);
    return !memory_->crashed();
  }

  void Take(FlushEntry entry) {
    EXPECT_GT(entry.sequence, handed_over_.empty() ? 0 : last_handed_) << "out of order";
    last_handed_ = entry.sequence;
    const auto sent = sent_.find(entry.sequence);
    ASSERT_NE(sent, sent_.end()) << entry.sequence << " was not sent";
    EXPECT_EQ(entry.payload, sent->second);
    handed_over_.insert(entry.sequence);
  }

  void Turn() {
    switch (Draw(8)) {
      case 0:
      case 1:
        return Send();
      case 2:
        return FinishOne();
      case 3:
        if (Draw(20) == 0) return LoseSender();
        [[fallthrough]];
      default:
        for (uint64_t events = 1 + Draw(6); events > 0 && memory_->Step(); --events) simulation_.Step();
        if (!memory_->crashed()) Poll();
    }
  }
  void Send() {
    for (uint64_t many = 1 + Draw(3); many > 0 && sender_->space() > 0; --many) {
      const uint64_t sequence = sender_->next();
      sent_[sequence] = absl::StrCat("life ", life_, " ", PayloadOf(sequence + life_, 100));
      highest_ = std::max(highest_, sequence);
      const absl::Status sent = sender_->Send(sent_[sequence]).status();
      ASSERT_TRUE(sent.ok()) << sent;
    }
    ASSERT_TRUE(sender_->Flush().ok());
  }
  void FinishOne() {
    if (handed_over_.empty()) return;
    auto one = handed_over_.begin();
    std::advance(one, Draw(handed_over_.size()));
    finished_.insert(*one);
    ASSERT_TRUE(receiver_->Finish(*one, "reply").ok());
    handed_over_.erase(one);
  }
  void Poll() {
    if (receiver_) receiver_->Poll([this](FlushEntry entry) { Take(std::move(entry)); }).IgnoreError();
    sender_->Poll([this](uint64_t sequence, absl::string_view) { replied_.insert(sequence); }).IgnoreError();
    acknowledged_ = std::max(acknowledged_, sender_->acknowledged().up_to);
  }
  // Only the sending process; the receiver opens its log for another one.
  void LoseSender() {
    sender_.reset();
    receiver_.reset();
    if (Open()) Connect();
  }
  void End(Lost lost) {
    simulation_.KillDevice("r");
    receiver_.reset();
    receiving_.reset();
    while (sender_ && simulation_.Step()) Poll();
    sender_.reset();
    lost == Lost::kPower ? memory_->LosePower() : memory_->LoseProcess();
  }

  const FlushMode mode_;
  const bool native_;
  const bool mapped_;
  std::mt19937_64 random_;
  fabric::Simulation simulation_;
  const std::shared_ptr<fabric::Device> sending_;
  std::shared_ptr<fabric::Device> receiving_;
  const std::shared_ptr<CrashingMemory> memory_;
  std::unique_ptr<FlushReceiver> receiver_;
  std::unique_ptr<FlushSender> sender_;
  int life_ = 0;
  // What the sender knows.
  std::map<uint64_t, std::string> sent_;
  std::set<uint64_t> replied_;  // or told to be finished
  uint64_t highest_ = 0;
  uint64_t acknowledged_ = 0;
  // Of this life.
  std::set<uint64_t> handed_over_;
  uint64_t last_handed_ = 0;
  std::set<uint64_t> finished_;  // of all lives
};

class FlushCrashTest : public testing::TestWithParam<Way> {};

// False when the script ends before the step.
bool CrashAt(Way way, uint64_t seed, uint64_t step) {
  SCOPED_TRACE(absl::StrCat("seed ", seed, ", step ", step));
  CrashingReceiver pair(way, seed);
  pair.memory().CrashAt(step);
  pair.Live(100);
  const bool crashed = pair.memory().crashes() == 1;
  pair.memory().CrashAt(5 + step * 7 % 90);
  pair.Live(100);
  pair.LiveToTheEnd();
  return crashed;
}

TEST_P(FlushCrashTest, AtEveryStep) {
  uint64_t crashes = 0;
  for (uint64_t seed = 1; seed <= 8; seed += kFewer) {
    for (uint64_t step = 0; !HasFailure() && CrashAt(GetParam(), seed, step); ++step) ++crashes;
  }
  RecordProperty("crashes", static_cast<int>(crashes));
  EXPECT_GE(crashes, 1500u / kFewer);
}

// The process is started again, and reads what the disk does not have.
TEST_P(FlushCrashTest, AfterEachFailedPersistAndThenAPowerCut) {
  for (uint64_t fails = 1; fails <= 40 && !HasFailure(); ++fails) {
    SCOPED_TRACE(absl::StrCat("persist ", fails));
    CrashingReceiver pair(GetParam(), fails);
    pair.memory().FailPersist(fails);
    pair.Live(600, CrashingReceiver::Lost::kProcess);
    EXPECT_TRUE(pair.memory().failed());
    pair.Live(static_cast<int>(fails % 4) * 30);
    pair.LiveToTheEnd();
  }
}

TEST_P(FlushCrashTest, LongLives) {
  for (uint64_t seed = 100; seed < 120 && !HasFailure(); seed += kFewer) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    CrashingReceiver pair(GetParam(), seed);
    for (uint64_t life = 0; life < 6; ++life) {
      pair.memory().CrashAt(100 + (seed * 131 + life * 977) % 1500);
      pair.Live(600);
    }
    pair.LiveToTheEnd();
    EXPECT_GT(pair.executed(), 50u);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryMode, FlushCrashTest,
                         testing::Values(Way{FlushMode::kWFlush}, Way{FlushMode::kSFlush},
                                         Way{FlushMode::kWFlush, true}, Way{FlushMode::kSFlush, true},
                                         Way{FlushMode::kWRFlush}, Way{FlushMode::kSRFlush}),
                         [](const auto& info) {
                           std::string name(FlushModeName(info.param.mode));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return absl::StrCat(name, info.param.native ? "_native" : "");
                         });

}  // namespace
}  // namespace skein::durable
