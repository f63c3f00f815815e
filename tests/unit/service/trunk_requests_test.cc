#include "core/service/trunk_requests.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::service {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TrunkRequestsTest : public testing::Test {
 protected:
  void Add(uint32_t length = 0, bool signaled = false) {
    fabric::SendRequest request;
    request.signaled = signaled;
    requests_.Add(request, {}, {nullptr, nullptr, ++positions_, length});
  }

  // The positions of those that have ended when the device tells of that one.
  std::vector<uint64_t> EndedWith(uint64_t id) {
    std::vector<uint64_t> ended;
    for (TrunkRequests::Request request; requests_.TakeEnded(id, request);) ended.push_back(request.position);
    requests_.DoWhatWaited();
    return ended;
  }

  TrunkRequests requests_;
  uint64_t positions_ = 0;
};

TEST_F(TrunkRequestsTest, TheEndOfOneTellsOfAllBeforeIt) {
  for (int i = 0; i < 4; ++i) Add();
  EXPECT_FALSE(requests_.one_tells());
  Add(0, /*signaled=*/true);
  Add();
  EXPECT_TRUE(requests_.one_tells());
  EXPECT_FALSE(requests_.last_tells());
  EXPECT_THAT(EndedWith(5), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(EndedWith(5), IsEmpty());
  EXPECT_EQ(requests_.under_way().size(), 1u);
}

TEST_F(TrunkRequestsTest, TheDeviceIsToTellOfOneNowAndThenWhateverWasAsked) {
  for (int i = 0; i < 15; ++i) Add();
  EXPECT_FALSE(requests_.one_tells());
  Add();
  EXPECT_TRUE(requests_.last_tells()) << "by their number";
  Add(TrunkRequests::kBytes / 8);
  EXPECT_TRUE(requests_.last_tells()) << "by their bytes";
}

TEST_F(TrunkRequestsTest, WhatWaitsIsDoneWhenAllThatWasUnderWayHasEnded) {
  std::vector<int> done;
  requests_.Later([&] { done.push_back(0); });
  EXPECT_THAT(done, ElementsAre(0)) << "nothing is under way";
  Add();
  Add();
  requests_.Later([&] { done.push_back(1); });
  Add();
  requests_.Later([&] { done.push_back(2); });
  EndedWith(1);
  EXPECT_THAT(done, ElementsAre(0));
  EndedWith(2);
  EXPECT_THAT(done, ElementsAre(0, 1));
  EXPECT_TRUE(requests_.something_waits());
  EndedWith(3);
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
  EXPECT_FALSE(requests_.something_waits());
}

TEST_F(TrunkRequestsTest, WhatIsDoneMayEndEverything) {
  Add();
  requests_.Later([&] { requests_.Clear(); });
  requests_.Later([] { FAIL() << "the trunk has ended"; });
  EXPECT_THAT(EndedWith(1), ElementsAre(1));
  EXPECT_TRUE(requests_.under_way().empty());
}

}  // namespace
}  // namespace skein::service
