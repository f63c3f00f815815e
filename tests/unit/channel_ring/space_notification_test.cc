// A sender that lacks space and goes to sleep, and a reader that makes space and goes to sleep: no order of their steps
// and of what is under way between them leaves the sender asleep over space that there is.
#include <memory>
#include <string>
#include <vector>

#include "core/channel/ring/ring_group.h"
#include "core/fabric/sim/simulation.h"
#include "gtest/gtest.h"
#include "tests/support/every_order.h"
#include "tests/support/out_item.h"
#include "tests/support/watched_device.h"

namespace skein::channel {
namespace {

constexpr size_t kPayload = 15'000;  // no more than four of these fit into the ring

struct Habits {
  bool trusts = false;       // the reader has said that it is awake, and the sender is quiet: nothing rings at first
  bool sender_rings = true;  // when it ceases to be quiet
};

fabric::SimConfig Calm() {
  fabric::SimConfig config;
  config.jitter = absl::ZeroDuration();
  config.write_spread = absl::ZeroDuration();
  return config;
}

struct End {
  explicit End(std::shared_ptr<fabric::Device> of) : device(std::make_shared<fabric::WatchedDevice>(std::move(of))) {}

  absl::Status Send(wire::ItemKind kind, const std::string& payload) const {
    const absl::Span<const std::byte> part(reinterpret_cast<const std::byte*>(payload.data()), payload.size());
    OutItem item;
    item.header.kind = kind;
    Carry(item, {&part, 1});
    if (absl::Status laid = channel->Lay({&item, 1}, Use::kData); !laid.ok()) return laid;
    return channel->Publish(0);
  }
  void Upkeep() const {
    const bool renews = channel->TakeRenewal();
    EXPECT_TRUE(!renews || channel->AnswerRenewal(true).ok());
    EXPECT_TRUE(channel->Heed().ok());
    EXPECT_TRUE(channel->Tend().ok());
  }

  const std::shared_ptr<fabric::WatchedDevice> device;
  const std::unique_ptr<RingGroup> group = RingGroup::Create(device).value();
  const std::unique_ptr<Channel> channel = group->Open({wire::kRingGranule}).value();
  int step = 0;
  bool asleep = false;
};

class Encounter {
 public:
  explicit Encounter(const Habits& habits) : habits_(habits) {
    const Channel::Answer answer = reader_.channel->Accept(sender_.channel->Offer().value()).value();
    EXPECT_TRUE(sender_.channel->Complete(answer).ok());
    EXPECT_TRUE(sender_.Send(wire::ItemKind::kHello, sender_.channel->Greeting()).ok());
    simulation_.RunUntilIdle();
    ReadOne();
    if (habits_.trusts) {
      reader_.group->suppression().presence = Presence::kAwake;
      reader_.channel->TellPresence();
      sender_.group->suppression().quiet = true;
    }
    reader_.Upkeep();
    simulation_.RunUntilIdle();
    sender_.Upkeep();
    int unread = 0;
    while (sender_.Send(wire::ItemKind::kData, std::string(kPayload, 'x')).ok()) ++unread;  // without asking for space
    simulation_.RunUntilIdle();
    // What the reader tells of all but the last is still under way.
    for (; unread > 1; --unread) {
      ReadOne();
      reader_.Upkeep();
    }
  }

  enum Who { kReader, kSender, kNetwork };
  // False: it has nothing to do.
  bool Step(Who who) {
    switch (who) {
      case kReader:
        return StepReader();
      case kSender:
        return StepSender();
      case kNetwork:
        return simulation_.Step();
    }
    return false;
  }
  bool done() const { return has_space_; }

 private:
  void ReadOne() {
    reader_.group->Look();
    const absl::StatusOr<std::optional<InMessage>> message = reader_.channel->Next();
    if (!message.ok() || !message->has_value()) return;
    wire::ItemWalk items = (*message)->walk();
    const wire::Item item = items.Next().value();
    if (item.header.kind == wire::ItemKind::kHello) {
      EXPECT_TRUE(
          reader_.channel->OnGreeting({reinterpret_cast<const char*>(item.payload.data()), item.payload.size()}).ok());
    }
    reader_.channel->Pop();
  }
  bool Sleeps(End& end) {
    if (!end.asleep) return false;
    if (!simulation_.WouldWake(end.device->completions)) return true;
    end.asleep = false;
    end.step = 0;
    end.group->AckEvents();
    return false;
  }
  static bool HasWork(End& end) {
    end.group->Look();
    return end.channel->Readable() || end.channel->MoreSpace() || end.channel->renewal_waits();
  }
  void TellReader(Presence presence) {
    if (!habits_.trusts) return;
    reader_.group->suppression().presence = presence;
    if (presence == Presence::kMaySleep) reader_.channel->TellPresence();
  }

  bool StepReader() {
    if (Sleeps(reader_)) return false;
    switch (reader_.step++) {
      case 0:
        TellReader(Presence::kAwake);
        ReadOne();
        return true;
      case 1:
        if (reader_.channel->AfterReading() || reader_.channel->MoreSpace()) reader_.Upkeep();
        if (HasWork(reader_)) reader_.step = 0;
        return true;
      case 2:
        TellReader(Presence::kMaySleep);
        EXPECT_TRUE(reader_.group->Arm().ok());
        return true;
      default:
        reader_.asleep = !HasWork(reader_);
        reader_.step = 0;
        return true;
    }
  }

  bool StepSender() {
    if (has_space_ || Sleeps(sender_)) return false;
    switch (sender_.step++) {
      case 0:
        if (sender_.channel->MoreSpace()) sender_.Upkeep();
        has_space_ = sender_.channel->Space(Use::kData) >= wire::ItemBytes(kPayload);
        return true;
      case 1:
        sender_.group->suppression().quiet = false;
        if (habits_.sender_rings) sender_.channel->RingForUnseen();
        EXPECT_TRUE(sender_.group->Arm().ok());
        return true;
      default:
        sender_.asleep = !HasWork(sender_);
        sender_.step = 0;
        if (habits_.trusts && !sender_.asleep) sender_.group->suppression().quiet = true;
        return true;
    }
  }

  const Habits habits_;
  fabric::Simulation simulation_{20261128, Calm()};
  End sender_{simulation_.CreateDevice("sender")};
  End reader_{simulation_.CreateDevice("reader")};
  bool has_space_ = false;
};

int Losses(const Habits& habits, int& runs) { return LossesInEveryOrder<Encounter>(habits, runs); }

TEST(SpaceNotificationTest, NoOrderLeavesASenderAsleep) {
  for (const bool trusts : {false, true}) {
    int runs = 0;
    EXPECT_EQ(Losses({.trusts = trusts}, runs), 0) << trusts;
    EXPECT_GT(runs, 300) << trusts;
  }
}

// That the orders are those in which it could stay asleep.
TEST(SpaceNotificationTest, WithoutANotificationItDoes) {
  int runs = 0;
  EXPECT_GT(Losses({.trusts = true, .sender_rings = false}, runs), 0);
}

}  // namespace
}  // namespace skein::channel
