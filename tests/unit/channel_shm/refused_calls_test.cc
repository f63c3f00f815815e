// The kernel refuses this process something that a channel takes. A filter of seccomp is its thread's alone.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>

#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/channel/shm/pages.h"
#include "core/channel/shm/rehearsal.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/in_child.h"
#include "tests/support/refused_call.h"
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

using ::testing::HasSubstr;

struct Named {
  std::string name;
  RefusedCall call;
};
void PrintTo(const Named& named, std::ostream* out) { *out << named.name; }
std::string NameOf(const testing::TestParamInfo<Named>& info) { return info.param.name; }

void Refused(const RefusedCall& call, int error, const std::function<void()>& act) {
  std::thread([&] {
    ASSERT_TRUE(Refuse(call, error));
    act();
  }).join();
}

class ShmRefusedCall : public testing::TestWithParam<Named> {};
class ShmDispensableCall : public ShmRefusedCall {};

TEST_P(ShmRefusedCall, IsFoundOutByTheRehearsalWhichNamesTheReason) {
  for (const int error : {EPERM, ENOSYS}) {
    Refused(GetParam().call, error, [error] {
      const absl::Status status = RehearseShmChannel();
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(FallbackOf(status).code, FallbackCode::kNotPermitted) << status;
      EXPECT_THAT(status.ToString(), HasSubstr(std::strerror(error)));
    });
  }
}

TEST_P(ShmDispensableCall, IsNotMissed) {
#ifdef __SANITIZE_ADDRESS__
  // UndefinedBehaviorSanitizer itself asks by a pipe whether memory may be read, and takes a refusal for a no.
  if (GetParam().name == "pipe2") GTEST_SKIP() << "a sanitizer needs this call";
#endif
  CanReservePages();  // of this process: found out once
  for (const int error : {EPERM, ENOSYS}) {
    Refused(GetParam().call, error, [] { EXPECT_EQ(RehearseShmChannel(), absl::OkStatus()); });
  }
}

#ifdef SYS_poll
constexpr int kPoll = SYS_poll;
#else
constexpr int kPoll = SYS_ppoll;
#endif

INSTANTIATE_TEST_SUITE_P(
    Each, ShmRefusedCall,
    testing::Values(Named{"memfd_create", {SYS_memfd_create}}, Named{"fallocate", {SYS_fallocate}},
                    Named{"ftruncate", {SYS_ftruncate}}, Named{"fcntl_F_ADD_SEALS", {SYS_fcntl, 1, F_ADD_SEALS}},
                    Named{"fcntl_F_GET_SEALS", {SYS_fcntl, 1, F_GET_SEALS}}, Named{"fstatfs", {SYS_fstatfs}},
                    Named{"mmap_shared", {SYS_mmap, 3, MAP_SHARED}}, Named{"socket_AF_UNIX", {SYS_socket, 0, AF_UNIX}},
                    Named{"bind", {SYS_bind}}, Named{"listen", {SYS_listen}}, Named{"connect", {SYS_connect}},
                    Named{"accept4", {SYS_accept4}}, Named{"getsockopt_SO_PEERCRED", {SYS_getsockopt, 2, SO_PEERCRED}},
                    Named{"sendmsg", {SYS_sendmsg}}, Named{"recvmsg", {SYS_recvmsg}},
                    Named{"epoll_create1", {SYS_epoll_create1}}, Named{"epoll_ctl", {SYS_epoll_ctl}},
                    Named{"poll", {kPoll}}),
    NameOf);
INSTANTIATE_TEST_SUITE_P(Each, ShmDispensableCall,
                         testing::Values(Named{"none", {}}, Named{"pipe2", {SYS_pipe2}},
                                         Named{"fcntl_F_SETPIPE_SZ", {SYS_fcntl, 1, F_SETPIPE_SZ}},
                                         Named{"readlink", {SYS_readlink}}, Named{"prlimit64", {SYS_prlimit64}},
                                         Named{"madvise", {SYS_madvise}}),
                         NameOf);

TEST(ShmRefusedInTheMidst, BothEndsSayWhoseKernelItWasAndTheDeviceIsUsedNoMore) {
  ShmEnd refused;
  ShmEnd peer;
  ASSERT_TRUE(Connect(refused, peer).ok());
  Refused({SYS_recvmsg}, EPERM, [&] { EXPECT_FALSE(refused.channel->StillConnected()); });
  EXPECT_TRUE(CameOfErrno(refused.channel->why_ended()));
  EXPECT_THAT(refused.channel->why_ended().ToString(), HasSubstr("receive from the peer's UNIX socket"));
  EXPECT_EQ(refused.device->Usable(), refused.channel->why_ended());
  EXPECT_FALSE(refused.channel->breached());
  EXPECT_FALSE(peer.channel->StillConnected());
  EXPECT_THAT(peer.channel->why_ended().ToString(), HasSubstr("the peer was refused"));
  EXPECT_TRUE(peer.device->Usable().ok()) << "nothing was refused here";
}

// A channel whose kernel gives no more memory lives with what it has.
TEST(ShmRefusedInTheMidst, WithoutMoreMemoryMessagesGoInWhatThereIs) {
  if (!CanReservePages()) GTEST_SKIP() << "all of it is reserved";
  ShmEnd sender;
  ShmEnd reader;
  ASSERT_TRUE(Connect(sender, reader).ok());
  const size_t largest = sender.channel->LargestItem();
  Refused({SYS_madvise}, EPERM, [&] {
    EXPECT_GE(sender.channel->Room(Use::kData), wire::ItemBytes(largest)) << "it may be had";
    const std::string large(largest, 'x');
    EXPECT_TRUE(absl::IsResourceExhausted(sender.Send(large))) << "it may not";
    EXPECT_TRUE(sender.channel->MoreRoom()) << "who asked is to ask again";
    EXPECT_TRUE(sender.channel->connected());
    EXPECT_TRUE(sender.device->Usable().ok()) << "a channel does without";
    const size_t left = sender.channel->LargestItem();
    EXPECT_LT(left, largest);
    for (int i = 0; i < 100; ++i) {
      EXPECT_GE(sender.channel->Room(Use::kData), wire::ItemBytes(left));
      ASSERT_TRUE(sender.Send(std::string(left, 'y')).ok()) << i;
      ASSERT_EQ(reader.Read().size(), left);
    }
  });
}

// Each end has two descriptors less, and wakes the other by its socket.
TEST(ShmFewDescriptors, TheSocketIsTheBell) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP() << "a sanitizer needs them";
  const DescriptorLimit limit(64);
  ShmEnd sender;
  ShmEnd reader;
  ASSERT_TRUE(Connect(sender, reader).ok());
  for (int i = 0; i < 1000; ++i) {
    reader.group->AckEvents();
    ASSERT_TRUE(reader.group->Arm().ok());
    ASSERT_TRUE(sender.Send("ring").ok());
    ASSERT_TRUE(reader.group->Sleep(-1, 10'000).by_queue) << i;
    ASSERT_EQ(reader.Read(), "ring");
  }
}

}  // namespace
}  // namespace skein::channel::shm
