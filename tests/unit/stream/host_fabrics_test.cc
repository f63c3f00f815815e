// What a host's fabrics say of each other.
#include "core/stream/host_fabrics.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/support/ip_address.h"

namespace skein::stream {
namespace {

class HostFabricsTest : public testing::Test {
 protected:
  const Route route_{Ip("10.9.0.1"), Ip("10.9.0.1")};
};

// It was told that shared memory is switched off, and nothing else.
TEST_F(HostFabricsTest, WhoHasNoSharedMemoryHearsWhatIsWrongWithRdma) {
  const auto fabrics = CreateHostFabrics(false, {});
  fabrics->Failed(route_, "rdma");
  const std::vector<Candidate> candidates = fabrics->For(route_);
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(candidates[0].why_not.code, FallbackCode::kFabricOff);
  EXPECT_EQ(candidates[1].why_not.code, FallbackCode::kSettling);
}

TEST_F(HostFabricsTest, WhoHasSharedMemoryHearsNothingOfRdma) {
  const auto fabrics = CreateHostFabrics(true, {});
  fabrics->Failed(route_, "rdma");
  const std::vector<Candidate> candidates = fabrics->For(route_);
  ASSERT_EQ(candidates.size(), 1U);
  EXPECT_NE(candidates[0].device, nullptr);
}

TEST_F(HostFabricsTest, NorDoesWhoHasSwitchedBothOff) {
  RdmaOptions rdma;
  rdma.enabled = false;
  EXPECT_EQ(CreateHostFabrics(false, rdma)->For(route_).size(), 1U);
}

}  // namespace
}  // namespace skein::stream
