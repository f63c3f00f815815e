// A queue pair fails at each step of a link's life, on simulated time: in the midst of its negotiation, of lanes that
// come and go, of data, windows, credits and blocks, of closes. Both ends are told, what was read is right, and the
// next connection is as good as the first.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/wire/ring_descriptor.h"
#include "gtest/gtest.h"
#include "tests/support/forwarding_device.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::stream {
namespace {

// What is said on a stream, and how much of it at once.
struct Manner {
  size_t up = 0;
  size_t down = 0;
  size_t at_once = 0;
};

// What is on a link.
struct Script {
  uint16_t lanes = 1;
  std::vector<Manner> streams;
};

constexpr size_t kPulled = 8000;  // and more, at once

// More than a ring or a window holds; blocks; little.
Script OneLane() { return {1, {{70'000, 70'000, 3000}, {3 * kPulled, 3 * kPulled, kPulled}, {3000, 3000, 700}}}; }
// So many messages that a lane comes, and leaves.
Script TwoLanes() { return {2, {{45'000, 900, 80}, {45'000, 900, 80}}}; }
constexpr size_t kStepsOfAWish = 100;  // until a lane has come, or gone

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr size_t kEvery = 25;  // step
#else
constexpr size_t kEvery = 1;
#endif

class NotedDevice final : public fabric::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> CreateQueuePair(const fabric::QueuePairOptions& options) override {
    auto made = ForwardingDevice::CreateQueuePair(options);
    if (made.ok()) queue_pairs.push_back(made->get());
    return made;
  }
  std::vector<fabric::QueuePair*> queue_pairs;  // all there have been
};

// The same in each life.
absl::string_view Words(size_t direction, size_t bytes) {
  static const std::string kTexts[] = {RandomText(100'000, 1), RandomText(100'000, 2)};
  return absl::string_view(kTexts[direction]).substr(0, bytes);
}

// One direction of a stream: `text` is written, and read.
class Direction {
 public:
  Direction(absl::string_view text, size_t at_once) : text_(text), at_once_(at_once) {}

  // Whether anything has moved.
  bool Step(Stream& from, Stream& to) {
    const bool written = Write(from);
    return Read(to) || written;
  }

  bool Read(Stream& to) {
    if (whole_ || lost_) return false;
    const auto [text, end] = ReadAll(to);
    EXPECT_EQ(text, text_.substr(read_, text.size()));
    read_ += text.size();
    if (absl::IsOutOfRange(end)) {
      EXPECT_EQ(read_, text_.size());
      whole_ = true;
    } else if (!end.ok()) {
      Lose(end);
    }
    return !text.empty() || !end.ok();
  }

  bool whole() const { return whole_; }
  bool lost() const { return lost_; }

 private:
  bool Write(Stream& from) {
    if (closed_ || lost_) return false;
    const auto taken = WriteText(from, text_.substr(written_, at_once_));
    if (!taken.ok()) {
      Lose(taken.status());
      return true;
    }
    written_ += *taken;
    if (written_ < text_.size()) return *taken > 0;
    from.CloseWrite();
    closed_ = true;
    return true;
  }

  void Lose(const absl::Status& why) {
    EXPECT_TRUE(absl::IsUnavailable(why)) << why;
    lost_ = true;
  }

  const absl::string_view text_;
  const size_t at_once_;
  size_t written_ = 0;
  size_t read_ = 0;
  bool closed_ = false;
  bool whole_ = false;
  bool lost_ = false;
};

// A stream, both ends of it. Who has lost it ends the connection that it was negotiated over, which tells the other.
class Talk {
 public:
  Talk(TwoEnds::Pair pair, const Manner& manner)
      : client_(std::move(pair.client)),
        server_(std::move(pair.server)),
        up_(Words(0, manner.up), manner.at_once),
        down_(Words(1, manner.down), manner.at_once) {}

  bool Step() {
    if (over()) return false;
    const bool up = up_.Step(*client_, *server_);
    const bool any = down_.Step(*server_, *client_) || up;
    if (up_.lost() || down_.lost()) Part();
    return any;
  }

  bool over() const { return client_ == nullptr || (up_.whole() && down_.whole()); }
  bool lost() const { return client_ == nullptr; }

 private:
  void Part() {
    client_->Drain();
    server_->Drain();
    down_.Read(*client_);
    up_.Read(*server_);
    client_ = nullptr;
    server_ = nullptr;
  }

  std::shared_ptr<Stream> client_;
  std::shared_ptr<Stream> server_;
  Direction up_;
  Direction down_;
};

struct Victim {
  FabricKindUnderTest fabric = FabricKindUnderTest::kSim;
  bool of_server = false;
  bool youngest = false;  // of its queue pairs; else the oldest
};

// The life of one link, in which `victim` fails before the step with this number.
class Life {
 public:
  Life(Script script, const Victim& victim, size_t at)
      : script_(std::move(script)), victim_(victim), at_(at), ends_(victim.fabric) {
    StreamOptions options;
    options.ring_bytes = wire::kRingGranule;
    options.window_bytes = 20'000;
    options.queue_pairs = script_.lanes;
    options.large_payload = kPulled;
    options.pool = [this](uint32_t, size_t lanes) { return Wish(lanes); };
    client_ = std::make_shared<NotedDevice>(ends_.client_device);
    server_ = std::make_shared<NotedDevice>(ends_.server_device);
    ends_.connector = CreateConnector(std::make_shared<OneFabric>(client_), options, &ends_.client_waiter);
    ends_.listener = CreateListener(std::make_shared<OneFabric>(server_), options, &ends_.server_waiter);
  }

  void Go() {
    TalkToTheEnd();
    ConnectAgain();
  }

  size_t steps() const { return steps_; }
  bool broken() const { return broken_; }
  // Steps at which another lane was wished for, and at which to be without it.
  const std::vector<size_t>& wishes() const { return wishes_; }

 private:
  void TalkToTheEnd() {
    std::vector<Talk> talks;
    for (const Manner& manner : script_.streams) {
      TwoEnds::Pair pair = Connect();
      if (pair.client != nullptr) talks.emplace_back(std::move(pair), manner);
    }
    for (bool any = true; any;) {
      any = Step();
      for (Talk& talk : talks) any |= talk.Step();
    }
    for (const Talk& talk : talks) {
      EXPECT_TRUE(talk.over()) << "nobody is told";
      EXPECT_TRUE(broken_ || !talk.lost());
    }
  }

  // Once all that was on it has gone.
  void ConnectAgain() {
    ends_.Pump();
    TwoEnds::Pair pair = ends_.Connect();
    if (pair.client == nullptr) {
      EXPECT_TRUE(broken_);
      EXPECT_EQ(pair.client_why.detail, "the link to the peer was lost meanwhile");
      pair = {};
      pair = ends_.Connect();
    }
    ASSERT_NE(pair.client, nullptr) << ToString(pair.client_why);
    ASSERT_NE(pair.server, nullptr) << ToString(pair.server_why);
    ASSERT_TRUE(WriteText(*pair.client, "again").ok());
    ASSERT_TRUE(WriteText(*pair.server, "as before").ok());
    ends_.Pump();
    EXPECT_EQ(ReadAll(*pair.server).first, "again");
    EXPECT_EQ(ReadAll(*pair.client).first, "as before");
    pair = {};
    ends_.Pump();
    EXPECT_EQ(ends_.client_waiter.watched(), 0U);
    EXPECT_EQ(ends_.server_waiter.watched(), 0U);
  }

  TwoEnds::Pair Connect() {
    TwoEnds::Pair pair;
    Step();
    const auto attempt = ends_.connector->Begin({});
    EXPECT_TRUE(attempt.ok()) << attempt.status();
    if (!attempt.ok()) return pair;
    Step();
    Listener::Result result = ends_.listener->Accept((*attempt)->offer(), {});
    Step();
    Outcome outcome = (*attempt)->Complete(result.answer);
    Step();
    EXPECT_TRUE(outcome.stream != nullptr || (broken_ && outcome.why.code != FallbackCode::kNone));
    if (outcome.stream == nullptr) return pair;  // and the server's end goes with it
    pair.client = std::move(outcome.stream);
    pair.server = std::move(result.outcome.stream);
    return pair;
  }

  // Whether anything happened.
  bool Step() {
    if (steps_++ == at_) Break();
    const bool event = ends_.simulation->Step();
    const bool client = ends_.client_waiter.PollAll();
    return ends_.server_waiter.PollAll() || client || event;
  }

  // The oldest or the youngest that there is still.
  void Break() {
    std::vector<fabric::QueuePair*> made = (victim_.of_server ? server_ : client_)->queue_pairs;
    if (victim_.youngest) std::reverse(made.begin(), made.end());
    for (fabric::QueuePair* const queue_pair : made) {
      if (broken_) return;
      broken_ = ends_.simulation->FailQueuePair(queue_pair);
    }
  }

  schedule::PoolWish Wish(size_t lanes) {
    const bool all = lanes == script_.lanes;
    if (wishes_.size() == (all ? 1 : 0)) wishes_.push_back(steps_);
    if (wishes_.size() == 2) return schedule::PoolWish::kFewer;
    return all ? schedule::PoolWish::kAsIs : schedule::PoolWish::kMore;
  }

  const Script script_;
  const Victim victim_;
  const size_t at_;
  size_t steps_ = 0;
  std::vector<size_t> wishes_;
  bool broken_ = false;
  TwoEnds ends_;
  std::shared_ptr<NotedDevice> client_;
  std::shared_ptr<NotedDevice> server_;
};

std::vector<Victim> Victims(const std::vector<bool>& ages) {
  std::vector<Victim> victims;
  for (const auto fabric : {FabricKindUnderTest::kSim, FabricKindUnderTest::kSilentSim}) {
    for (const bool of_server : {false, true}) {
      for (const bool youngest : ages) victims.push_back({fabric, of_server, youngest});
    }
  }
  return victims;
}

std::string NameOf(const Victim& victim) {
  return absl::StrCat(NameOf(victim.fabric), victim.youngest ? "_youngest" : "_oldest",
                      victim.of_server ? "_of_server" : "_of_client");
}

// Lives that end at each of these steps; in how many there was a queue pair that could fail.
size_t Break(const Script& script, const Victim& victim, size_t first, size_t end) {
  size_t broken = 0;
  for (size_t step = first; step < end && !testing::Test::HasFailure(); step += kEvery) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    Life life(script, victim, step);
    life.Go();
    broken += life.broken() ? 1 : 0;
  }
  return broken;
}

using ConnectionsLifeTest = testing::TestWithParam<Victim>;

TEST_P(ConnectionsLifeTest, IsBrokenAtEveryStep) {
  Life undisturbed(OneLane(), GetParam(), SIZE_MAX);
  undisturbed.Go();
  ASSERT_FALSE(HasFailure());
  const size_t steps = undisturbed.steps();
  EXPECT_GT(Break(OneLane(), GetParam(), 0, steps), steps / kEvery * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(Victims, ConnectionsLifeTest, testing::ValuesIn(Victims({false})),
                         [](const auto& info) { return NameOf(info.param); });

using LanesLifeTest = testing::TestWithParam<Victim>;

TEST_P(LanesLifeTest, IsBrokenAtEveryStepOfItsComingAndGoing) {
  Life undisturbed(TwoLanes(), GetParam(), SIZE_MAX);
  undisturbed.Go();
  ASSERT_FALSE(HasFailure());
  ASSERT_EQ(undisturbed.wishes().size(), 2U);
  for (const size_t wish : undisturbed.wishes()) {
    EXPECT_EQ(Break(TwoLanes(), GetParam(), wish, wish + kStepsOfAWish), kStepsOfAWish / kEvery);
  }
}

INSTANTIATE_TEST_SUITE_P(Victims, LanesLifeTest, testing::ValuesIn(Victims({false, true})),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace skein::stream
