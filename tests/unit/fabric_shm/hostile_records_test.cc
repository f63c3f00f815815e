// What a peer may not write into its mailbox, pass as its memory, or ask for.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/unique_fd.h"
#include "core/fabric/shm/mailbox.h"
#include "core/fabric/shm/memory.h"
#include "gtest/gtest.h"

namespace skein::fabric::shm {
namespace {

class HostileRecords : public testing::Test {
 protected:
  absl::Status Pushed(RecordKind kind, uint32_t size) {
    const std::vector<std::byte> payload(size);
    EXPECT_TRUE(producer_.Push({kind, 0, size, 0, 0}, payload.data()));
    return consumer_.Peek().status();
  }

  const std::unique_ptr<Control> control_ = std::make_unique<Control>();
  MailboxProducer producer_{control_->sides[0], control_->sides[1]};
  MailboxConsumer consumer_{control_->sides[1], control_->sides[0]};
};

// They took no receive, and as many of them as the peer was fast enough to write kept the reader from returning.
TEST_F(HostileRecords, FragmentsThatAreNotFull) {
  EXPECT_TRUE(Pushed(RecordKind::kFragment, kMaxFragmentBytes).ok());
  consumer_.Pop(*consumer_.Peek());
  EXPECT_TRUE(absl::IsDataLoss(Pushed(RecordKind::kFragment, 0)));
}
TEST_F(HostileRecords, FragmentsThatLackAByte) {
  EXPECT_TRUE(absl::IsDataLoss(Pushed(RecordKind::kFragment, kMaxFragmentBytes - 1)));
}

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
}  // namespace skein::fabric::shm
