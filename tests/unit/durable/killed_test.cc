// Processes that append to a log in a file, and are killed for it.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <random>
#include <string>

#include "absl/time/clock.h"
#include "core/durable/log/redo_log.h"
#include "core/durable/storage/file_storage.h"
#include "core/durable/storage/pmem_storage.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {
namespace {

constexpr uint64_t kKilledLogSize = kRingOffset + 65536;
constexpr uint64_t kKeep = 8;

using OpenStorage = absl::StatusOr<std::unique_ptr<Storage>> (*)(const std::string& path);

template <typename Implementation>
absl::StatusOr<std::unique_ptr<Storage>> OpenAs(const std::string& path) {
  auto storage = Implementation::Open(path, kKilledLogSize);
  if (!storage.ok()) return storage.status();
  return *std::move(storage);
}

// In the child: appends one entry after the other from where the log ends, and says each time that one is safe by
// writing its number into the pipe. Never returns.
[[noreturn]] void AppendForEver(OpenStorage open, const std::string& path, int pipe) {
  Logged logged = OpenLog(*open(path));
  if (!logged.status.ok()) _exit(1);
  uint64_t sequence = logged.sequences.empty() ? 0 : logged.sequences.back();
  for (;;) {
    ++sequence;
    const absl::StatusOr<uint64_t> position = Append(*logged.log, sequence, PayloadOf(sequence, 3000));
    if (!position.ok() || !logged.log->Persist().ok()) _exit(2);
    if (write(pipe, &sequence, sizeof(sequence)) != sizeof(sequence)) _exit(3);
    logged.positions.push_back(*position);
    while (logged.positions.size() > kKeep) {
      logged.log->Release(logged.positions.front());
      logged.positions.erase(logged.positions.begin());
    }
  }
}

// The last number that comes out of the pipe before the child is killed.
uint64_t KillOne(OpenStorage open, const std::string& path, absl::Duration after) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) AppendForEver(open, path, ends[1]);
  close(ends[1]);
  uint64_t last = 0;
  EXPECT_EQ(read(ends[0], &last, sizeof(last)), static_cast<ssize_t>(sizeof(last))) << "it never began";
  absl::SleepFor(after);
  kill(child, SIGKILL);
  while (read(ends[0], &last, sizeof(last)) == sizeof(last)) {
  }
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it ended with " << WEXITSTATUS(status);
  return last;
}

class KilledTest : public testing::TestWithParam<OpenStorage> {};

TEST_P(KilledTest, LosesNothingThatItSaidToBeSafe) {
  const TemporaryFolder folder;
  const std::string path = folder.File("log");
  std::mt19937_64 random(1);
  uint64_t before = 0;
  for (int round = 0; round < 20; ++round) {
    const uint64_t told = KillOne(GetParam(), path, absl::Microseconds(random() % 20000));
    ASSERT_GT(told, before) << "round " << round;
    const Logged logged = OpenLog(*GetParam()(path));
    ASSERT_TRUE(logged.status.ok()) << logged.status;
    ASSERT_GE(logged.sequences.back(), told) << "round " << round;
    ASSERT_LE(logged.sequences.back(), told + 1) << "round " << round;
    for (size_t i = 0; i < logged.sequences.size(); ++i) {
      ASSERT_EQ(logged.sequences[i], logged.sequences[0] + i);
      ASSERT_EQ(logged.payloads[i], PayloadOf(logged.sequences[i], 3000));
    }
    before = logged.sequences.back();
  }
}

INSTANTIATE_TEST_SUITE_P(With, KilledTest, testing::Values(OpenAs<FileStorage>, OpenAs<PmemStorage>),
                         [](const auto& info) { return info.index == 0 ? "AFile" : "AMappedFile"; });

}  // namespace
}  // namespace skein::durable
