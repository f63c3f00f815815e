// Quotas, as the kernel tells of them in files that the test writes.
#include "core/wait/processors.h"

#include <sched.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace skein::wait {
namespace {

class CgroupQuotaTest : public ::testing::Test {
 protected:
  CgroupQuotaTest() {
    std::string name = (std::filesystem::temp_directory_path() / "quota-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    Write("proc/mountinfo", "24 1 0:22 / /proc rw - proc proc rw\n");
  }
  ~CgroupQuotaTest() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder_ / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void Mount1(const std::string& root) {
    Write("proc/mountinfo", absl::StrCat("36 35 98:0 / /tmp rw master:1 - ext4 /dev/root rw\n30 25 0:26 ", root, " ",
                                         folder_.string(), "/cpu rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"));
  }
  void Mount2(const std::string& root) {
    Write("proc/mountinfo",
          absl::StrCat("30 25 0:26 ", root, " ", folder_.string(), "/unified rw - cgroup2 cgroup2 rw,nsdelegate\n"));
  }
  void Quota1(const std::string& group, const std::string& quota) {
    Write(absl::StrCat("cpu", group, "/cpu.cfs_quota_us"), quota + "\n");
    Write(absl::StrCat("cpu", group, "/cpu.cfs_period_us"), "100000\n");
  }
  double Quota() { return Found().processors; }
  wait::Quota Found() { return CgroupQuota({(folder_ / "proc").string(), (folder_ / "alone").string()}); }

  std::filesystem::path folder_;
};

TEST_F(CgroupQuotaTest, OfVersion1IsQuotaByPeriod) {
  Mount1("/");
  Write("proc/cgroup", "5:memory:/other\n4:cpu,cpuacct:/pod/server\n1:name=systemd:/\n");
  Quota1("", "-1");
  Quota1("/pod", "-1");
  Quota1("/pod/server", "30000");
  EXPECT_DOUBLE_EQ(Quota(), 0.3);
  EXPECT_EQ(Found().file, (folder_ / "cpu/pod/server/cpu.cfs_quota_us").string());
}

TEST_F(CgroupQuotaTest, TheLeastOfAllLevelsCounts) {
  Mount1("/");
  Write("proc/cgroup", "4:cpu,cpuacct:/pod/server\n");
  Quota1("/pod", "150000");
  Quota1("/pod/server", "400000");
  EXPECT_DOUBLE_EQ(Quota(), 1.5);
}

TEST_F(CgroupQuotaTest, OfVersion2IsCpuMax) {
  Mount2("/");
  Write("proc/cgroup", "0::/pod/server\n");
  Write("unified/pod/server/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(Quota()));
  EXPECT_EQ(Found().file, "");
  Write("unified/pod/cpu.max", "250000 100000\n");
  EXPECT_DOUBLE_EQ(Quota(), 2.5);
  EXPECT_EQ(Found().file, (folder_ / "unified/pod/cpu.max").string());
}

TEST_F(CgroupQuotaTest, AContainerSeesItsOwnGroupWhereTheHostsPathDoesNotExist) {
  Mount1("/kubepods/pod7/c1");
  Write("proc/cgroup", "4:cpu,cpuacct:/kubepods/pod7/c1\n");
  Quota1("", "50000");
  EXPECT_DOUBLE_EQ(Quota(), 0.5);
  Write("proc/cgroup", "4:cpu,cpuacct:/kubepods/pod7/c1/worker\n");
  Quota1("/worker", "20000");
  EXPECT_DOUBLE_EQ(Quota(), 0.2);
  Write("proc/cgroup", "4:cpu,cpuacct:/somewhere/else\n");
  EXPECT_DOUBLE_EQ(Quota(), 0.5);
}

// The kernel escapes blanks and backslashes in one of its two files (systemd has backslashes in names).
TEST_F(CgroupQuotaTest, NamesMayHaveBlanksAndBackslashes) {
  Write("proc/mountinfo", absl::StrCat(R"(30 25 0:26 /machine-a\134x2db )", folder_.string(),
                                       R"(/a\040mount rw - cgroup2 cgroup2 rw)", "\n"));
  Write("proc/cgroup", "0::/machine-a\\x2db/worker\n");
  Write("a mount/worker/cpu.max", "20000 100000\n");
  EXPECT_DOUBLE_EQ(Quota(), 0.2);
}

TEST_F(CgroupQuotaTest, WithoutProcTheGroupThatIsMountedCounts) {
  EXPECT_TRUE(std::isinf(Quota()));
  Write("alone/cpu.max", "10000 100000\n");
  EXPECT_DOUBLE_EQ(Quota(), 0.1);
}

TEST_F(CgroupQuotaTest, WhateverElseStandsInTheFilesIsNoQuota) {
  Mount1("/");
  Write("proc/cgroup", "nonsense\n4:cpu:/g\n::\n0:\n");
  for (const char* text : {"", "0", "-1", "x", "1 2 3", "99999999999999999999"}) {
    Quota1("/g", text);
    EXPECT_TRUE(std::isinf(Quota())) << text;
  }
  Quota1("/g", "100000");
  Write("cpu/g/cpu.cfs_period_us", "0\n");
  EXPECT_TRUE(std::isinf(Quota()));
}

TEST(ProcessorsTest, AreNoMoreThanAffinityLeaves) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  ASSERT_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
  EXPECT_LE(Processors(), CPU_COUNT(&mine));
  EXPECT_GE(Processors(), 1);
}

}  // namespace
}  // namespace skein::wait
