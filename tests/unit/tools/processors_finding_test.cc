// What doctor says of processors, by affinity and quota.
#include "tools/skein/doctor/processors_finding.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::doctor {
namespace {

using testing::HasSubstr;

constexpr char kFile[] = "/sys/fs/cgroup/cpu.max";

TEST(ProcessorsFindingTest, WithoutAQuotaAffinityCounts) {
  const ProcessorsFinding finding = FindProcessors(8, {});
  EXPECT_FALSE(finding.warns);
  EXPECT_EQ(finding.fact, "processors: 8");
  EXPECT_EQ(finding.advice, "");
}

TEST(ProcessorsFindingTest, OneProcessorIsAWarning) {
  const ProcessorsFinding finding = FindProcessors(1, {});
  EXPECT_TRUE(finding.warns);
  EXPECT_EQ(finding.fact, "processors: 1");
  EXPECT_THAT(finding.advice, HasSubstr("cannot run at once"));
}

TEST(ProcessorsFindingTest, AQuotaIsNamedWithItsFile) {
  const ProcessorsFinding finding = FindProcessors(8, {2.5, kFile});
  EXPECT_FALSE(finding.warns);
  EXPECT_EQ(finding.fact, "processors: 2.5 of 8, by the quota in /sys/fs/cgroup/cpu.max");
}

TEST(ProcessorsFindingTest, AQuotaOfLessThanTwoIsAWarningThatSaysWhoSetsIt) {
  const ProcessorsFinding finding = FindProcessors(8, {1.9, kFile});
  EXPECT_TRUE(finding.warns);
  EXPECT_THAT(finding.fact, HasSubstr("processors: 1.9 of 8, by the quota in /sys/fs/cgroup/cpu.max"));
  for (const char* who : {"resources.limits.cpu", "--cpus", "CPUQuota="}) EXPECT_THAT(finding.advice, HasSubstr(who));
}

TEST(ProcessorsFindingTest, AQuotaThatLeavesAllProcessorsIsNotWorthAWord) {
  EXPECT_EQ(FindProcessors(4, {4, kFile}).fact, "processors: 4");
  EXPECT_EQ(FindProcessors(1, {1.5, kFile}).fact, "processors: 1");
}

}  // namespace
}  // namespace skein::doctor
