#include "bench/sim/degrees.h"

#include "gtest/gtest.h"

namespace skein::bench {
namespace {

TEST(DegreesTest, TheLowerMedianSinceTheLastRenewal) {
  struct {
    std::vector<size_t> degrees;
    uint16_t median;
  } const rows[] = {
      {{}, 0},        {{5}, 5},          {{1, 9}, 1},           {{9, 1}, 1},
      {{3, 1, 2}, 2}, {{1, 1, 7, 9}, 1}, {{4, 4, 1, 9, 70}, 4}, {{70'000}, 65'535},
  };
  Degrees known;
  for (const auto& [degrees, median] : rows) {
    for (const size_t degree : degrees) known.Note(degree);
    EXPECT_EQ(known.TakeMedian(), median);
    EXPECT_EQ(known.TakeMedian(), 0);
  }
}

}  // namespace
}  // namespace skein::bench
