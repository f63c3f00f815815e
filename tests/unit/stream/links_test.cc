// How many links the streams between two processes are spread over.
#include "gtest/gtest.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::stream {
namespace {

using Kind = FabricKindUnderTest;

class LinksTest : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Fabrics, LinksTest, ::testing::ValuesIn(FabricsUnderTest()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(LinksTest, AreAsManyAsAllowedWhereNoNicHasToRememberThem) {
  TwoEnds ends(GetParam(), {.links = 2});
  std::vector<TwoEnds::Pair> pairs;
  for (int i = 0; i < 3; ++i) pairs.push_back(ends.Connect());
  const size_t links = GetParam() == Kind::kShm ? 2 : 1;
  EXPECT_EQ(ends.client_waiter.watched(), links);
  EXPECT_EQ(ends.server_waiter.watched(), links);
  for (TwoEnds::Pair& pair : pairs) {
    ASSERT_NE(pair.client, nullptr) << ToString(pair.client_why);
    ASSERT_EQ(WriteText(*pair.client, "hello").value(), 5u);
  }
  ends.Pump();
  for (TwoEnds::Pair& pair : pairs) EXPECT_EQ(ReadAll(*pair.server).first, "hello");
}

TEST(ShmLinksTest, FurtherStreamsGoWhereThereAreFewest) {
  TwoEnds ends(Kind::kShm, {.links = 3});
  std::vector<TwoEnds::Pair> pairs;
  for (int i = 0; i < 8; ++i) pairs.push_back(ends.Connect());
  std::vector<size_t> streams;
  for (const TwoEnds::Pair& pair : pairs) streams.push_back(pair.server->link()->ports());
  EXPECT_EQ(std::count(streams.begin(), streams.end(), 3u), 6);
  EXPECT_EQ(std::count(streams.begin(), streams.end(), 2u), 2);
}

TEST(ShmLinksTest, OneThatIsLeftMakesRoomForAnother) {
  TwoEnds ends(Kind::kShm, {.links = 2});
  const TwoEnds::Pair first = ends.Connect();
  TwoEnds::Pair second = ends.Connect();
  ASSERT_NE(first.client->link(), second.client->link());
  second.client.reset();
  second.server.reset();
  ends.Pump();
  EXPECT_EQ(ends.server_waiter.watched(), 1u);
  const TwoEnds::Pair third = ends.Connect();
  ASSERT_NE(third.client, nullptr) << ToString(third.client_why);
  EXPECT_NE(third.client->link(), first.client->link());
}

}  // namespace
}  // namespace skein::stream
