// At each step of a link's life, on simulated time, a queue pair fails, or an end's process dies: in the midst of its
// negotiation, of data, windows, credits and blocks, of closes. Or else the device refuses it one of the things that it
// asks for. The surviving end is told, all bytes read are right, the next connection is as good as the first, and
// nothing is kept.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/wire/ring_descriptor.h"
#include "gtest/gtest.h"
#include "tests/support/noted_device.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::stream {
namespace {

// What is said on a stream, and how much of it at once.
struct Manner {
  size_t up = 0;
  size_t down = 0;
  size_t at_once = 0;
};

// What is on a link, one of its streams each.
using Script = std::vector<Manner>;

constexpr size_t kPulled = 8000;  // and more, at once

// More than a ring or a window holds; blocks; little.
const Script& Streams() {
  static const Script streams = {{70'000, 70'000, 3000}, {3 * kPulled, 3 * kPulled, kPulled}, {3000, 3000, 700}};
  return streams;
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr size_t kEvery = 25;  // step
#else
constexpr size_t kEvery = 1;
#endif

// The same in each life.
absl::string_view Words(size_t direction, size_t bytes) {
  static const std::string kTexts[] = {RandomText(100'000, 1), RandomText(100'000, 2)};
  return absl::string_view(kTexts[direction]).substr(0, bytes);
}

// One direction of a stream: `text` is written, and read.
class Direction {
 public:
  Direction(absl::string_view text, size_t at_once) : text_(text), at_once_(at_once) {}

  // Whether anything has moved. Null: an end that is dead.
  bool Step(Stream* from, Stream* to) {
    const bool written = from != nullptr && Write(*from);
    return (to != nullptr && Read(*to)) || written;
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
        mourns_(client_ == nullptr || server_ == nullptr),
        up_(Words(0, manner.up), manner.at_once),
        down_(Words(1, manner.down), manner.at_once) {}

  bool Step() {
    if (over()) return false;
    const bool up = up_.Step(client_.get(), server_.get());
    const bool any = down_.Step(server_.get(), client_.get()) || up;
    if (up_.lost() || down_.lost()) Part();
    if (up_.whole() && down_.whole()) client_ = server_ = nullptr;
    return any || over();
  }
  void Die(bool of_server) {
    if (over()) return;
    (of_server ? server_ : client_) = nullptr;
    mourns_ = true;
  }
  // It is over where it goes on.
  void Part() {
    for (const auto& end : {client_, server_}) {
      if (end != nullptr) end->Drain();
    }
    if (client_ != nullptr) ReadTheRest(down_, *client_);
    if (server_ != nullptr) ReadTheRest(up_, *server_);
    lost_ = true;
    client_ = server_ = nullptr;
  }

  bool over() const { return client_ == nullptr && server_ == nullptr; }
  bool lost() const { return lost_; }
  bool mourns() const { return mourns_; }  // one end was dead before it was over

 private:
  // Of a link that is over, no reader is left without a word.
  static void ReadTheRest(Direction& direction, Stream& to) {
    direction.Read(to);
    EXPECT_TRUE(!to.link()->finished() || direction.whole() || direction.lost());
  }

  std::shared_ptr<Stream> client_;
  std::shared_ptr<Stream> server_;
  bool mourns_;
  bool lost_ = false;
  Direction up_;
  Direction down_;
};

enum class Harm {
  kFailure,   // of a queue pair
  kDeath,     // of its process, silently; another takes its place. kSilentSim: as if by the host's loss of power
  kRefusal,   // of one thing that it asks its device for
  kRefusals,  // of all from then on
};

struct Victim {
  FabricKindUnderTest fabric = FabricKindUnderTest::kSim;
  bool of_server = false;
  bool youngest = false;  // of its queue pairs; else the oldest
  Harm harm = Harm::kFailure;
};

// The life of one link, in which `victim` comes to harm before the step with this number, or what it asks its device
// for as number `at` is refused.
class Life {
 public:
  Life(const Victim& victim, size_t at) : victim_(victim), at_(at), ends_(victim.fabric) {
    options_.link.ring_bytes = wire::kRingGranule;
    options_.window_bytes = 20'000;
    options_.large_payload = kPulled;
    for (const bool server : {false, true}) Start(server);
  }

  void Go() {
    TalkToTheEnd();
    asked_ = device().asked();
    device().Relent();
    ConnectAgain();
    ExpectNothingKept();
  }

  size_t steps() const { return steps_; }
  // What the victim has asked its device for in all these steps.
  size_t asked() const { return asked_; }
  bool harmed() const { return harmed_ || devices_[victim_.of_server]->refused() > 0; }

 private:
  // A process, of the server or of the client.
  void Start(bool server) {
    std::shared_ptr<fabric::NotedDevice>& device = devices_[server];
    fabric::Refusals refusals;
    const bool refuses = victim_.harm == Harm::kRefusal || victim_.harm == Harm::kRefusals;
    if (refuses && server == victim_.of_server && at_ < SIZE_MAX) {
      refusals = {at_, victim_.harm == Harm::kRefusal ? at_ + 1 : SIZE_MAX};
    }
    device =
        std::make_shared<fabric::NotedDevice>(ends_.simulation->CreateDevice(server ? "server" : "client"), refusals);
    all_devices_.push_back(device);
    if (server) {
      ends_.listener = CreateListener(std::make_shared<connect::OneFabric>(device), options_, &ends_.server_waiter);
    } else {
      ends_.connector = CreateConnector(std::make_shared<connect::OneFabric>(device), options_, &ends_.client_waiter);
    }
  }
  fabric::NotedDevice& device() const { return *devices_[victim_.of_server]; }

  void TalkToTheEnd() {
    for (const Manner& manner : Streams()) {
      TwoEnds::Pair pair = Connect();
      const bool any = pair.client != nullptr || pair.server != nullptr;
      if (any) talks_.emplace_back(std::move(pair), manner);
    }
    for (bool any = true; any;) {
      any = Step();
      for (Talk& talk : talks_) any |= talk.Step();
      any = any || TellMourners();
    }
    for (const Talk& talk : talks_) {
      EXPECT_TRUE(talk.over()) << "nobody is told";
      EXPECT_TRUE(!talk.lost() || MayBeLost(talk));
    }
    EXPECT_TRUE(victim_.harm != Harm::kRefusal || talks_.size() + 1 >= Streams().size());
    talks_.clear();
  }

  // What is refused costs no stream that both ends have: there is none, then, or it goes another way.
  bool MayBeLost(const Talk& talk) const {
    return victim_.harm == Harm::kFailure ? harmed_ : victim_.harm == Harm::kDeath && talk.mourns();
  }

  // Once all that was on it has gone.
  void ConnectAgain() {
    ends_.Pump();
    TwoEnds::Pair pair = ends_.Connect();
    if (pair.client == nullptr) {
      EXPECT_TRUE(harmed() && victim_.harm != Harm::kDeath);
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
  }

  void ExpectNothingKept() {
    ends_.Pump();
    EXPECT_EQ(ends_.client_waiter.watched(), 0U);
    EXPECT_EQ(ends_.server_waiter.watched(), 0U);
    for (const auto& device : all_devices_) {
      EXPECT_EQ(device->bytes(), 0U);
      for (fabric::QueuePair* const each : device->queue_pairs) EXPECT_FALSE(ends_.simulation->FailQueuePair(each));
    }
  }

  // Either end may have died meanwhile, and then have none of it.
  TwoEnds::Pair Connect() {
    TwoEnds::Pair pair;
    Step();
    const auto attempt = ends_.connector->Begin({});
    EXPECT_TRUE(attempt.ok() || harmed()) << attempt.status();
    const bool before = dead_;
    Step();
    if (!attempt.ok() || dead_ != before) return pair;
    Listener::Result result = ends_.listener->Accept((*attempt)->offer(), {});
    Step();
    const bool client_died = dead_ != before && !victim_.of_server;
    Outcome outcome = client_died ? Outcome() : (*attempt)->Complete(result.answer);
    Step();
    const bool failed = outcome.stream == nullptr && outcome.why.code != FallbackCode::kNone;
    EXPECT_TRUE(outcome.stream != nullptr || client_died || (harmed() && failed));
    if (outcome.stream == nullptr) return pair;  // and the server's end goes with it
    pair.client = std::move(outcome.stream);
    pair.server = std::move(result.outcome.stream);
    if (dead_ != before) (victim_.of_server ? pair.server : pair.client) = nullptr;
    return pair;
  }

  // Whether anything happened.
  bool Step() {
    if (steps_++ == at_) DoHarm();
    const bool event = ends_.simulation->Step();
    const bool client = ends_.client_waiter.PollAll();
    return ends_.server_waiter.PollAll() || client || event;
  }

  void DoHarm() {
    if (victim_.harm == Harm::kFailure) Break();
    if (victim_.harm == Harm::kDeath) Kill();
  }

  // The oldest or the youngest that there is still.
  void Break() {
    std::vector<fabric::QueuePair*> made = device().queue_pairs;
    if (victim_.youngest) std::reverse(made.begin(), made.end());
    for (fabric::QueuePair* const queue_pair : made) {
      if (harmed_) return;
      harmed_ = ends_.simulation->FailQueuePair(queue_pair);
    }
  }

  // Where the fabric would tell, so do the connections that it carried the negotiations of; else they are the last to.
  void Kill() {
    dead_ = harmed_ = true;
    ends_.simulation->KillDevice(victim_.of_server ? "server" : "client");
    for (Talk& talk : talks_) talk.Die(victim_.of_server);
    (victim_.of_server ? ends_.server_waiter : ends_.client_waiter).PollAll();
    Start(victim_.of_server);
    if (victim_.fabric == FabricKindUnderTest::kSim) TellMourners();
  }

  // Whether there were any.
  bool TellMourners() {
    bool any = false;
    for (Talk& talk : talks_) {
      if (talk.over() || !talk.mourns()) continue;
      talk.Part();
      any = true;
    }
    return any;
  }

  const Victim victim_;
  const size_t at_;
  StreamOptions options_;
  size_t steps_ = 0;
  size_t asked_ = 0;
  bool harmed_ = false;
  bool dead_ = false;
  std::array<std::shared_ptr<fabric::NotedDevice>, 2> devices_;  // the client's, the server's
  std::vector<std::shared_ptr<fabric::NotedDevice>> all_devices_;
  TwoEnds ends_;
  std::vector<Talk> talks_;
};

std::vector<Victim> Victims(Harm harm, const std::vector<bool>& ages) {
  std::vector<Victim> victims;
  for (const auto fabric : {FabricKindUnderTest::kSim, FabricKindUnderTest::kSilentSim}) {
    for (const bool of_server : {false, true}) {
      for (const bool youngest : ages) victims.push_back({fabric, of_server, youngest, harm});
    }
  }
  return victims;
}

std::string NameOf(const Victim& victim) {
  const absl::string_view side = victim.of_server ? "server" : "client";
  if (victim.harm != Harm::kFailure) return absl::StrCat(NameOf(victim.fabric), "_", side);
  return absl::StrCat(NameOf(victim.fabric), victim.youngest ? "_youngest" : "_oldest", "_of_", side);
}

// Lives that end at each of these steps; in how many there was a victim.
size_t Break(const Victim& victim, size_t end) {
  size_t broken = 0;
  for (size_t step = 0; step < end && !testing::Test::HasFailure(); step += kEvery) {
    SCOPED_TRACE(absl::StrCat("step ", step));
    Life life(victim, step);
    life.Go();
    broken += life.harmed() ? 1 : 0;
  }
  return broken;
}

using ConnectionsLifeTest = testing::TestWithParam<Victim>;

TEST_P(ConnectionsLifeTest, IsBrokenAtEveryStep) {
  Life undisturbed(GetParam(), SIZE_MAX);
  undisturbed.Go();
  ASSERT_FALSE(HasFailure());
  const size_t steps = undisturbed.steps();
  EXPECT_GT(Break(GetParam(), steps), steps / kEvery * 9 / 10);
}

INSTANTIATE_TEST_SUITE_P(Victims, ConnectionsLifeTest, testing::ValuesIn(Victims(Harm::kFailure, {false})),
                         [](const auto& info) { return NameOf(info.param); });

using PeersDeathTest = testing::TestWithParam<Victim>;

TEST_P(PeersDeathTest, AtEveryStep) {
  Life undisturbed(GetParam(), SIZE_MAX);
  undisturbed.Go();
  ASSERT_FALSE(HasFailure());
  const size_t steps = undisturbed.steps();
  EXPECT_EQ(Break(GetParam(), steps), (steps + kEvery - 1) / kEvery);
}

INSTANTIATE_TEST_SUITE_P(Victims, PeersDeathTest, testing::ValuesIn(Victims(Harm::kDeath, {false})),
                         [](const auto& info) { return NameOf(info.param); });

using RefusedLifeTest = testing::TestWithParam<Victim>;

TEST_P(RefusedLifeTest, WhateverItAsksForIsRefusedOnce) {
  Life undisturbed(GetParam(), SIZE_MAX);
  undisturbed.Go();
  ASSERT_FALSE(HasFailure());
  ASSERT_GT(undisturbed.asked(), 10U);
  for (size_t number = 0; number < undisturbed.asked() && !HasFailure(); ++number) {
    SCOPED_TRACE(absl::StrCat("refused: number ", number));
    Life life(GetParam(), number);
    life.Go();
    EXPECT_TRUE(life.harmed());
  }
}

INSTANTIATE_TEST_SUITE_P(Once, RefusedLifeTest, testing::ValuesIn(Victims(Harm::kRefusal, {false})),
                         [](const auto& info) { return NameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(FromThenOn, RefusedLifeTest, testing::ValuesIn(Victims(Harm::kRefusals, {false})),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace skein::stream
