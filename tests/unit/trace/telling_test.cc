// A program is told of its traced calls.
#include "core/trace/telling.h"

#include <stdexcept>

#include "core/trace/tracer.h"
#include "gtest/gtest.h"

namespace skein::trace {
namespace {

Record Call() {
  Record record;
  record.method = Methods().Intern("/pkg.Service/Method");
  record.path = Path::kRdma;
  record.bytes = 64;
  record.degree = 3;
  record.clock_error_ns = 7;
  At(record.times, Stage::kSubmitted) = 1000;
  At(record.times, Stage::kQueued) = 1010;
  At(record.times, Stage::kHandlerStart) = 1100;
  At(record.times, Stage::kHandlerEnd) = 1150;
  At(record.times, Stage::kDelivered) = 1400;
  return record;
}

TEST(TellingTest, ARecordInWords) {
  const TracedCall call = Told(Call(), Methods());
  EXPECT_TRUE(call.client);
  EXPECT_EQ(call.method, "/pkg.Service/Method");
  EXPECT_EQ(call.path, "rdma");
  EXPECT_EQ(call.bytes, 64);
  EXPECT_EQ(call.coalesced, 3);
  EXPECT_EQ(call.clock_error, std::chrono::nanoseconds(7));
  EXPECT_EQ(call.begin.time_since_epoch(), std::chrono::nanoseconds(1000));
  ASSERT_EQ(call.intervals.size(), 4);
  EXPECT_EQ(call.intervals[0].name, "framework, client");
  EXPECT_EQ(call.intervals[0].work, "software");
  EXPECT_EQ(call.intervals[2].name, "handler");
  EXPECT_EQ(call.intervals[2].begin, std::chrono::nanoseconds(100));
  EXPECT_EQ(call.intervals[2].length, std::chrono::nanoseconds(50));
  std::chrono::nanoseconds sum{};
  for (const TracedInterval& interval : call.intervals) {
    EXPECT_EQ(interval.begin, sum) << "without gaps";
    sum += interval.length;
  }
  EXPECT_EQ(sum, std::chrono::nanoseconds(400));
}

TEST(TellingTest, OfARecordWithoutTimesThereIsNothingToSum) {
  EXPECT_TRUE(Told(Record(), Methods()).intervals.empty());
}

TEST(TellingTest, TellsUntilItIsToldNotTo) {
  int told = 0;  // the collector's until it has ended
  ASSERT_TRUE(TellCalls(1, [&](const TracedCall& call) {
                told += call.bytes == 64 ? 1 : 0;
                throw std::runtime_error("nobody's error");
              }).ok());
  ASSERT_TRUE(Sampled());
  Push(Call());
  Push(Call());
  Flush();
  ASSERT_TRUE(TellCalls(0, nullptr).ok());
  EXPECT_FALSE(Enabled());
  EXPECT_EQ(told, 2);
  Push(Call());
  ASSERT_TRUE(TellCalls(1, nullptr).ok()) << "traced for others, told to nobody";
  SetSampling(0);
  EXPECT_EQ(told, 2);
}

}  // namespace
}  // namespace skein::trace
