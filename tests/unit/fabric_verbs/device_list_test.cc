#include "core/fabric/verbs/device_list.h"

#include <unistd.h>

#include "gtest/gtest.h"

namespace skein::fabric::verbs {
namespace {

TEST(DeviceListTest, IsEmptyWhereTheKernelHasNoRdma) {
  if (access("/sys/class/infiniband_verbs", F_OK) == 0) GTEST_SKIP() << "this kernel has RDMA";
  const absl::StatusOr<DeviceList> list = DeviceList::Get();
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_TRUE(list->devices().empty());
}

}  // namespace
}  // namespace skein::fabric::verbs
