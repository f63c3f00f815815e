// What doctor says of a host's skeind, in each state that one may be in.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/abstract_socket.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/skeind_host.h"
#include "tools/skein/doctor/checks.h"

namespace skein::doctor {
namespace {

using service::SkeindHost;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Finding> Check(const std::string& folder, RdmaBy by) {
  RdmaOptions options;
  options.service = folder;
  options.by = by;
  Report report = Report::Silent();
  CheckService(options, report);
  return report.findings();
}

auto Finds(const std::string& verdict, const std::string& fact, const std::string& advice = "") {
  return AllOf(Field(&Finding::verdict, verdict), Field(&Finding::fact, HasSubstr(fact)),
               Field(&Finding::advice, HasSubstr(advice)));
}

// As a user other than root, whom no permission stops.
class AsNobody {
 public:
  AsNobody() : was_root_(geteuid() == 0) {
    if (was_root_) {
      EXPECT_EQ(seteuid(65534), 0);
    }
  }
  ~AsNobody() {
    if (was_root_) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }

 private:
  const bool was_root_;
};

class ServiceFinding : public testing::Test {
 protected:
  std::string Socket() const { return absl::StrCat(folder_.path(), "/skeind.sock"); }

  const TemporaryFolder folder_{"/tmp"};
};

TEST_F(ServiceFinding, WithoutAFolderNobodyNeedsOne) {
  const std::string none = absl::StrCat(folder_.path(), "/none");
  EXPECT_THAT(Check(none, RdmaBy::kAuto), ElementsAre(Finds("ok", "there is no ", "needs none")));
  EXPECT_THAT(Check(none, RdmaBy::kService), ElementsAre(Finds("FAIL", "skein.rdma is service", "mount that folder")));
}

TEST_F(ServiceFinding, WithoutASocketNobodyNeedsOne) {
  EXPECT_THAT(Check(folder_.path(), RdmaBy::kAuto), ElementsAre(Finds("ok", "none serves")));
  EXPECT_THAT(Check(folder_.path(), RdmaBy::kService),
              ElementsAre(Finds("FAIL", "skein.rdma is service", "start one on this host")));
}

TEST_F(ServiceFinding, AProcessThatDoesNotWantItIsNotTold) {
  EXPECT_THAT(Check("/nonexistent", RdmaBy::kDirect), ElementsAre(Finds("ok", "not used")));
}

TEST_F(ServiceFinding, OfOneThatHasEndedThereIsOnlyTheFile) {
  { const auto left = ListenAtPath(Socket()).value(); }
  EXPECT_THAT(Check(folder_.path(), RdmaBy::kAuto), ElementsAre(Finds("warn", "nobody listens", "restart skeind")));
  EXPECT_THAT(Check(folder_.path(), RdmaBy::kService), ElementsAre(Finds("FAIL", "nobody listens")));
}

TEST_F(ServiceFinding, WhatIsNoSocketIsNoSkeind) {
  std::ofstream(Socket()) << "x";
  EXPECT_THAT(Check(folder_.path(), RdmaBy::kAuto), ElementsAre(Finds("warn", "is no socket")));
  EXPECT_THAT(Check(Socket(), RdmaBy::kAuto), ElementsAre(Finds("warn", "is no directory")));
}

TEST_F(ServiceFinding, OneThatHangsIsNamed) {
  const auto hangs = ListenAtPath(Socket()).value();
  EXPECT_THAT(Check(folder_.path(), RdmaBy::kService),
              ElementsAre(Finds("FAIL", absl::StrCat("process ", getpid(), ", does not answer"), "kill -CONT")));
}

TEST_F(ServiceFinding, PermissionsThatKeepThisUserOut) {
  const auto listens = ListenAtPath(Socket()).value();
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(Socket().c_str(), 0), 0);
  {
    const AsNobody nobody;
    EXPECT_THAT(Check(folder_.path(), RdmaBy::kAuto),
                ElementsAre(Finds("warn", absl::StrCat("may not be used by user ", geteuid()), "chmod o+rx")));
  }
  ASSERT_EQ(chmod(folder_.path().c_str(), 0), 0);
  {
    const AsNobody nobody;
    EXPECT_THAT(Check(folder_.path(), RdmaBy::kService), ElementsAre(Finds("FAIL", "may not be used", "chmod o+rx")));
  }
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
}

TEST_F(ServiceFinding, AFolderThatEverybodyMayWriteIsAWarning) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0777), 0);
  EXPECT_THAT(Check(folder_.path(), RdmaBy::kAuto),
              ElementsAre(Finds("warn", "may be written by every user", "chmod o-w"), Finds("ok", "none serves")));
}

class ServiceFindingOfAHost : public testing::Test {
 protected:
  fabric::Simulation simulation_{20261129, {}};
};

TEST_F(ServiceFindingOfAHost, OneThatServesSaysWhatItHas) {
  const SkeindHost host(simulation_, "mlx5_0", {.sessions = 100, .queue_pairs = 16, .bytes = 1 << 20});
  const std::vector<Finding> findings = Check(host.folder(), RdmaBy::kService);
  EXPECT_THAT(findings, Each(Field(&Finding::verdict, "ok")));
  EXPECT_THAT(findings, Contains(Finds("ok", absl::StrCat("process ", getpid(), ", serves ", host.folder(),
                                                          ", and other hosts at port ", host.trunk_port()))));
  EXPECT_THAT(findings, Contains(Finds("ok", " 1 of 100 sessions")));
  EXPECT_THAT(findings, Contains(Finds("ok", " 0 of 16 virtual queue pairs")));
  EXPECT_THAT(findings, Contains(Finds("ok", " 0 of 1048576 registered bytes")));
  EXPECT_THAT(findings, Contains(Finds("ok", "rdma via skeind:mlx5_0: messages of up to ")));
}

TEST_F(ServiceFindingOfAHost, AUserThatHasEnoughIsWarned) {
  const SkeindHost host(simulation_, "mlx5_0", {.sessions = 1});
  const std::vector<Finding> findings = Check(host.folder(), RdmaBy::kAuto);
  EXPECT_THAT(findings, Contains(Finds("warn", " 1 of 1 sessions", "--user-sessions")));
}

TEST_F(ServiceFindingOfAHost, OneWithoutADeviceSaysWhy) {
  const TemporaryFolder folder("/tmp");
  service::ServiceOptions options;
  options.folder = folder.path();
  options.trunk_address = "127.0.0.1";
  const auto skeind = service::Service::Create(options, [](absl::string_view) -> absl::StatusOr<service::Port> {
                        return absl::UnavailableError("this host has no RDMA device");
                      }).value();
  std::thread serves([&] { skeind->Run(); });
  EXPECT_THAT(Check(folder.path(), RdmaBy::kService),
              Contains(Finds("FAIL", "this host has no RDMA device", "on the host")));
  skeind->Stop();
  serves.join();
}

}  // namespace
}  // namespace skein::doctor
