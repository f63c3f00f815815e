// Who polls when: one owner at a time, and nobody is told "all is read" while another still has hold of something.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "core/link/shares.h"
#include "core/schedule/turns.h"
#include "core/wire/immediate.h"
#include "gtest/gtest.h"
#include "tests/support/hooked_device.h"
#include "tests/support/noted_device.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/hostile_peer.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

// Runs something in the middle of a poll, as an observer may.
class InterruptingPort final : public Port {
 public:
  InterruptingPort(uint32_t stream, std::function<void()> notified) : Port(stream), notified_(std::move(notified)) {}
  absl::Status OnData(absl::Span<const std::byte> payload) override {
    received += payload.size();
    return absl::OkStatus();
  }
  absl::Status OnOpen(uint64_t) override { return absl::OkStatus(); }
  absl::Status OnWindow(uint64_t) override { return absl::OkStatus(); }
  absl::Status OnCloseWrite() override { return absl::OkStatus(); }
  void OnAbort(std::string) override {}
  void OnSpace() override { on_space(); }
  void OnLost(const absl::Status&) override {}
  void Notify() override { notified_(); }

  size_t received = 0;
  std::function<void()> on_space = [] {};

 private:
  const std::function<void()> notified_;
};

class PollingTest : public testing::Test {
 protected:
  PollingTest() {
    const Link::Answer accepted = server_->Accept(client_->Offer().value()).value();
    EXPECT_TRUE(client_->Complete(accepted).ok());
    const uint32_t stream = server_->ports().NewNumber();
    from_ = std::make_shared<RecordingPort>(stream);
    to_ = std::make_shared<InterruptingPort>(stream, [this] { notified_(); });
    EXPECT_TRUE(client_->ports().Add(from_).ok());
    EXPECT_TRUE(server_->ports().Add(to_).ok());
  }

  static ConstBytes BytesOf(absl::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
  }
  // A client's, of a stream that the server hears.
  std::shared_ptr<InterruptingPort> NewPort() {
    const uint32_t stream = server_->ports().NewNumber();
    auto port = std::make_shared<InterruptingPort>(stream, [] {});
    EXPECT_TRUE(client_->ports().Add(port).ok());
    EXPECT_TRUE(server_->ports().Add(std::make_shared<RecordingPort>(stream)).ok());
    return port;
  }
  void Say(absl::string_view text) {
    const ConstBytes bytes = BytesOf(text);
    EXPECT_EQ(client_->Send(*from_, {&bytes, 1}, text.size()).value_or(0), text.size());
    simulation_.RunUntilIdle();
  }

  fabric::Simulation simulation_{20261121};
  const std::shared_ptr<fabric::Device> server_device_ = simulation_.CreateDevice("server");
  const std::shared_ptr<fabric::Device> client_device_ = simulation_.CreateDevice("client");
  const std::shared_ptr<Link> server_ = LinkOn(server_device_, {wire::kRingGranule});
  const std::shared_ptr<Link> client_ = LinkOn(client_device_, {wire::kRingGranule});
  std::function<void()> notified_ = [] {};
  std::shared_ptr<RecordingPort> from_;
  std::shared_ptr<InterruptingPort> to_;
};

TEST_F(PollingTest, DrainTakesEverythingThatHasArrived) {
  for (int i = 0; i < 30; ++i) Say("a part;");
  EXPECT_TRUE(server_->Drain());
  EXPECT_EQ(to_->received, 210u);
}

// A thread that accepts a connection drains links, and must get away again.
TEST_F(PollingTest, DrainComesToAnEndThoughThePeerDoesNot) {
  constexpr size_t kEndless = 100 * wire::kRingGranule;
  const std::string part(8 << 10, 'x');
  notified_ = [&] {
    simulation_.RunUntilIdle();
    client_->Poll();  // hears that there is space again
    if (to_->received < kEndless) Say(part);
  };
  Say(part);
  EXPECT_TRUE(server_->Drain());
  EXPECT_GE(to_->received, wire::kRingGranule / 2);
  EXPECT_LE(to_->received, 2 * wire::kRingGranule);
  while (server_->Poll()) {
  }
  EXPECT_GE(to_->received, kEndless) << "the rest is there for who polls next";
}

// It asks again when it is about to be answered: what comes then is found by the look after arming.
TEST_F(PollingTest, DrainComesToAnEndThoughThePeerAsksForCreditsWithoutEnd) {
  constexpr int kEndless = 500;  // answers
  HostilePeer peer(simulation_);
  int asked = 0;
  const auto ask = [&] {
    ++asked;
    peer.Ring(wire::kRenewal);
  };
  const auto look_at_the_clock = [&] {
    if (asked > 0 && asked < kEndless) ask();
    return absl::UnixEpoch();
  };
  const auto shares = std::make_shared<Shares>(schedule::kMaxActiveQueuePairs, Shares::kTurn, look_at_the_clock);
  const auto device = std::make_shared<fabric::NotedDevice>(simulation_.CreateDevice("victim"));
  const std::shared_ptr<Link> victim = LinkOn(device, {.ring_bytes = wire::kRingGranule, .shares = shares});
  const Link::Answer accepted = victim->Accept(peer.Offer()).value();
  peer.Attach(accepted.ring, accepted.connection);
  peer.WriteItem(peer.Hello());
  EXPECT_TRUE(victim->Drain());

  ask();
  EXPECT_TRUE(victim->Drain());
  EXPECT_GT(asked, 10);
  EXPECT_LT(asked, 100);
  EXPECT_TRUE(simulation_.WouldWake(device->completion_queues.at(0))) << "the rest is there for who polls next";
  for (int i = 0; i < kEndless; ++i) victim->Poll();
  EXPECT_EQ(asked, kEndless);
  EXPECT_FALSE(victim->finished());
}

TEST_F(PollingTest, DrainSaysThatAnotherIsPolling) {
  int drained = 0;
  int refused = 0;
  notified_ = [&] { ++(server_->Drain() ? drained : refused); };
  Say("while this is in the poller's hands");
  while (server_->Poll()) {
  }
  EXPECT_EQ(drained, 0);
  EXPECT_EQ(refused, 1);
  EXPECT_TRUE(server_->Drain()) << "nobody polls any more";
}

TEST_F(PollingTest, PollWithinAPollFindsNothing) {
  notified_ = [&] { EXPECT_FALSE(server_->Poll()); };
  Say("once");
  EXPECT_TRUE(server_->Poll());
  EXPECT_EQ(to_->received, 4u);
}

TEST_F(PollingTest, WhoArmsWithinAPollMissesNothing) {
  // Arrives after the poll has read the ring, and after its reader went to sleep.
  notified_ = [this, said = false]() mutable {
    if (std::exchange(said, true)) return;
    EXPECT_TRUE(server_->Arm());
    Say("late");
  };
  Say("early");
  server_->Poll();
  EXPECT_EQ(to_->received, 9u);
}

// A device that has told, when nobody looked, is not taken for one that tells nothing.
TEST_F(PollingTest, WhoAsksForThePeerTakesFirstWhatHasCompleted) {
  Say("a word");
  EXPECT_FALSE(client_->flushing().Flushed()) << "asks for a completion";
  simulation_.RunUntilIdle();
  ASSERT_FALSE(client_->flushing().Flushed()) << "has taken it already";
  EXPECT_TRUE(client_->StillConnected());
  EXPECT_TRUE(client_->flushing().Flushed());
}

TEST_F(PollingTest, WhoHearsThatAllIsFlushedLeavesOthersToBeTold) {
  int told = 0;
  client_->flushing().set_on_flushed([&] { ++told; });
  Say("a word");
  EXPECT_FALSE(client_->flushing().Flushed()) << "is to be told";
  while (client_->Poll()) {
  }
  EXPECT_EQ(told, 0);
  simulation_.RunUntilIdle();
  EXPECT_TRUE(client_->StillConnected());
  EXPECT_TRUE(client_->flushing().Flushed()) << "asks in between";
  while (client_->Poll()) {
  }
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(server_->Drain());
  server_->SendControl(to_, wire::ItemKind::kCloseWrite, {});
  simulation_.RunUntilIdle();
  EXPECT_TRUE(client_->Poll());
  EXPECT_EQ(told, 1) << "nobody has asked since";
}

// Few requests complete, and a completion would wake as well: in some of these runs none does.
class PollingAfterMessagesTest : public PollingTest, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(UpToACompletion, PollingAfterMessagesTest, testing::Range(0, 16));

// While one port hears of space it uses that up, another begins to wait, and the peer makes space again.
TEST_P(PollingAfterMessagesTest, WhoBeginsToWaitWhileOthersAreToldHearsOfSpaceToo) {
  for (int i = 0; i < GetParam(); ++i) Say("a message");
  const auto first = NewPort();
  const auto second = NewPort();
  const auto fill = [this](InterruptingPort& port) {
    const std::string words(16384, 'x');
    const ConstBytes bytes = BytesOf(words);
    while (client_->Send(port, {&bytes, 1}, bytes.size()).value_or(0) > 0) {
    }
  };
  const auto server_reads = [this] {
    simulation_.RunUntilIdle();
    EXPECT_TRUE(server_->Drain());
    simulation_.RunUntilIdle();
  };
  bool told = false;
  first->on_space = [&, once = false]() mutable {
    if (std::exchange(once, true)) return;
    fill(*first);
    fill(*second);
    server_reads();
  };
  second->on_space = [&] { told = true; };
  fill(*first);
  server_reads();
  do client_->Poll();
  while (!client_->Arm());
  EXPECT_TRUE(told);
}

// There is some space, which is less than the item takes, and the peer reads nothing.
TEST_F(PollingTest, WhoWaitsForSpaceForAWholeItemKeepsNobodyAwake) {
  const auto port = NewPort();
  const std::string words(client_->channel().LargestItem(), 'x');
  const ConstBytes bytes = BytesOf(words);
  const Gathered item(&bytes, 1);
  int sent = 0;
  const auto fill = [&] {
    while (client_->SendItems(*port, {&item, 1}).value_or(0) > 0) ++sent;
  };
  port->on_space = fill;
  fill();
  EXPECT_EQ(sent, 3) << "of the four that the ring is as large as";
  simulation_.RunUntilIdle();
  int polls = 1;
  for (client_->Poll(); !client_->Arm() && polls < 10; client_->Poll()) ++polls;
  EXPECT_LT(polls, 10);
  EXPECT_TRUE(server_->Drain());
  simulation_.RunUntilIdle();
  client_->Poll();
  EXPECT_GT(sent, 3);
}

TEST_F(PollingTest, ALostLinkIsDrained) {
  Say("last words");
  server_->Close();
  EXPECT_TRUE(server_->Drain());
  EXPECT_EQ(to_->received, 10u);
  EXPECT_TRUE(server_->finished());
  EXPECT_TRUE(server_->Drain());
}

// The poller has found the rings empty, and asks now whether the peer is still there.
TEST(PollingAtTheEnd, WordsThatComeJustBeforeTheEndAreDelivered) {
  fabric::Simulation simulation(20261128);
  std::function<void()> looked = [] {};
  fabric::Hooks hooks;
  hooks.looking = [&looked] { std::exchange(looked, [] {})(); };
  const std::shared_ptr<Link> client = LinkOn(simulation.CreateDevice("client"), {wire::kRingGranule});
  const std::shared_ptr<Link> server =
      LinkOn(std::make_shared<fabric::HookedDevice>(simulation.CreateDevice("server"), std::move(hooks)),
             {wire::kRingGranule});
  ASSERT_TRUE(client->Complete(server->Accept(client->Offer().value()).value()).ok());
  const uint32_t stream = server->ports().NewNumber();
  const auto from = std::make_shared<RecordingPort>(stream);
  const auto to = std::make_shared<InterruptingPort>(stream, [] {});
  ASSERT_TRUE(client->ports().Add(from).ok());
  ASSERT_TRUE(server->ports().Add(to).ok());
  simulation.RunUntilIdle();
  EXPECT_TRUE(server->Drain());
  looked = [&] {
    const absl::string_view text = "last words";
    const ConstBytes bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
    EXPECT_EQ(client->Send(*from, {&bytes, 1}, text.size()).value_or(0), text.size());
    simulation.RunUntilIdle();
    server->Close();
  };
  while (!server->finished()) server->Poll();
  EXPECT_EQ(to->received, 10u);
}

}  // namespace
}  // namespace skein::link
