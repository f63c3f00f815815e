// Paths are listed while their connections live, oldest first.
#include "grpc_transport/path_registry.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Path PathTo(const std::string& peer) { return {Path::Role::kClient, "ipv4:127.0.0.1:1", peer, "shm", "", false}; }

std::vector<std::string> Peers(const PathRegistry& registry) {
  std::vector<std::string> peers;
  for (const Path& path : registry.List()) peers.push_back(path.peer);
  return peers;
}

TEST(PathRegistry, ListsWhatItWasGiven) {
  PathRegistry registry;
  EXPECT_THAT(registry.List(), IsEmpty());
  const auto entry = registry.Add({Path::Role::kServer, "local", "peer", "tcp", "timeout", true});
  const std::vector<Path> list = registry.List();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].role, Path::Role::kServer);
  EXPECT_EQ(list[0].local, "local");
  EXPECT_EQ(list[0].peer, "peer");
  EXPECT_EQ(list[0].path, "tcp");
  EXPECT_EQ(list[0].why, "timeout");
  EXPECT_TRUE(list[0].secure);
}

TEST(PathRegistry, ListsTheLivingOldestFirst) {
  PathRegistry registry;
  auto c = registry.Add(PathTo("c"));
  auto a = registry.Add(PathTo("a"));
  auto b = registry.Add(PathTo("b"));
  EXPECT_THAT(Peers(registry), ElementsAre("c", "a", "b"));
  a = nullptr;
  EXPECT_THAT(Peers(registry), ElementsAre("c", "b"));
  a = registry.Add(PathTo("a"));
  EXPECT_THAT(Peers(registry), ElementsAre("c", "b", "a")) << "it is the youngest now";
  c = nullptr;
  b = nullptr;
  a = nullptr;
  EXPECT_THAT(Peers(registry), IsEmpty());
}

// Two connections may look the same: one's end must not unlist the other.
TEST(PathRegistry, EqualPathsAreTwo) {
  PathRegistry registry;
  auto one = registry.Add(PathTo("peer"));
  const auto other = registry.Add(PathTo("peer"));
  EXPECT_THAT(Peers(registry), ElementsAre("peer", "peer"));
  one = nullptr;
  EXPECT_THAT(Peers(registry), ElementsAre("peer"));
}

}  // namespace
}  // namespace skein::grpc_transport
