// Files below a log: who may open them, how large they are, and what is said of where they lie.
#include "core/durable/storage/file_storage.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "core/durable/storage/pmem_storage.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace {

// What the calls below do in this process, or in a child of it.
bool file_system_without_fallocate = false;
bool killed_when_a_folder_is_persisted = false;
int folders_persisted = 0;

}  // namespace

// In place of the system's, for all of this program.
extern "C" int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (!file_system_without_fallocate) return static_cast<int>(syscall(SYS_fallocate, fd, mode, offset, length));
  errno = EOPNOTSUPP;
  return -1;
}
extern "C" int fsync(int fd) {
  struct stat what = {};
  if (fstat(fd, &what) == 0 && S_ISDIR(what.st_mode)) {
    if (killed_when_a_folder_is_persisted) raise(SIGKILL);
    ++folders_persisted;
  }
  return static_cast<int>(syscall(SYS_fsync, fd));
}

namespace skein::durable {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kFileSize = 16384;

class FileStorageTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_.File("log");
};

TEST_F(FileStorageTest, IsMadeWithItsSpaceForItsOwnerOnly) {
  ASSERT_TRUE(FileStorage::Open(path_, kFileSize).ok());
  struct stat what = {};
  ASSERT_EQ(stat(path_.c_str(), &what), 0);
  EXPECT_EQ(what.st_mode & 07777, 0600u);
  EXPECT_EQ(what.st_size, static_cast<off_t>(kFileSize));
  EXPECT_GE(what.st_blocks * 512, static_cast<blkcnt_t>(kFileSize));
}

TEST_F(FileStorageTest, HasOneUserAtATime) {
  auto first = FileStorage::Open(path_, kFileSize);
  ASSERT_TRUE(first.ok());
  const auto second = FileStorage::Open(path_, kFileSize);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(second.status().message(),
              AllOf(HasSubstr("in use"), HasSubstr("stop the server or replica that has it")));
  EXPECT_EQ(PmemStorage::Open(path_, kFileSize).status().code(), absl::StatusCode::kFailedPrecondition);
  first->reset();
  EXPECT_TRUE(FileStorage::Open(path_, kFileSize).ok());
}

TEST_F(FileStorageTest, IsNotOpenedWithAnotherSize) {
  ASSERT_TRUE((*FileStorage::Open(path_, kFileSize))->Storage::Write(kFileSize - 1, "x").ok());
  const auto larger = FileStorage::Open(path_, 2 * kFileSize);
  EXPECT_EQ(larger.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(larger.status().message(), HasSubstr("16384 bytes, not 32768"));
}

// In a child, which is killed in the midst of it by what `prepare` does.
void MakeAndBeKilled(const std::string& path, void (*prepare)()) {
  const pid_t child = fork();
  if (child == 0) {
    prepare();
    FileStorage::Open(path, kFileSize).status().IgnoreError();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST_F(FileStorageTest, AMakerThatIsKilledWhileItFillsTheFileIsNotInTheWayOfTheNext) {
  MakeAndBeKilled(path_, [] {
    file_system_without_fallocate = true;
    const rlimit part = {.rlim_cur = kFileSize / 3, .rlim_max = kFileSize / 3};
    setrlimit(RLIMIT_FSIZE, &part);  // SIGXFSZ behind it
    const rlimit no_core = {};
    setrlimit(RLIMIT_CORE, &no_core);
  });
  ASSERT_EQ(std::filesystem::file_size(path_), kFileSize / 3);
  const auto storage = FileStorage::Open(path_, kFileSize);
  ASSERT_TRUE(storage.ok()) << storage.status();
  EXPECT_EQ(std::filesystem::file_size(path_), kFileSize);
}

TEST_F(FileStorageTest, TheNameIsMadeSafeThoughItsMakerWasKilledBefore) {
  MakeAndBeKilled(path_, [] { killed_when_a_folder_is_persisted = true; });
  ASSERT_EQ(std::filesystem::file_size(path_), kFileSize);
  const int before = folders_persisted;
  ASSERT_TRUE(FileStorage::Open(path_, kFileSize).ok());
  EXPECT_EQ(folders_persisted, before + 1);
}

TEST_F(FileStorageTest, IsNotOpenedThroughALinkNorWhereOthersMayLook) {
  ASSERT_TRUE(FileStorage::Open(path_, kFileSize).ok());
  ASSERT_EQ(symlink(path_.c_str(), folder_.File("link").c_str()), 0);
  EXPECT_THAT(FileStorage::Open(folder_.File("link"), kFileSize).status().message(), HasSubstr("symbolic link"));
  ASSERT_EQ(chmod(path_.c_str(), 0640), 0);
  const auto open_to_others = FileStorage::Open(path_, kFileSize);
  EXPECT_EQ(open_to_others.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(open_to_others.status().message(), HasSubstr("chmod 600"));
  EXPECT_FALSE(FileStorage::Open(folder_.File(""), kFileSize).ok());
  EXPECT_FALSE(FileStorage::Open("/dev/null", kFileSize).ok());
  EXPECT_FALSE(FileStorage::Open(folder_.File("no/such/folder"), kFileSize).ok());
}

TEST_F(FileStorageTest, AFileThatIsNoLogIsNotToBeHiddenFromOthers) {
  std::ofstream(path_) << "root:x:0:0:root:/root:/bin/bash\n";
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  const absl::Status status = FileStorage::Open(path_, kFileSize).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("is no redo log"), Not(HasSubstr("chmod"))));
  // An empty file that was made by hand may become one.
  std::ofstream{path_};
  EXPECT_THAT(FileStorage::Open(path_, kFileSize).status().message(), HasSubstr("chmod 600"));
}

TEST_F(FileStorageTest, AFullDiskShowsWhenItIsOpened) {
  const auto storage = FileStorage::Open(path_, uint64_t{1} << 43);
  EXPECT_EQ(storage.status().code(), absl::StatusCode::kResourceExhausted) << storage.status();
  EXPECT_NE(access(path_.c_str(), F_OK), 0) << "a file is left";
}

TEST_F(FileStorageTest, AFileThatIsShorterNowIsAnError) {
  auto storage = FileStorage::Open(path_, kFileSize);
  ASSERT_TRUE(storage.ok());
  ASSERT_EQ(truncate(path_.c_str(), 100), 0);
  std::string bytes(200, '?');
  EXPECT_EQ((*storage)->Read(0, absl::MakeSpan(bytes)).code(), absl::StatusCode::kDataLoss);
}

TEST_F(FileStorageTest, ClaimsNothingOfMemory) {
  const TemporaryFolder memory("/dev/shm");
  const auto file = FileStorage::Open(memory.File("file"), kFileSize);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->persistence(), Persistence::kEmulated);
  const auto mapped = PmemStorage::Open(memory.File("mapped"), kFileSize);
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  EXPECT_EQ((*mapped)->persistence(), Persistence::kEmulated);
  EXPECT_FALSE((*mapped)->fine_grained());
}

TEST_F(FileStorageTest, ClaimsNothingWhereLibpmemIsToldWhatToBelieve) {
  setenv("PMEM_IS_PMEM_FORCE", "1", 1);
  const auto mapped = PmemStorage::Open(path_, kFileSize);
  unsetenv("PMEM_IS_PMEM_FORCE");
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  EXPECT_EQ((*mapped)->persistence(), Persistence::kEmulated);
}

}  // namespace
}  // namespace skein::durable
