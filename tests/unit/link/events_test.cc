// No order of senders and the poller forgets an event, or shows one without what its sender had done before: the
// product's own code in every interleaving, and with reads as late as C++ allows. With either order of it weakened,
// this fails.
#include "core/link/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "tests/support/interleavings.h"

namespace skein::link {
namespace {

using MaskUnderTest = BasicEvents<interleavings::Atomics>;

// Two senders, each of which tells one event, and a poller that looks a few times.
class Telling {
 public:
  static constexpr std::array<uint32_t, 2> kEvents = {MaskUnderTest::kSpace, MaskUnderTest::kFlush};

  void Tell(size_t sender) {
    done_[sender].Set(1);
    events_.Tell(kEvents[sender]);
  }
  // Whether the event is due; each is so once.
  void Look(size_t sender) {
    if (!events_.TakeDue(kEvents[sender])) return;
    interleavings::Check(done_[sender].Get() == 1, "an event without what went before it");
    interleavings::Check(!std::exchange(seen_[sender], true), "an event twice");
  }
  void CheckEnd() {
    for (const size_t sender : {0, 1}) Look(sender);
    interleavings::Check(seen_[0] && seen_[1], "an event is forgotten");
    interleavings::Check(!events_.any(), "an event that nobody has told");
  }

 private:
  MaskUnderTest events_;
  std::array<interleavings::Plain<int>, 2> done_{0, 0};  // before each one's event
  std::array<bool, 2> seen_{};                           // the poller's
};

interleavings::Result ExploreTelling(std::optional<interleavings::Weakening> weakening = {}) {
  interleavings::Options options;
  options.weakening = std::move(weakening);
  return interleavings::Explore(
      [] {
        auto telling = std::make_shared<Telling>();
        interleavings::Program program;
        program.threads = {[=] { telling->Tell(0); }, [=] { telling->Tell(1); },
                           [=] {
                             for (const size_t sender : {0, 1, 0}) telling->Look(sender);
                           }};
        program.finally = [=] { telling->CheckEnd(); };
        return program;
      },
      options);
}

TEST(EventsTest, NoOrderForgetsWhatWasTold) {
  const interleavings::Result result = ExploreTelling();
  EXPECT_THAT(result.failure, testing::IsEmpty());
  EXPECT_GT(result.schedules, 10u);
}

TEST(EventsTest, EachOrderIsNeeded) {
  size_t weakened = 0;
  for (const interleavings::Weakening& weakening : ExploreTelling().weakenings) {
    if (!absl::EndsWith(weakening.file, "events.h")) continue;
    EXPECT_THAT(ExploreTelling(weakening).failure, testing::Not(testing::IsEmpty()))
        << weakening.function << ", line " << weakening.line;
    ++weakened;
  }
  EXPECT_EQ(weakened, 2u) << "the sender's release, and the poller's acquire";
}

}  // namespace
}  // namespace skein::link
