// What a host's fabrics say of each other.
#include "core/stream/host_fabrics.h"

#include <array>
#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include "core/fabric/shm/shm_device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/fabric_end.h"
#include "tests/support/ip_address.h"
#include "tests/support/refused_call.h"

namespace skein::stream {
namespace {

using testing::HasSubstr;

SharedMemoryOptions Off() {
  SharedMemoryOptions off;
  off.enabled = false;
  return off;
}

SharedMemoryOptions MeetingIn(const char* directory) {
  SharedMemoryOptions options;
  options.rendezvous = directory;
  return options;
}

class HostFabricsTest : public testing::Test {
 protected:
  const Route route_{Ip("10.9.0.1"), Ip("10.9.0.1")};
};

// It was told that shared memory is switched off, and nothing else.
TEST_F(HostFabricsTest, WhoHasNoSharedMemoryHearsWhatIsWrongWithRdma) {
  const auto fabrics = CreateHostFabrics(Off(), {});
  fabrics->Failed(route_, "rdma");
  const std::vector<Candidate> candidates = fabrics->For(route_);
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(candidates[0].why_not.code, FallbackCode::kFabricOff);
  EXPECT_EQ(candidates[1].why_not.code, FallbackCode::kSettling);
}

TEST_F(HostFabricsTest, WhoHasSharedMemoryHearsNothingOfRdma) {
  const auto fabrics = CreateHostFabrics({}, {});
  fabrics->Failed(route_, "rdma");
  const std::vector<Candidate> candidates = fabrics->For(route_);
  ASSERT_EQ(candidates.size(), 1U);
  EXPECT_NE(candidates[0].device, nullptr);
}

// On a thread that is refused fstatfs(), as by a sandbox.
void InSandbox(const std::function<void()>& act) {
  std::thread([&act] {
    ASSERT_TRUE(Refuse({SYS_fstatfs}, EPERM));
    act();
  }).join();
}

RdmaOptions NoRdma(absl::Duration settle_time) {
  RdmaOptions rdma;
  rdma.enabled = false;
  rdma.settle_time = settle_time;
  return rdma;
}

// It was found out in the midst of each connection.
TEST_F(HostFabricsTest, ARefusalIsFoundOutBeforeAnythingIsOffered) {
  const auto fabrics = CreateHostFabrics({}, NoRdma(absl::Hours(1)));
  InSandbox([&] {
    const Fallback why = fabrics->For(route_)[0].why_not;
    EXPECT_EQ(why.code, FallbackCode::kNotPermitted);
    EXPECT_THAT(why.detail, HasSubstr("fstatfs"));
  });
  const Candidate later = fabrics->For(route_)[0];
  EXPECT_EQ(later.device, nullptr) << "it is not rehearsed for each connection";
  EXPECT_THAT(later.why_not.detail, HasSubstr("lately: "));
}

TEST_F(HostFabricsTest, ModeRequireRehearsesEachTime) {
  const auto fabrics = CreateHostFabrics({}, NoRdma(absl::ZeroDuration()));
  InSandbox([&] { EXPECT_EQ(fabrics->For(route_)[0].device, nullptr); });
  EXPECT_NE(fabrics->For(route_)[0].device, nullptr);
}

// A process may enter its sandbox late. Each connection failed, for ever.
TEST_F(HostFabricsTest, ARefusalInTheMidstOfAConnectionLeavesSharedMemoryAloneForAWhile) {
  const auto fabrics = CreateHostFabrics({}, NoRdma(absl::Hours(1)));
  fabric::End refused(fabrics->For(route_)[0].device);
  fabric::End peer(fabric::OpenShmDevice().value());
  ASSERT_EQ(Connect(*refused.queue_pair, *peer.queue_pair), absl::OkStatus());
  const std::array segment = {refused.Local(0, 8)};
  ASSERT_EQ(Post(*refused.queue_pair, Request(fabric::Opcode::kWrite, segment, peer.Remote(0))), absl::OkStatus());
  peer.Poll();  // lets it have the memory
  EXPECT_NE(fabrics->For(route_)[0].device, nullptr);
  InSandbox([&] { refused.Poll(); });
  const Candidate candidate = fabrics->For(route_)[0];
  EXPECT_EQ(candidate.device, nullptr);
  EXPECT_EQ(candidate.why_not.code, FallbackCode::kNotPermitted);
  EXPECT_THAT(candidate.why_not.detail, HasSubstr("lately: cannot look at a memfd (fstatfs)"));
}

TEST_F(HostFabricsTest, WithFewDescriptorsLeftNothingIsOffered) {
  const auto fabrics = CreateHostFabrics({}, NoRdma(absl::Hours(1)));
  for (const int left : {0, 1, 5, 11}) {
    Fallback why;
    {
      const DescriptorLimit limit(left);
      why = fabrics->For(route_)[0].why_not;
    }
    EXPECT_EQ(why.code, FallbackCode::kResources);
    EXPECT_THAT(why.detail, HasSubstr("ulimit -n"));
  }
  EXPECT_NE(fabrics->For(route_)[0].device, nullptr) << "there are more again";
}

TEST_F(HostFabricsTest, NorDoesWhoHasSwitchedBothOff) {
  RdmaOptions rdma;
  rdma.enabled = false;
  EXPECT_EQ(CreateHostFabrics(Off(), rdma)->For(route_).size(), 1U);
}

// Two pods of one host have addresses of their own: the directory that both have mounted decides.
TEST_F(HostFabricsTest, WhoHasARendezvousOffersSharedMemoryToOtherAddresses) {
  const Route elsewhere{Ip("10.9.0.1"), Ip("10.9.0.2")};
  const Candidate without = CreateHostFabrics({}, {})->For(elsewhere)[0];
  EXPECT_EQ(without.device, nullptr);
  EXPECT_EQ(without.why_not.code, FallbackCode::kRemotePeer);
  EXPECT_NE(CreateHostFabrics(MeetingIn("/run/skein"), {})->For(elsewhere)[0].device, nullptr);
}

}  // namespace
}  // namespace skein::stream
