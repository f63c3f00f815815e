// Messages without a notification: no order of a reader that goes to sleep, a writer that trusts it to be awake, and
// what is under way between them leaves a message unseen.
#include "core/channel/notification_suppression.h"

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "gtest/gtest.h"
#include "tests/support/every_order.h"
#include "tests/support/ring_link.h"
#include "tests/support/watched_device.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

struct Habits {
  bool reader_tells = true;  // before it sleeps
  bool writer_rings = true;  // when it stops polling
  int writer_polls = 1;      // before it does
};

fabric::SimConfig Calm() {
  fabric::SimConfig config;
  config.jitter = absl::ZeroDuration();
  config.write_spread = absl::ZeroDuration();
  return config;
}

// A reader that has said it is awake and a writer that has heard it, and what each does next, step by step.
class Encounter {
 public:
  explicit Encounter(const Habits& habits) : habits_(habits) {
    const Link::Answer accepted = reader_->Accept(writer_->Offer().value()).value();
    EXPECT_TRUE(writer_->Complete(accepted).ok());
    const uint32_t stream = reader_->ports().NewNumber();
    from_ = std::make_shared<RecordingPort>(stream);
    to_ = std::make_shared<RecordingPort>(stream);
    EXPECT_TRUE(writer_->ports().Add(from_).ok());
    EXPECT_TRUE(reader_->ports().Add(to_).ok());
    writer_->Poll();  // says hello
    Settle();
    reader_->Tell(Presence::kAwake);
    Send(*reader_, *to_, "awake");
    Settle();
    EXPECT_EQ(from_->data, "awake");
  }
  ~Encounter() {
    for (Link* link : {writer_.get(), reader_.get()}) {
      link->Close();
      link->Poll();
    }
  }

  enum Who { kReader, kWriter, kNetwork };
  // False: it has nothing to do.
  bool Step(Who who) {
    switch (who) {
      case kReader:
        return StepReader();
      case kWriter:
        return StepWriter();
      case kNetwork:
        return simulation_.Step();
    }
    return false;
  }
  bool asleep() const { return asleep_ && !simulation_.WouldWake(device_->completions); }
  bool done() const { return to_->data == "hear"; }

 private:
  bool StepReader() {
    if (asleep_) {
      if (asleep()) return false;
      asleep_ = false;
      reader_step_ = 0;
      reader_->Tell(Presence::kAwake);
    }
    switch (reader_step_++) {
      case 0:
        reader_->Poll();
        return true;
      case 1:
        if (habits_.reader_tells) reader_->Tell(Presence::kMaySleep);
        return true;
      default:
        asleep_ = reader_->Arm();
        reader_step_ = 0;
        if (!asleep_) reader_->Tell(Presence::kAwake);
        return true;
    }
  }

  bool StepWriter() {
    const int step = writer_step_++;
    if (step == 0) {
      writer_->BeginQuiet();
      Send(*writer_, *from_, "hear");
    } else if (step <= habits_.writer_polls) {
      writer_->Poll();
    } else if (step == habits_.writer_polls + 1 && habits_.writer_rings) {
      writer_->EndQuiet();
    } else {
      return false;
    }
    return true;
  }

  static void Send(Link& link, Port& port, absl::string_view text) {
    const ConstBytes bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
    EXPECT_EQ(link.Send(port, {&bytes, 1}, text.size()).value_or(0), text.size());
  }
  void Settle() {
    do {
      simulation_.RunUntilIdle();
    } while (writer_->Poll() || reader_->Poll());
  }

  const Habits habits_;
  fabric::Simulation simulation_{20261121, Calm()};
  const std::shared_ptr<fabric::WatchedDevice> device_ =
      std::make_shared<fabric::WatchedDevice>(simulation_.CreateDevice("reader"));
  const std::shared_ptr<Link> reader_ = LinkOn(device_, {wire::kRingGranule});
  const std::shared_ptr<Link> writer_ = LinkOn(simulation_.CreateDevice("writer"), {wire::kRingGranule});
  std::shared_ptr<RecordingPort> from_;
  std::shared_ptr<RecordingPort> to_;
  int reader_step_ = 0;
  int writer_step_ = 0;
  bool asleep_ = false;
};

int Losses(const Habits& habits, int& runs) { return LossesInEveryOrder<Encounter>(habits, runs); }

TEST(NotificationSuppressionTest, NoOrderLosesAMessage) {
  int runs = 0;
  EXPECT_EQ(Losses({}, runs), 0);
  EXPECT_GT(runs, 1000);
}

TEST(NotificationSuppressionTest, WhoEndsBeingQuietRingsWhateverItHasHeard) {
  int runs = 0;
  EXPECT_EQ(Losses({.reader_tells = false, .writer_polls = 0}, runs), 0);
}

TEST(NotificationSuppressionTest, WhoGoesOnPollingHearsThatTheReaderSleeps) {
  int runs = 0;
  EXPECT_EQ(Losses({.writer_rings = false, .writer_polls = 1000}, runs), 0);
}

// That the orders are those in which messages could be lost.
TEST(NotificationSuppressionTest, WithoutEitherMessagesAreLost) {
  int runs = 0;
  EXPECT_GT(Losses({.reader_tells = false, .writer_rings = false, .writer_polls = 5}, runs), 0);
  EXPECT_GT(Losses({.reader_tells = true, .writer_rings = false, .writer_polls = 0}, runs), 0);
}

}  // namespace
}  // namespace skein::link
