// Meetings by a socket's file: which directories are trusted, and what is left in them.
#include "core/channel/shm/meeting_directory.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/abstract_socket.h"
#include "core/base/fallback.h"
#include "core/base/sealed_memory.h"
#include "core/channel/shm/layout.h"
#include "core/channel/shm/offer.h"
#include "core/channel/shm/rendezvous.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::channel::shm {
namespace {

using testing::HasSubstr;

constexpr char kName[] = "skein-0123456789abcdef0123456789abcdef";

class MeetingDirectoryTest : public testing::Test {
 protected:
  MeetingDirectoryTest() : path_(mkdtemp(std::string(testing::TempDir() + "meetXXXXXX").data())) {}
  ~MeetingDirectoryTest() override { std::filesystem::remove_all(path_); }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    return names;
  }
  absl::Status Listening() const { return MeetingDirectory(path_).Listen(kName).status(); }
  // What a process leaves that is killed while it listens, so many seconds ago.
  void LeaveFile(const std::string& name, int seconds) const {
    const std::string file = absl::StrCat(path_, "/", name);
    EXPECT_TRUE(ListenAtPath(file).ok());
    const timespec then = {time(nullptr) - seconds, 0};
    const timespec times[] = {then, then};
    EXPECT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }

  const std::string path_;
};

TEST_F(MeetingDirectoryTest, AFileThatEverybodyCanConnectToGoesWithItsListener) {
  const MeetingDirectory directory(path_);
  const mode_t before = umask(077);
  auto listening = directory.Listen(kName);
  umask(before);
  ASSERT_TRUE(listening.ok()) << listening.status();
  EXPECT_TRUE(directory.Connect(kName).ok());
  struct stat about = {};
  ASSERT_EQ(stat(absl::StrCat(path_, "/", kName).c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0666, 0666U);
  listening->reset();
  EXPECT_THAT(Files(), testing::IsEmpty());
  EXPECT_TRUE(absl::IsNotFound(directory.Connect(kName).status()));
}

TEST_F(MeetingDirectoryTest, OthersMayWriteThereIfTheyCannotMoveFilesThatAreNotTheirs) {
  EXPECT_EQ(Listening(), absl::OkStatus());
  for (const mode_t mode : {0777, 0770}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    EXPECT_THAT(Listening().message(), HasSubstr("without the sticky bit (chmod +t)"));
    EXPECT_THAT(MeetingDirectory(path_).Connect(kName).status().message(), HasSubstr("sticky"));
    ASSERT_EQ(chmod(path_.c_str(), mode | S_ISVTX), 0);
    EXPECT_EQ(Listening(), absl::OkStatus());
  }
}

TEST_F(MeetingDirectoryTest, NoOtherUserMayOwnIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  ASSERT_EQ(chown(path_.c_str(), 1234, 0), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(Listening()));
  EXPECT_THAT(Listening().message(), HasSubstr("is of user 1234"));
}

TEST_F(MeetingDirectoryTest, NeitherALinkNorAFileIsOne) {
  const std::string link = absl::StrCat(path_, "/link");
  ASSERT_EQ(symlink(path_.c_str(), link.c_str()), 0);
  EXPECT_FALSE(MeetingDirectory(link).Listen(kName).ok());
  EXPECT_FALSE(MeetingDirectory("/dev/null").Listen(kName).ok());
  EXPECT_TRUE(absl::IsUnavailable(MeetingDirectory(absl::StrCat(path_, "/none")).Connect(kName).status()));
}

TEST_F(MeetingDirectoryTest, WhatKilledProcessesHaveLeftIsTakenAway) {
  const MeetingDirectory directory(path_);
  const std::string young = SocketName({'y'});
  const std::string used = SocketName({'u'});
  LeaveFile(SocketName({'s'}), 100);
  LeaveFile(young, 10);
  LeaveFile("somebody-elses", 100);
  const auto listening = directory.Listen(used);
  ASSERT_TRUE(listening.ok());
  const timespec then[] = {{0, 0}, {0, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, absl::StrCat(path_, "/", used).c_str(), then, 0), 0);
  directory.RemoveStale();
  EXPECT_THAT(Files(), testing::UnorderedElementsAre(young, used, "somebody-elses"));
}

TEST_F(MeetingDirectoryTest, InADirectoryThatIsNotToBeTrustedNothingIsTakenAway) {
  LeaveFile(kName, 100);
  ASSERT_EQ(chmod(path_.c_str(), 0777), 0);
  MeetingDirectory(path_).RemoveStale();
  EXPECT_THAT(Files(), testing::ElementsAre(kName));
}

// The child shut down the socket that both have open.
TEST_F(MeetingDirectoryTest, AChildMadeByForkLeavesTheListenerToItsParent) {
  const MeetingDirectory directory(path_);
  auto listening = directory.Listen(kName);
  ASSERT_TRUE(listening.ok()) << listening.status();
  const pid_t child = fork();
  if (child == 0) {
    listening->reset();
    _exit(0);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(directory.Connect(kName).status(), absl::OkStatus());
}

// By threads in network namespaces of their own.
class AcrossNamespaces : public MeetingDirectoryTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make namespaces";
  }
  static absl::StatusOr<Meeting> Come(const Offer& offer, const std::string& directory) {
    absl::StatusOr<UniqueFd> control = CreateSealedMemfd("raw", kPageBytes);
    if (!control.ok()) return control.status();
    return Meet(offer, {}, MeetingDirectory(directory), *std::move(control));
  }
  static absl::Status ComeFromElsewhere(const Offer& offer, const std::string& directory) {
    absl::Status status;
    std::thread([&] {
      status = unshare(CLONE_NEWNET) == 0 ? Come(offer, directory).status() : absl::UnavailableError("not permitted");
    }).join();
    return status;
  }
};

TEST_F(AcrossNamespaces, TheyMeetByTheFileWhereBothHaveTheDirectory) {
  Rendezvous rendezvous({}, MeetingDirectory(path_));
  const absl::StatusOr<Offer> offer = rendezvous.Announce();
  ASSERT_TRUE(offer.ok()) << offer.status();
  ASSERT_EQ(ComeFromElsewhere(*offer, path_), absl::OkStatus());
  EXPECT_TRUE(rendezvous.Collect(offer->token).ok());
}

TEST_F(AcrossNamespaces, TheAbstractNameDoesWithin) {
  Rendezvous rendezvous({}, MeetingDirectory(path_));
  const absl::StatusOr<Offer> offer = rendezvous.Announce();
  ASSERT_TRUE(offer.ok()) << offer.status();
  ASSERT_TRUE(Come(*offer, "").ok());
  EXPECT_TRUE(rendezvous.Collect(offer->token).ok());
}

TEST_F(AcrossNamespaces, NobodyIsThereWhereOneEndHasNoDirectory) {
  Rendezvous without;
  Rendezvous with({}, MeetingDirectory(path_));
  const absl::StatusOr<Offer> offer_without = without.Announce();
  const absl::StatusOr<Offer> offer_with = with.Announce();
  ASSERT_TRUE(offer_without.ok() && offer_with.ok());
  for (const absl::Status& status : {ComeFromElsewhere(*offer_without, path_), ComeFromElsewhere(*offer_with, "")}) {
    EXPECT_EQ(FallbackOf(status).code, FallbackCode::kDifferentNetworkNamespace) << status;
  }
}

TEST_F(AcrossNamespaces, AFileIsThereWhileAnOfferLeadsToIt) {
  Rendezvous rendezvous({}, MeetingDirectory(path_));
  const absl::StatusOr<Offer> first = rendezvous.Announce();
  const absl::StatusOr<Offer> second = rendezvous.Announce();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(Files().size(), 1U);
  rendezvous.Withdraw(first->token);
  ASSERT_EQ(ComeFromElsewhere(*second, path_), absl::OkStatus());
  EXPECT_TRUE(rendezvous.Collect(second->token).ok());
  EXPECT_THAT(Files(), testing::IsEmpty());
  const absl::StatusOr<Offer> third = rendezvous.Announce();
  ASSERT_TRUE(third.ok()) << third.status();
  ASSERT_EQ(ComeFromElsewhere(*third, path_), absl::OkStatus());
  EXPECT_TRUE(rendezvous.Collect(third->token).ok());
}

TEST_F(AcrossNamespaces, ADirectoryThatIsNotToBeTrustedIsNamedWithWhatToDo) {
  ASSERT_EQ(chmod(path_.c_str(), 0777), 0);
  Rendezvous rendezvous({}, MeetingDirectory(path_));
  const absl::Status offer = rendezvous.Announce().status();
  EXPECT_EQ(FallbackOf(offer).code, FallbackCode::kRendezvous);
  EXPECT_THAT(offer.message(), testing::AllOf(HasSubstr("the client's skein.rendezvous"), HasSubstr("chmod +t")));
}

}  // namespace
}  // namespace skein::channel::shm
