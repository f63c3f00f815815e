#include "examples/cache/cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "examples/cache/service.h"

namespace skein::cache {
namespace {

using ::testing::HasSubstr;

constexpr absl::Time kNow = absl::UnixEpoch();
constexpr absl::Time kNever = absl::InfiniteFuture();

TEST(Cache, GivesTheNewestValue) {
  Cache cache(1 << 20);
  EXPECT_TRUE(absl::IsNotFound(cache.Get("goose", kNow).status()));
  ASSERT_TRUE(cache.Set("goose", "in flight", kNever).ok());
  ASSERT_TRUE(cache.Set("goose", "landed", kNever).ok());
  EXPECT_EQ(*cache.Get("goose", kNow), "landed");
}

TEST(Cache, ForgetsAtDelete) {
  Cache cache(1 << 20);
  ASSERT_TRUE(cache.Set("goose", "in flight", kNever).ok());
  EXPECT_TRUE(cache.Delete("goose").ok());
  EXPECT_TRUE(absl::IsNotFound(cache.Delete("goose")));
  EXPECT_TRUE(absl::IsNotFound(cache.Get("goose", kNow).status()));
}

TEST(Cache, ForgetsWhenTheTimeIsOver) {
  Cache cache(1 << 20);
  ASSERT_TRUE(cache.Set("goose", "in flight", kNow + absl::Seconds(2)).ok());
  EXPECT_TRUE(cache.Get("goose", kNow + absl::Seconds(1)).ok());
  EXPECT_TRUE(absl::IsNotFound(cache.Get("goose", kNow + absl::Seconds(2)).status()));
}

TEST(Cache, DropsTheOneThatNobodyHasUsedForLongest) {
  Cache cache(2 * (Cache::kOverhead + 2));
  ASSERT_TRUE(cache.Set("a", "1", kNever).ok());
  ASSERT_TRUE(cache.Set("b", "2", kNever).ok());
  ASSERT_TRUE(cache.Get("a", kNow).ok());
  ASSERT_TRUE(cache.Set("c", "3", kNever).ok());
  EXPECT_EQ(*cache.Get("a", kNow), "1");
  EXPECT_TRUE(absl::IsNotFound(cache.Get("b", kNow).status()));
  EXPECT_EQ(*cache.Get("c", kNow), "3");
}

TEST(Cache, RefusesMoreThanItsWholeMemoryAndKeepsNoOldValue) {
  Cache cache(Cache::kOverhead + 10);
  ASSERT_TRUE(cache.Set("a", "1", kNever).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(cache.Set("a", std::string(10, 'x'), kNever)));
  EXPECT_TRUE(absl::IsNotFound(cache.Get("a", kNow).status()));
  EXPECT_TRUE(cache.Set("a", std::string(9, 'x'), kNever).ok()) << "memory was lost";
}

TEST(CacheService, AnswersWhatClientsSend) {
  Cache cache(1 << 20);
  examples::Functions functions = FunctionsOf(cache);
  EXPECT_TRUE(functions[kSet](SetRequest("goose", "in flight", 0)).ok());
  EXPECT_EQ(*functions[kGet]("goose"), "in flight");
  EXPECT_TRUE(functions[kDelete]("goose").ok());
  EXPECT_TRUE(absl::IsNotFound(functions[kGet]("goose").status()));
}

TEST(CacheService, RefusesHostileRequests) {
  Cache cache(1 << 20);
  examples::Functions functions = FunctionsOf(cache);
  const std::string long_key(kMaxKey + 1, 'k');
  const std::string good = SetRequest("goose", "in flight", 0);
  std::string beyond = good;
  beyond.replace(4, 4, std::string(4, '\xff'));  // the key's size
  for (const std::string& request : {std::string(), good.substr(0, 7), beyond, SetRequest("", "x", 0),
                                     SetRequest(long_key, "x", 0), SetRequest("k", std::string(kMaxValue + 1, 'v'), 0)})
    EXPECT_TRUE(absl::IsInvalidArgument(functions[kSet](request).status())) << request.size();
  for (const Call call : {kGet, kDelete}) {
    EXPECT_TRUE(absl::IsInvalidArgument(functions[call]("").status()));
    EXPECT_TRUE(absl::IsInvalidArgument(functions[call](long_key).status()));
  }
  EXPECT_THAT(functions[kGet](long_key).status().message(), HasSubstr("250"));
}

}  // namespace
}  // namespace skein::cache
