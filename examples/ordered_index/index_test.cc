#include "examples/ordered_index/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"

namespace skein::ordered_index {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(OrderedIndex, ScansInTheOrderOfKeys) {
  Index index(10);
  for (const uint64_t key : {30, 10, 20}) ASSERT_TRUE(index.Put(key, key + 1).ok());
  EXPECT_THAT(index.Scan(11, 5), ElementsAre(Pair(20, 21), Pair(30, 31)));
  EXPECT_THAT(index.Scan(0, 2), ElementsAre(Pair(10, 11), Pair(20, 21)));
  EXPECT_THAT(index.Scan(31, 5), IsEmpty());
  EXPECT_EQ(index.Count(0, 2), 2u);
  EXPECT_EQ(index.Count(20, 9), 2u);
}

TEST(OrderedIndex, RefusesNewKeysWhenItIsFullAndChangesOldOnes) {
  Index index(1);
  ASSERT_TRUE(index.Put(1, 1).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(index.Put(2, 2)));
  EXPECT_TRUE(index.Put(1, 3).ok());
  EXPECT_EQ(*index.Get(1), 3u);
  EXPECT_TRUE(absl::IsNotFound(index.Get(2).status()));
}

TEST(OrderedIndexService, AnswersWhatClientsSend) {
  Index index(10);
  examples::Functions functions = FunctionsOf(index);
  ASSERT_TRUE(functions[kPut](Request({7, 70})).ok());
  ASSERT_TRUE(functions[kPut](Request({8, 80})).ok());
  EXPECT_EQ(*functions[kGet](Request({7})), Request({70}));
  EXPECT_THAT(*EntriesOf(*functions[kScan](Request({0, 9}))), ElementsAre(Pair(7, 70), Pair(8, 80)));
  EXPECT_EQ(*functions[kCount](Request({8, 9})), Request({1}));
}

TEST(OrderedIndexService, RefusesHostileRequests) {
  Index index(10);
  examples::Functions functions = FunctionsOf(index);
  for (const std::string& request :
       {std::string(), Request({1}).substr(1), Request({1, 2, 3}), Request({1, 2}) + "x"}) {
    for (const Call call : {kPut, kGet, kScan, kCount})
      EXPECT_TRUE(absl::IsInvalidArgument(functions[call](request).status())) << request.size();
  }
  const std::string all = Request({0, std::numeric_limits<uint64_t>::max()});
  EXPECT_TRUE(absl::IsInvalidArgument(functions[kScan](all).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(functions[kCount](all).status()));
}

TEST(OrderedIndexClient, RefusesPartsOfEntries) {
  EXPECT_TRUE(absl::IsDataLoss(EntriesOf("123").status()));
  EXPECT_THAT(*EntriesOf(""), IsEmpty());
}

}  // namespace
}  // namespace skein::ordered_index
