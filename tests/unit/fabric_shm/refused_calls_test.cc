// The kernel refuses this process something that a connection takes. A filter of seccomp is its thread's alone: one
// end, on a thread of its own, is refused a call, and the other end is not.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/fabric/shm/shm_device.h"
#include "core/fabric/trial.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fabric_end.h"
#include "tests/support/hooked_device.h"
#include "tests/support/refused_shm_calls.h"

namespace skein::fabric {
namespace {

using testing::HasSubstr;

// Connects two queue pairs of this process, passes memory and maps it, and awaits a message.
absl::Status TryShm() {
  constexpr size_t kBytes[] = {64};
  return TryFabric(OpenShmDevice().value(), OpenShmDevice().value(), kBytes).status();
}

class RefusedCallTest : public testing::TestWithParam<NamedCall> {};
class DispensableCallTest : public RefusedCallTest {};

TEST_P(RefusedCallTest, IsFoundOutByATrialWhichNamesTheReason) {
  for (const int error : {EPERM, ENOSYS}) {
    Refused(GetParam().call, error, [error] {
      const absl::Status status = TryShm();
      ASSERT_FALSE(status.ok());
      const Fallback why = FallbackOf(status);
      EXPECT_THAT(why.detail, HasSubstr(std::strerror(error))) << ToString(why);
    });
  }
}

TEST_P(DispensableCallTest, IsNotMissed) {
#ifdef __SANITIZE_ADDRESS__
  // UndefinedBehaviorSanitizer itself asks by a pipe whether memory may be read, and takes a refusal for a no.
  if (GetParam().name == "pipe2") GTEST_SKIP() << "a sanitizer needs this call";
#endif
  for (const int error : {EPERM, ENOSYS}) {
    Refused(GetParam().call, error, [] { EXPECT_EQ(TryShm(), absl::OkStatus()); });
  }
}

// The trial span for 5 s, and then said that it had waited. Where a completion is late, poll() is a step of the trial.
TEST(TrialTest, ARefusedPollEndsTheTrialAndIsNamed) {
  Hooks silent;
  silent.completes = [] { return false; };
  const auto device = std::make_shared<HookedDevice>(OpenShmDevice().value(), silent);
  absl::Status status;
  Refused({kPollCall}, EPERM, [&] {
    constexpr size_t kBytes[] = {64};
    status = TryFabric(device, device, kBytes).status();
  });
  EXPECT_THAT(status.message(), HasSubstr("WRITE of 64 bytes: cannot wait for a completion (poll)"));
  EXPECT_EQ(FallbackOf(status).code, FallbackCode::kNotPermitted) << status;
}

INSTANTIATE_TEST_SUITE_P(Each, RefusedCallTest, testing::ValuesIn(NeededShmCalls({{"eventfd2", {SYS_eventfd2}}})),
                         NameOfCall);
INSTANTIATE_TEST_SUITE_P(Each, DispensableCallTest,
                         testing::ValuesIn(DispensableShmCalls({{"sched_yield", {SYS_sched_yield}}})), NameOfCall);

// The end that could not go on said nothing, and its peer that it had broken the protocol.
TEST(RefusedInTheMidstTest, BothEndsSayWhoseKernelItWasAndTheDeviceIsUsedNoMore) {
  End refused(OpenShmDevice().value());
  End peer(OpenShmDevice().value());
  ASSERT_EQ(Connect(*refused.queue_pair, *peer.queue_pair), absl::OkStatus());
  std::vector<Completion> completions;
  ASSERT_EQ(Post(*refused.queue_pair, Opcode::kWrite, refused.Local(0, 8), peer.Remote(0)), absl::OkStatus());
  peer.Poll();  // lets it have the memory
  Refused({SYS_fstatfs}, EPERM, [&] { completions = refused.Poll(); });
  ASSERT_EQ(completions.size(), 1U);
  EXPECT_EQ(completions[0].status, CompletionStatus::kFatal);
  EXPECT_TRUE(CameOfErrno(refused.queue_pair->error()));
  EXPECT_THAT(refused.queue_pair->error().message(), HasSubstr("fstatfs"));
  EXPECT_EQ(refused.device->Usable(), refused.queue_pair->error());
  EXPECT_EQ(peer.queue_pair->RefreshState(), QueuePairState::kError);
  EXPECT_THAT(peer.queue_pair->error().message(), HasSubstr("the peer was refused"));
  EXPECT_TRUE(peer.device->Usable().ok()) << "nothing was refused here";
}

// It was the peer's connection that was not there, at each attempt.
TEST(RefusedInTheMidstTest, AConnectionThatCannotBeAcceptedNamesTheCallAndTheDeviceIsUsedNoMore) {
  End refused(OpenShmDevice().value());
  End peer(OpenShmDevice().value());
  const std::string answer = peer.queue_pair->Accept(refused.queue_pair->Offer().value()).value();
  absl::Status completed;
  Refused({SYS_accept4}, EPERM, [&] { completed = refused.queue_pair->Complete(answer); });
  EXPECT_EQ(FallbackOf(completed).code, FallbackCode::kNotPermitted) << completed;
  EXPECT_THAT(completed.message(), HasSubstr("accept at a UNIX socket"));
  EXPECT_EQ(refused.device->Usable(), completed);
}

TEST(RefusedInTheMidstTest, ASocketThatCannotBeReadIsNoPeerThatHasGone) {
  End refused(OpenShmDevice().value());
  End peer(OpenShmDevice().value());
  ASSERT_EQ(Connect(*refused.queue_pair, *peer.queue_pair), absl::OkStatus());
  ASSERT_EQ(Post(*refused.queue_pair, Opcode::kWrite, refused.Local(0, 8), peer.Remote(0)), absl::OkStatus());
  Refused({SYS_recvmsg}, EPERM, [&] { refused.queue_pair->RefreshState(); });
  EXPECT_THAT(refused.queue_pair->error().message(), HasSubstr("receive from the peer's UNIX socket"));
  EXPECT_FALSE(refused.device->Usable().ok());
}

}  // namespace
}  // namespace skein::fabric
