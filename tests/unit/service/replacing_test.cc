// A skeind that begins where another one serves: refused, or it takes that one's place.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/fabric/service/query.h"
#include "core/service/predecessor.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using fabric::service::Query;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A skeind with a thread that serves as skeind's own does, and lets go of everything when it has ended.
class Skeind {
 public:
  explicit Skeind(std::unique_ptr<Service> service)
      : service_(std::move(service)), port_(service_->trunk_port()), thread_([this] {
          service_->Run();
          MutexLock lock(&mu_);
          service_ = nullptr;
        }) {}
  ~Skeind() { Stop(); }
  void Stop() {
    {
      MutexLock lock(&mu_);
      if (service_ != nullptr) service_->Stop();
    }
    if (thread_.joinable()) thread_.join();
  }

  uint16_t port() const { return port_; }
  bool has_ended() {
    MutexLock lock(&mu_);
    return service_ == nullptr;
  }

 private:
  Mutex mu_;
  std::unique_ptr<Service> service_;
  const uint16_t port_;
  std::thread thread_;
};

class Replacing : public ::testing::Test {
 protected:
  Replacing() {
    options_.folder = folder_.path();
    options_.trunk_address = "127.0.0.1";
    options_.any_trunk_port = true;
    options_.spin = absl::InfiniteDuration();  // the simulation wakes no sleeper
  }

  absl::StatusOr<std::unique_ptr<Skeind>> Begin() {
    const Port port = {simulation_.CreateDevice(absl::StrCat("one", ++devices_)), "127.0.0.1"};
    auto service = Service::Create(options_, [port](absl::string_view) { return port; });
    if (!service.ok()) return service.status();
    return std::make_unique<Skeind>(*std::move(service));
  }
  absl::StatusOr<std::unique_ptr<Skeind>> BeginInPlaceOf(const Skeind& other) {
    options_.replaces = true;
    options_.trunk_port = other.port();
    return Begin();
  }
  std::string Path() const { return absl::StrCat(folder_.path(), "/skeind.sock"); }

  const TemporaryFolder folder_{"/tmp"};
  ServiceOptions options_;
  int devices_ = 0;
  fabric::Simulation simulation_{20261129, {}};
  SkeindHost other_{simulation_, "other"};
};

TEST_F(Replacing, ASecondSkeindIsRefusedAndTheFirstServesOn) {
  const auto first = Begin().value();
  const absl::Status second = Begin().status();
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(second.message(), AllOf(HasSubstr(absl::StrCat("process ", getpid())), HasSubstr(Path()),
                                      HasSubstr("--replace takes its place")));
  Couple(folder_.path(), other_).ExpectWorks();
}

TEST_F(Replacing, APortThatIsTakenIsNamedWithItsOption) {
  options_.trunk_port = other_.trunk_port();
  const absl::Status taken = Begin().status();
  EXPECT_THAT(taken.message(), AllOf(HasSubstr(absl::StrCat("127.0.0.1:", other_.trunk_port())), HasSubstr("--port")));
}

TEST_F(Replacing, AFolderThatIsMissingIsToBeMade) {
  options_.folder = folder_.File("missing");
  const absl::Status missing = Begin().status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr(absl::StrCat("install -d -m 755 ", options_.folder)));
}

TEST_F(Replacing, WhatAKilledOneLeftIsInNobodysWay) {
  { const auto left = ListenAtPath(Path()).value(); }
  const auto skeind = Begin();
  ASSERT_TRUE(skeind.ok()) << skeind.status();
  Couple(folder_.path(), other_).ExpectWorks();
}

// Its socket was taken for a killed one's, and removed.
TEST_F(Replacing, OneThatTakesNoMoreConnectionsIsThereAllTheSame) {
  const auto busy = ListenAtPath(Path()).value();
  ASSERT_EQ(listen(busy.get(), 0), 0);
  std::vector<UniqueFd> queued;
  for (auto next = ConnectToPath(Path()); next.ok(); next = ConnectToPath(Path())) queued.push_back(*std::move(next));
  const absl::Status refused = Begin().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable) << refused;
  EXPECT_EQ(access(Path().c_str(), F_OK), 0);
}

TEST_F(Replacing, TheNewOneHasTheSocketAndThePortAndTheOldOneEnds) {
  const auto first = Begin().value();
  Couple before(folder_.path(), other_);
  before.ExpectWorks();
  struct stat socket_before = {};
  ASSERT_EQ(stat(Path().c_str(), &socket_before), 0);
  const auto second = BeginInPlaceOf(*first);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(first->has_ended()) << "the new one has waited for that";
  EXPECT_EQ((*second)->port(), first->port());
  struct stat socket_now = {};
  ASSERT_EQ(stat(Path().c_str(), &socket_now), 0);
  EXPECT_EQ(socket_now.st_ino, socket_before.st_ino);
  for (const auto& pair : {&before.to_a, &before.to_b}) EXPECT_TRUE(Ended(**pair));
  Couple(folder_.path(), other_).ExpectWorks();
  const auto third = BeginInPlaceOf(**second);
  ASSERT_TRUE(third.ok()) << third.status();
  Couple(folder_.path(), other_).ExpectWorks();
}

TEST_F(Replacing, NobodyIsTurnedAwayMeanwhile) {
  options_.spin = absl::ZeroDuration();  // nothing is sent
  auto now = Begin().value();
  const uint16_t port = now->port();
  std::atomic<bool> stop = false;
  std::atomic<int> connected = 0;
  std::thread connects([&] {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    while (!stop) {
      const absl::Status by_path = ConnectToPath(Path()).status();
      EXPECT_EQ(by_path, absl::OkStatus());
      const UniqueFd by_tcp(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      EXPECT_EQ(connect(by_tcp.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0) << errno;
      ++connected;
    }
  });
  for (int round = 0; round < 10; ++round) {
    const int before = connected;
    auto next = BeginInPlaceOf(*now);
    ASSERT_TRUE(next.ok()) << next.status();
    now = *std::move(next);
    EXPECT_TRUE(Eventually([&] { return connected > before; }));
  }
  stop = true;
  connects.join();
}

TEST_F(Replacing, WhereThereIsNoneItBegins) {
  options_.replaces = true;
  const auto skeind = Begin();
  ASSERT_TRUE(skeind.ok()) << skeind.status();
  Couple(folder_.path(), other_).ExpectWorks();
}

TEST_F(Replacing, AnotherPortIsTheNewOnes) {
  const auto first = Begin().value();
  options_.replaces = true;  // and any port that is free
  const auto second = Begin();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE((*second)->port(), first->port());
  Couple(folder_.path(), other_).ExpectWorks();
}

TEST_F(Replacing, OneThatHangsIsNamedAndKeepsItsPlace) {
  const auto hangs = ListenAtPath(Path()).value();
  options_.replaces = true;
  const absl::Status refused = Begin().status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr(absl::StrCat("skeind ", getpid())), HasSubstr("kill it first")));
}

TEST_F(Replacing, ASuccessorThatDiesBeforeItServesHasChangedNothing) {
  const auto first = Begin().value();
  const auto predecessor = Predecessor::Find(folder_.path()).value();
  ASSERT_TRUE(predecessor.has_value());
  for (const auto which : {fabric::service::Listener::kProcesses, fabric::service::Listener::kSkeinds}) {
    EXPECT_TRUE(predecessor->Listener(which).ok());
  }
  Couple(folder_.path(), other_).ExpectWorks();
  EXPECT_FALSE(first->has_ended());
}

TEST_F(Replacing, OfTwoSuccessorsOneServes) {
  const auto first = Begin().value();
  const auto slower = Predecessor::Find(folder_.path()).value();
  const auto slowest = Predecessor::Find(folder_.path()).value();
  ASSERT_TRUE(slower.has_value() && slowest.has_value());
  EXPECT_TRUE(slower->Listener(fabric::service::Listener::kProcesses).ok());
  const auto second = BeginInPlaceOf(*first);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(slower->Stop().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(slowest->Listener(fabric::service::Listener::kSkeinds).ok());
  Couple(folder_.path(), other_).ExpectWorks();
}

TEST_F(Replacing, AnotherUserMayNot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const auto first = Begin().value();
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(seteuid(12345), 0);
  const auto query = Query::Open(folder_.path());
  ASSERT_EQ(seteuid(0), 0);
  ASSERT_TRUE(query.ok()) << query.status();
  EXPECT_TRUE(query->AskAbout().ok());
  using fabric::service::Operation;
  for (const Operation operation : {Operation::kPassListener, Operation::kStop}) {
    fabric::service::Request request;
    request.operation = operation;
    EXPECT_EQ(query->Ask(request).status().code(), absl::StatusCode::kPermissionDenied);
  }
  Couple(folder_.path(), other_).ExpectWorks();
}

// As systemd has it: the socket is its own, and each skeind that it starts has a copy.
TEST_F(Replacing, ASocketThatWasPassedOutlivesARestart) {
  const auto systemds = ListenAtPath(Path()).value();
  options_.listening = dup(systemds.get());
  auto first = Begin().value();
  Couple(folder_.path(), other_).ExpectWorks();
  first = nullptr;
  const RawSession waits(folder_.path());
  options_.listening = dup(systemds.get());
  const auto second = Begin().value();
  EXPECT_EQ(waits.Hello(), absl::OkStatus()) << "it came while none served";
  Couple(folder_.path(), other_).ExpectWorks();
}

TEST(AboutTest, IsUnderstoodOrRefused) {
  const fabric::service::About about = {"1.2.3", 18517, {1, 2}, {3, 4}, {~uint64_t{0}, ~uint64_t{0}}};
  const auto decoded = fabric::service::DecodeAbout(EncodeAbout(about));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(EncodeAbout(*decoded), EncodeAbout(about));
  for (const char* text : {"", "1.2.3", "1 2 3/4 5/6", "1 65536 1/2 3/4 5/6", "1 2 3 3/4 5/6", "1 2 1/2 3/4 5/6/7",
                           "1 2 1/2 3/4 5/x", "1 2 1/2 3/4 5/6 7"}) {
    EXPECT_EQ(fabric::service::DecodeAbout(text).status().code(), absl::StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace skein::service
