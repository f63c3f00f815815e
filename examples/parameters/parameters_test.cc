#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "examples/parameters/messages.h"
#include "examples/parameters/service.h"

namespace skein::parameters {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::string_view BytesOf(const Keys& keys) {
  return {reinterpret_cast<const char*>(keys.data()), keys.size() * sizeof(uint64_t)};
}

TEST(ParameterMessages, ComeBackAsTheyWent) {
  const std::vector<std::string> requests = PushRequests({3, 4, 7}, {0.5f, 1, -2}, 2);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_THAT(DecodePush(requests[0])->keys, ElementsAre(4));
  EXPECT_THAT(DecodePush(requests[1])->keys, ElementsAre(3, 7));
  EXPECT_THAT(DecodePush(requests[1])->values, ElementsAre(0.5f, -2));
}

TEST(ParameterMessages, NeedNoKeys) {
  EXPECT_THAT(DecodePush(PushRequests({}, {}, 1)[0])->keys, IsEmpty());
  EXPECT_THAT(*DecodePull(PullRequests({}, 1)[0]), IsEmpty());
}

TEST(ParameterMessages, AreRefusedWhenTheyAreNotWhole) {
  const std::string good = PushRequests({1, 2}, {1, 2}, 1)[0];
  std::string beyond = good;
  beyond.replace(0, 8, std::string(8, '\xff'));
  for (const std::string& request :
       {std::string(), good.substr(0, 7), good.substr(0, good.size() - 1), good + "x", beyond})
    EXPECT_TRUE(absl::IsInvalidArgument(DecodePush(request).status())) << request.size();
  EXPECT_TRUE(absl::IsInvalidArgument(DecodePull("1234567").status()));
}

TEST(ParameterMessages, AreRefusedWithAKeyTwiceOrNoNumber) {
  EXPECT_TRUE(absl::IsInvalidArgument(DecodePush(PushRequests({1, 1}, {1, 2}, 1)[0]).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(DecodePull(PullRequests({2, 1}, 1)[0]).status()));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(absl::IsInvalidArgument(DecodePush(PushRequests({1}, {infinity}, 1)[0]).status()));
}

TEST(ParameterMessages, AreJoinedOnlyIfEachServerToldItsPart) {
  const std::string value(sizeof(float), '\0');
  EXPECT_THAT(*Join({1, 2}, {value, value}), ElementsAre(0, 0));
  EXPECT_TRUE(absl::IsDataLoss(Join({1, 2}, {value, ""}).status()));
  EXPECT_TRUE(absl::IsDataLoss(Join({1, 2}, {value + value, value}).status()));
}

TEST(ParameterService, AddsWhatWorkersPush) {
  Parameters parameters(10);
  examples::Functions functions = FunctionsOf(parameters);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(functions[kPush](PushRequests({1, 5}, {0.5f, 2}, 1)[0]).ok());
  const std::string pulled(*functions[kPull](BytesOf({1, 3, 5})));
  EXPECT_THAT(*Join({1, 3, 5}, {pulled}), ElementsAre(1, 0, 4));
}

TEST(ParameterService, TakesAllOfAPushOrNothing) {
  Parameters parameters(3);
  ASSERT_TRUE(parameters.Add({{1, 2}, {1, 1}}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(parameters.Add({{1, 3, 4}, {1, 1, 1}})));
  EXPECT_THAT(parameters.Get({1, 3}), ElementsAre(1, 0));
  EXPECT_TRUE(parameters.Add({{1, 2, 3}, {1, 1, 1}}).ok()) << "only one of them is new";
}

}  // namespace
}  // namespace skein::parameters
