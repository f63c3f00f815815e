// Memory to be shared is there when it is made, or an error; whatever signals and limits this process has.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "core/base/sealed_memory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

// In the midst of the next calls below, one each.
int signals_to_come = 0;
int stops_to_come = 0;
volatile sig_atomic_t signals = 0;  // that were handled
void Handle(int) { signals = signals + 1; }

}  // namespace

// In place of the system's, for all of this program: as of kernels that give up for any signal, not only for one that
// kills.
extern "C" int posix_fallocate(int fd, off_t offset, off_t size) {
  const int before = signals;
  if (signals_to_come > 0) {
    --signals_to_come;
    raise(SIGALRM);
  }
  if (signals != before) return EINTR;
  if (stops_to_come > 0) {
    --stops_to_come;
    return EINTR;
  }
  return syscall(SYS_fallocate, fd, 0, offset, size) == 0 ? 0 : errno;
}

namespace skein::channel::shm {
namespace {

constexpr size_t kBytes = size_t{1} << 20;

absl::Status Allocate() { return CreateSealedMemfd("raw", kBytes).status(); }

// Handled until it goes.
auto Handling(int signal_number) {
  signals = 0;
  return absl::Cleanup([signal_number, before = signal(signal_number, Handle)] { signal(signal_number, before); });
}

TEST(Reserving, BeyondTheLimitOnTheSizeOfFilesIsAnErrorAndNoSignal) {
  const auto handled = Handling(SIGXFSZ);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little = {.rlim_cur = kBytes / 16, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const absl::Status status = Allocate();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(status.message(), testing::HasSubstr("ulimit -f"));
  EXPECT_EQ(signals, 0) << "which kill who does not handle them";
}

TEST(Reserving, IsNotInterruptedByATimerThatIsFasterThanTheKernel) {
  const auto handled = Handling(SIGALRM);
  signals_to_come = 100;
  EXPECT_EQ(Allocate(), absl::OkStatus());
  EXPECT_EQ(std::exchange(signals_to_come, 0), 99) << "tried again";
  EXPECT_EQ(signals, 1) << "lost, or more than one";
}

TEST(Reserving, BeginsAgainAfterAStopWhichNothingBlocks) {
  stops_to_come = 2;
  EXPECT_EQ(Allocate(), absl::OkStatus());
  EXPECT_EQ(stops_to_come, 0);
}

}  // namespace
}  // namespace skein::channel::shm
