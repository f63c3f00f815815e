// Where gRPC's callbacks run that a poll has made ready.
#include "grpc_transport/event_engine/ready.h"

#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/event_engine/fake_engine.h"

namespace skein::grpc_transport {
namespace {

class ReadyTest : public testing::Test {
 protected:
  Ready::Callback Note(int what) {
    return [this, what] { ran_.emplace_back(what, std::this_thread::get_id()); };
  }
  // What, and whether on this thread.
  using Ran = std::vector<std::pair<int, bool>>;
  Ran ran() {
    engine_->Flush();
    Ran ran;
    for (const auto& [what, thread] : ran_) ran.emplace_back(what, thread == std::this_thread::get_id());
    return ran;
  }

  const std::shared_ptr<FakeEngine> engine_ = std::make_shared<FakeEngine>();
  std::vector<std::pair<int, std::thread::id>> ran_;
};

TEST_F(ReadyTest, OnAThreadThatDoesNotPollTheEngineRunsThem) {
  Ready::RunSoon(engine_, Note(1));
  EXPECT_EQ(ran(), (Ran{{1, false}}));
}

TEST_F(ReadyTest, AThreadThatPollsKeepsThemUntilItsPollIsOver) {
  Ready ready(Ready::Thread::kCaller);
  Ready::RunSoon(engine_, Note(1));
  Ready::RunSoon(engine_, Note(2));
  EXPECT_EQ(ran(), Ran{}) << "inside the poll";
  EXPECT_FALSE(ready.empty());
  ready.RunHere();
  EXPECT_EQ(ran(), (Ran{{1, true}, {2, true}}));
  EXPECT_TRUE(ready.empty());
}

TEST_F(ReadyTest, OrTheEngineRunsThemThen) {
  Ready ready(Ready::Thread::kPoller);
  Ready::RunSoon(engine_, Note(1));
  ready.RunElsewhere();
  EXPECT_EQ(ran(), (Ran{{1, false}}));
}

TEST_F(ReadyTest, NothingIsLostWithTheEndOfAThreadsPolling) {
  {
    const Ready ready(Ready::Thread::kCaller);
    Ready::RunSoon(engine_, Note(1));
  }
  EXPECT_EQ(ran(), (Ran{{1, false}}));
  Ready::RunSoon(engine_, Note(2));
  EXPECT_EQ(ran(), (Ran{{1, false}, {2, false}}));
}

TEST_F(ReadyTest, APollerKeepsOneClosureOfTheEnginesAndRunsItLast) {
  Ready ready(Ready::Thread::kPoller);
  Ready::RunSoon(engine_, [this] {
    Ready::Callback first = Note(11);
    EXPECT_TRUE(Ready::Keep(engine_, first));
    Ready::Callback second = Note(12);
    EXPECT_FALSE(Ready::Keep(engine_, second)) << "it would wait behind the first, which may block";
  });
  Ready::RunSoon(engine_, Note(2));
  ready.RunHere();
  EXPECT_EQ(ran(), (Ran{{2, true}, {11, true}}));
}

// It may wait for what it has asked for.
TEST_F(ReadyTest, NothingWaitsBehindAClosureThatIsKept) {
  Ready ready(Ready::Thread::kPoller);
  bool came = false;
  Ready::RunSoon(engine_, [&] {
    Ready::Callback closure = [&] {
      absl::Notification done;
      Ready::Callback inner = [] {};
      EXPECT_FALSE(Ready::Keep(engine_, inner));
      Ready::RunSoon(engine_, [&] { done.Notify(); });
      came = done.WaitForNotificationWithTimeout(absl::Seconds(20));
    };
    EXPECT_TRUE(Ready::Keep(engine_, closure));
  });
  ready.RunHere();
  EXPECT_TRUE(came);
  Ready::RunSoon(engine_, Note(1));
  ready.RunHere();
  EXPECT_EQ(ran(), (Ran{{1, true}})) << "behind it the thread polls again";
}

// The program may hold locks that such a closure takes.
TEST_F(ReadyTest, ACallerOfTheProgramsKeepsNoClosure) {
  Ready ready(Ready::Thread::kCaller);
  Ready::RunSoon(engine_, [this] {
    Ready::Callback closure = Note(1);
    EXPECT_FALSE(Ready::Keep(engine_, closure));
  });
  ready.RunHere();
  EXPECT_EQ(ran(), Ran{});
}

TEST_F(ReadyTest, NothingWaitsBehindACallbackThatWaits) {
  Ready ready(Ready::Thread::kPoller);
  Ready::RunSoon(engine_, [this] {
    Ready::Callback closure = Note(3);
    EXPECT_TRUE(Ready::Keep(engine_, closure));
    const Ready::Waits waits;
    EXPECT_EQ(ran(), (Ran{{2, false}, {3, false}}));
    Ready::RunSoon(engine_, Note(4));
    EXPECT_EQ(ran().size(), 3U);
  });
  Ready::RunSoon(engine_, Note(2));
  ready.RunHere();
  EXPECT_EQ(ran(), (Ran{{2, false}, {3, false}, {4, false}}));
}

TEST_F(ReadyTest, APollersThreadIsKnownByThatAlsoWhileItRunsAClosure) {
  std::vector<bool> known{Ready::IsPollersThread()};
  {
    Ready ready(Ready::Thread::kPoller);
    known.push_back(Ready::IsPollersThread());
    Ready::Callback closure = [&] { known.push_back(Ready::IsPollersThread()); };
    Ready::RunSoon(engine_, [&] { EXPECT_TRUE(Ready::Keep(engine_, closure)); });
    ready.RunHere();
  }
  known.push_back(Ready::IsPollersThread());
  const Ready callers(Ready::Thread::kCaller);
  known.push_back(Ready::IsPollersThread());
  EXPECT_EQ(known, (std::vector<bool>{false, true, true, false, false}));
}

}  // namespace
}  // namespace skein::grpc_transport
