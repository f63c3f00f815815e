// What a peer may not pass as its memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/sealed_memory.h"
#include "core/base/unique_fd.h"
#include "gtest/gtest.h"

namespace skein::channel::shm {
namespace {

TEST(HostileMemory, OfHugePages) {
  const UniqueFd fd(memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB));
  if (!fd.valid()) GTEST_SKIP() << "this kernel has none";
  struct stat status = {};
  ASSERT_EQ(fstat(fd.get(), &status), 0);
  const auto page = static_cast<size_t>(status.st_blksize);
  ASSERT_EQ(ftruncate(fd.get(), static_cast<off_t>(page)), 0);
  ASSERT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(MapSealed(fd.get(), page).status()));
}

// To map it fails with an errno, which would be taken for this process's own.
TEST(HostileMemory, ThatCannotBeWrittenIsThePeersFault) {
  constexpr size_t kBytes = 4096;
  const UniqueFd sealed(memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(sealed.get(), kBytes), 0);
  ASSERT_EQ(fcntl(sealed.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL), 0);
  const UniqueFd memfd = CreateSealedMemfd("read only", kBytes).value();
  const UniqueFd read_only(open(absl::StrCat("/proc/self/fd/", memfd.get()).c_str(), O_RDONLY | O_CLOEXEC));
  for (const int fd : {sealed.get(), read_only.get(), -1}) {
    const absl::Status status = MapSealed(fd, kBytes).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_FALSE(CameOfErrno(status));
  }
}

}  // namespace
}  // namespace skein::channel::shm
