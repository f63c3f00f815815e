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
#include "core/channel/shm/region.h"
#include "core/channel/shm/rehearsal.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/in_child.h"
#include "tests/support/refused_shm_calls.h"
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

using ::testing::HasSubstr;

class ShmRefusedCall : public testing::TestWithParam<NamedCall> {};
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

INSTANTIATE_TEST_SUITE_P(Each, ShmRefusedCall,
                         testing::ValuesIn(NeededShmCalls({{"ftruncate", {SYS_ftruncate}}, {"poll", {kPollCall}}})),
                         NameOfCall);
INSTANTIATE_TEST_SUITE_P(Each, ShmDispensableCall, testing::ValuesIn(DispensableShmCalls()), NameOfCall);

TEST(ShmRefusedInTheMidst, BothEndsSayWhoseKernelItWasAndTheTransportIsUsedNoMore) {
  ShmEnd refused;
  ShmEnd peer;
  ASSERT_TRUE(Connect(refused, peer).ok());
  Refused({SYS_recvmsg}, EPERM, [&] { refused.group->AckAllEvents(); });
  EXPECT_TRUE(CameOfErrno(refused.channel->why_ended()));
  EXPECT_THAT(refused.channel->why_ended().ToString(), HasSubstr("receive from the peer's UNIX socket"));
  EXPECT_EQ(refused.transport->Usable(), refused.channel->why_ended());
  EXPECT_FALSE(refused.channel->peer_broke_protocol());
  EXPECT_FALSE(peer.channel->StillConnected());
  EXPECT_THAT(peer.channel->why_ended().ToString(), HasSubstr("the peer was refused"));
  EXPECT_TRUE(peer.transport->Usable().ok()) << "nothing was refused here";
}

// By a thread that polls, and by one that operates: whichever comes first takes what was passed.
TEST(ShmRefusedInTheMidst, PassedMemoryEndsTheChannelAtBothEndsAndTheTransportIsUsedNoMore) {
  const std::unique_ptr<Region> region = Region::Allocate(4096, fabric::kRemoteRead).value();
  for (const bool polls : {true, false}) {
    ShmEnd refused;
    ShmEnd peer;
    ASSERT_EQ(Connect(refused, peer), absl::OkStatus());
    refused.channel->ExpectMemory();
    ASSERT_EQ(peer.channel->Pass(*region), absl::OkStatus());
    Refused({SYS_mmap, 3, MAP_SHARED}, EPERM, [&] {
      if (polls) return refused.group->AckAllEvents();
      std::byte to[8];
      const fabric::Segment local = {to, sizeof(to), 0};
      fabric::SendRequest read;
      read.opcode = fabric::Opcode::kRead;
      read.remote = region->remote();
      read.local = {&local, 1};
      EXPECT_EQ(refused.channel->Execute(read).value(), fabric::CompletionStatus::kFlushed);
    });
    EXPECT_TRUE(CameOfErrno(refused.channel->why_ended())) << refused.channel->why_ended();
    EXPECT_EQ(refused.transport->Usable(), refused.channel->why_ended());
    EXPECT_FALSE(refused.channel->peer_broke_protocol());
    EXPECT_FALSE(peer.channel->StillConnected());
    EXPECT_THAT(peer.channel->why_ended().ToString(), HasSubstr("the peer was refused"));
    EXPECT_EQ(peer.transport->Usable(), absl::OkStatus()) << "nothing was refused here";
  }
}

// A channel whose kernel gives no more memory lives with what it has.
TEST(ShmRefusedInTheMidst, WithoutMoreMemoryMessagesGoInWhatThereIs) {
  if (!CanReservePages()) GTEST_SKIP() << "all of it is reserved";
  ShmEnd sender;
  ShmEnd reader;
  ASSERT_TRUE(Connect(sender, reader).ok());
  const size_t largest = sender.channel->LargestItem();
  Refused({SYS_madvise}, EPERM, [&] {
    EXPECT_GE(sender.channel->Space(Use::kData), wire::ItemBytes(largest)) << "it may be had";
    const std::string large(largest, 'x');
    EXPECT_TRUE(absl::IsResourceExhausted(sender.Send(large))) << "it may not";
    EXPECT_TRUE(sender.channel->MoreSpace()) << "who asked is to ask again";
    EXPECT_TRUE(sender.channel->connected());
    EXPECT_TRUE(sender.transport->Usable().ok()) << "a channel does without";
    const size_t left = sender.channel->LargestItemNow();
    EXPECT_LT(left, largest);
    EXPECT_EQ(sender.channel->LargestItem(), largest);
    for (int i = 0; i < 100; ++i) {
      EXPECT_GE(sender.channel->Space(Use::kData), wire::ItemBytes(left));
      ASSERT_TRUE(sender.Send(std::string(left, 'y')).ok()) << i;
      ASSERT_EQ(reader.Read().size(), left);
    }
  });
}

// As kernels before 5.1 have it.
TEST(ShmRefusedSeal, AgainstLaterWritersIsDoneWithout) {
  static constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  Refused({SYS_fcntl, 2, kSeals | F_SEAL_FUTURE_WRITE}, EINVAL, [] {
    const absl::StatusOr<SharedMemory> memory = CreateShared("read only", 4096, /*peers_write=*/false);
    ASSERT_EQ(memory.status(), absl::OkStatus());
    EXPECT_EQ(fcntl(memory->memfd.get(), F_GET_SEALS), kSeals);
    EXPECT_EQ(MapSealed(memory->memfd.get(), 4096, /*writable=*/false).status(), absl::OkStatus());
  });
}

// Each end has two descriptors less, and wakes the other by its socket.
TEST(ShmFewDescriptors, TheSocketIsTheNotification) {
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
