// Paths are listed while their connections live, oldest first.
#include "core/inspect/live_paths.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/forked.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/idle_process.h"
#include "tests/unit/inspect/answering.h"

namespace skein::inspect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

LivePath PathTo(const std::string& peer) { return {"grpc", true, "ipv4:127.0.0.1:1", peer, "shm", "", false}; }

std::vector<std::string> Peers(const LivePaths& paths) {
  std::vector<std::string> peers;
  for (const LivePath& path : paths.List()) peers.push_back(path.peer);
  return peers;
}

TEST(LivePathsTest, ListsWhatItWasGiven) {
  LivePaths paths;
  EXPECT_THAT(paths.List(), IsEmpty());
  const LivePath given = {"thrift", false, "local", "peer", "tcp", "timeout", true};
  const auto entry = paths.Add(given);
  EXPECT_THAT(paths.List(), ElementsAre(given));
}

TEST(LivePathsTest, ListsTheLivingOldestFirst) {
  LivePaths paths;
  auto c = paths.Add(PathTo("c"));
  auto a = paths.Add(PathTo("a"));
  auto b = paths.Add(PathTo("b"));
  EXPECT_THAT(Peers(paths), ElementsAre("c", "a", "b"));
  a = nullptr;
  EXPECT_THAT(Peers(paths), ElementsAre("c", "b"));
  a = paths.Add(PathTo("a"));
  EXPECT_THAT(Peers(paths), ElementsAre("c", "b", "a")) << "it is the youngest now";
  c = nullptr;
  b = nullptr;
  a = nullptr;
  EXPECT_THAT(Peers(paths), IsEmpty());
}

// Whatever its parent's threads were doing when it was made.
TEST(LivePathsTest, AForkedChildWaitsForNobody) {
  BeginUse();
  LivePaths paths;
  auto entry = paths.Add(PathTo("a"));
  std::atomic<bool> over = false;
  std::thread busy([&] {
    while (!over) {
      const auto other = paths.Add(PathTo("b"));
      paths.List();
    }
  });
  for (int i = 0; i < 300; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      entry = nullptr;
      entry = paths.Add(PathTo("c"));
      paths.List();
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "of child " << i;
    if (HasFailure()) break;
  }
  over = true;
  busy.join();
}

// Two connections may look the same: one's end must not unlist the other.
TEST(LivePathsTest, EqualPathsAreTwo) {
  LivePaths paths;
  auto one = paths.Add(PathTo("peer"));
  const auto other = paths.Add(PathTo("peer"));
  EXPECT_THAT(Peers(paths), ElementsAre("peer", "peer"));
  one = nullptr;
  EXPECT_THAT(Peers(paths), ElementsAre("peer"));
}

// Also with what a peer may have put into an address or a reason.
TEST(LivePathsTest, AreReadAsTheyWereTold) {
  const std::vector<LivePath> paths = {PathTo("ipv6:[::1]:7"),
                                       {"thrift", false, "", "a\tb\nc\\\xff", "tcp", "timeout (\"x\")", true}};
  const absl::StatusOr<std::vector<LivePath>> read = DecodePaths(EncodePaths(paths));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, paths);
  EXPECT_THAT(*DecodePaths(""), IsEmpty());
}

TEST(LivePathsTest, OtherTextIsNone) {
  for (const char* text : {"x\n", "a\tb\tc\td\te\tf\n", "a\tb\tc\td\te\tf\t\\q\n"}) {
    EXPECT_EQ(DecodePaths(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

TEST(LivePathsTest, TenThousandOfAnyPeersAreTold) {
  const std::string address = "unix:/" + std::string(107, '\'');
  const LivePath path = {"thrift", true, address, address, "rdma:mlx5_0/1", std::string(300, '"'), true};
  const IdleProcess other;
  const Answering answering(other.pid(), 0, Ok(EncodePaths(std::vector<LivePath>(10'000, path))));
  ASSERT_TRUE(answering.ok());
  const absl::StatusOr<std::vector<LivePath>> told = AskPaths(other.pid());
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ(told->size(), 10'000U);
  EXPECT_EQ(told->back(), path);
}

// Each is a hundred times the bytes that tell it.
TEST(LivePathsTest, SoManyThatNobodyHasThemAreNotTaken) {
  const IdleProcess other;
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "\t\t\t\t\t\t\n";
  const Answering answering(other.pid(), 0, Ok(text));
  ASSERT_TRUE(answering.ok());
  EXPECT_EQ(AskPaths(other.pid()).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace skein::inspect
