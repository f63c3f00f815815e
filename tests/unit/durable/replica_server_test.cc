// Replicas behind real sockets, over shared memory and over TCP.
#include "core/durable/replicas/replica_server.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/connect/tcp.h"
#include "core/durable/replicas/connection.h"
#include "core/durable/replicas/open_replicated.h"
#include "core/durable/replicas/promotion.h"
#include "core/durable/storage/file_storage.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {
namespace {

// A replica's process, as a thread.
class RunningReplica {
 public:
  explicit RunningReplica(const std::string& file, const std::string& address = "127.0.0.1:0")
      : server_(ReplicaServer::Open(file, address).value()), thread_([this] { server_->Serve(); }) {}
  ~RunningReplica() {
    server_->Stop();
    thread_.join();
  }
  const std::string& address() const { return server_->address(); }

 private:
  const std::unique_ptr<ReplicaServer> server_;
  std::thread thread_;
};

class ReplicaServerTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr uint64_t kLogBytes = kRingOffset + (1 << 20);

  void SetUp() override { setenv("SKEIN_SHM", GetParam() ? "auto" : "off", 1); }
  void TearDown() override { unsetenv("SKEIN_SHM"); }

  Logged OpenPrimary(const std::vector<std::string>& replicas, uint32_t acknowledge,
                     absl::Duration patience = absl::Minutes(1)) {
    auto storage = OpenReplicatedStorage(folder_.File("primary"), kLogBytes,
                                         {.replicas = replicas, .acknowledge = acknowledge, .patience = patience});
    if (storage.ok()) return OpenLog(*std::move(storage));
    Logged failed;
    failed.status = storage.status();
    return failed;
  }
  static absl::Status Log(RedoLog& log, uint64_t sequence) {
    const absl::StatusOr<uint64_t> position = Append(log, sequence, PayloadOf(sequence, 20000));
    return position.ok() ? log.Persist() : position.status();
  }
  std::vector<uint64_t> Promoted(const std::string& file) {
    auto storage = FileStorage::Open(folder_.File(file), kLogBytes);
    EXPECT_TRUE(storage.ok()) << storage.status();
    const absl::StatusOr<Promotion> promotion = Promote(**storage, {}, false);
    EXPECT_TRUE(promotion.ok()) << promotion.status();
    return OpenLog(*std::move(storage)).sequences;
  }

  const TemporaryFolder folder_;
};

TEST_P(ReplicaServerTest, ReplicasHaveWhatWasPersisted) {
  std::vector<uint64_t> logged;
  {
    const RunningReplica b(folder_.File("b"));
    const RunningReplica c(folder_.File("c"));
    const Logged primary = OpenPrimary({b.address(), c.address()}, 0);
    ASSERT_TRUE(primary.status.ok()) << primary.status;
    for (uint64_t sequence = 1; sequence <= 30; ++sequence) {
      ASSERT_TRUE(Log(*primary.log, sequence).ok());
      logged.push_back(sequence);
    }
  }
  EXPECT_EQ(Promoted("b"), logged);
  EXPECT_EQ(Promoted("c"), logged);
}

TEST_P(ReplicaServerTest, AReplicaThatIsStartedAgainIsFollowedAgain) {
  const RunningReplica b(folder_.File("b"));
  auto c = std::make_unique<RunningReplica>(folder_.File("c"));
  const std::string address = c->address();
  const Logged primary = OpenPrimary({b.address(), address}, 2);
  ASSERT_TRUE(primary.status.ok()) << primary.status;
  ASSERT_TRUE(Log(*primary.log, 1).ok());
  c.reset();
  ASSERT_TRUE(Log(*primary.log, 2).ok()) << "two logs are enough";
  c = std::make_unique<RunningReplica>(folder_.File("c"), address);
  ASSERT_TRUE(Log(*primary.log, 3).ok());
}

TEST_P(ReplicaServerTest, AllLogsWaitForTheOneThatIsStartedAgain) {
  auto b = std::make_unique<RunningReplica>(folder_.File("b"));
  const std::string address = b->address();
  const Logged primary = OpenPrimary({address}, 0);
  ASSERT_TRUE(primary.status.ok()) << primary.status;
  b.reset();
  std::thread waiting([&] { EXPECT_TRUE(Log(*primary.log, 1).ok()); });
  b = std::make_unique<RunningReplica>(folder_.File("b"), address);
  waiting.join();
  b.reset();
  EXPECT_EQ(Promoted("b"), (std::vector<uint64_t>{1}));
}

TEST_P(ReplicaServerTest, APromiseEndsThePrimary) {
  const RunningReplica b(folder_.File("b"));
  const Logged primary = OpenPrimary({b.address()}, 0);
  ASSERT_TRUE(primary.status.ok()) << primary.status;
  ASSERT_TRUE(Log(*primary.log, 1).ok());
  ReplicaRequest promise{.verb = ReplicaVerb::kPromise, .identity = primary.log->identity(), .bytes = kLogBytes};
  promise.term.number = 5;
  const absl::StatusOr<ReplicaAnswer> answer = AskReplica(b.address(), promise);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_TRUE(answer->status.ok()) << answer->status;
  EXPECT_GT(answer->tail, 0u);
  const absl::Status status = Log(*primary.log, 2);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("promoted"));
}

TEST_P(ReplicaServerTest, APrimaryThatWasToFollowIsDroppedOnceALaterTermIsPromised) {
  const RunningReplica b(folder_.File("b"));
  ReplicaRequest request;
  {
    const Logged primary = OpenPrimary({b.address()}, 0);
    ASSERT_TRUE(primary.status.ok()) << primary.status;
    request = {.verb = ReplicaVerb::kFollow, .identity = primary.log->identity(), .bytes = kLogBytes};
  }
  request.run = 1;
  request.logs = request.acknowledge = 2;
  request.group = 7;
  // Its group would begin with its next byte.
  const UniqueFd paused = connect::ConnectTcp(b.address(), After(absl::Seconds(30))).value();
  ASSERT_TRUE(connect::SendFrame(paused.get(), kReplicaLetters, EncodeRequest(request)).ok());
  const auto granted =
      connect::ReceiveFrame(paused.get(), kReplicaLetters, kMaxReplicaAnswerBytes, After(absl::Seconds(30)));
  ASSERT_TRUE(granted.ok()) << granted.status();
  ASSERT_TRUE(DecodeAnswer(*granted)->status.ok());
  request.verb = ReplicaVerb::kPromise;
  request.term.number = 5;
  const absl::StatusOr<ReplicaAnswer> promised = AskReplica(b.address(), request);
  ASSERT_TRUE(promised.ok() && promised->status.ok());
  char byte = 0;
  EXPECT_EQ(recv(paused.get(), &byte, 1, 0), 0);
}

TEST_P(ReplicaServerTest, ThePrimarySaysWhyAReplicaCannotTakeItsCopy) {
  auto b = std::make_unique<RunningReplica>(folder_.File("b"));
  const std::string address = b->address();
  const Logged primary = OpenPrimary({address}, 0, absl::Seconds(2));
  ASSERT_TRUE(primary.status.ok()) << primary.status;
  b.reset();
  // The copy's file cannot be made.
  ASSERT_EQ(mkdir(folder_.File("b.copy").c_str(), 0700), 0);
  b = std::make_unique<RunningReplica>(folder_.File("b"), address);
  const absl::Status logged = Log(*primary.log, 1);
  EXPECT_FALSE(logged.ok());
  EXPECT_THAT(std::string(logged.message()), testing::HasSubstr("b.copy"));
}

TEST_P(ReplicaServerTest, WhoSaysWhatIsNoRequestIsDroppedAndThePrimaryIsNot) {
  const RunningReplica b(folder_.File("b"));
  const Logged primary = OpenPrimary({b.address()}, 0);
  ASSERT_TRUE(primary.status.ok()) << primary.status;
  for (const std::string& frame : {std::string("no request"), std::string(kMaxRequestBytes, '\0')}) {
    const UniqueFd tcp = connect::ConnectTcp(b.address(), After(absl::Seconds(30))).value();
    ASSERT_TRUE(connect::SendFrame(tcp.get(), kReplicaLetters, frame).ok());
    EXPECT_FALSE(
        connect::ReceiveFrame(tcp.get(), kReplicaLetters, kMaxReplicaAnswerBytes, After(absl::Seconds(30))).ok());
  }
  ReplicaRequest stranger{.verb = ReplicaVerb::kPromise, .identity = {1, 2, 3}, .bytes = kLogBytes};
  stranger.term.number = 9;
  const absl::StatusOr<ReplicaAnswer> answer = AskReplica(b.address(), stranger);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(answer->status)) << answer->status;
  EXPECT_TRUE(Log(*primary.log, 1).ok());
}

TEST_P(ReplicaServerTest, OptionsThatDoNotFitAreRefused) {
  EXPECT_TRUE(absl::IsInvalidArgument(OpenPrimary({"127.0.0.1:1"}, 3).status));
  EXPECT_TRUE(absl::IsInvalidArgument(OpenPrimary({"127.0.0.1:1", "127.0.0.1:1"}, 0).status));
  for (const std::string no_address : {"foo", "127.0.0.1:0", "127.0.0.1:70000"}) {
    const absl::Status status = OpenPrimary({"127.0.0.1:1", no_address}, 1).status;
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(no_address));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.File("primary")));
}

TEST_P(ReplicaServerTest, AVariableThatIsWrongIsRefusedAtBothEnds) {
  setenv("SKEIN_SHM", "perhaps", 1);
  for (const absl::Status& status :
       {ReplicaServer::Open(folder_.File("b"), "127.0.0.1:0").status(), OpenPrimary({"127.0.0.1:1"}, 1).status}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("SKEIN_SHM"));
  }
  EXPECT_TRUE(OpenPrimary({}, 0).status.ok()) << "a log without replicas uses no fabric";
}

TEST_P(ReplicaServerTest, DoesNotListenWhereItsLogCannotBeMade) {
  const absl::Status missing = ReplicaServer::Open(folder_.File("no/such/folder"), "127.0.0.1:0").status();
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()), testing::HasSubstr(folder_.File("no/such/")));
  std::ofstream(folder_.File("file")) << "abc";
  EXPECT_FALSE(ReplicaServer::Open(folder_.File("file/log"), "127.0.0.1:0").ok());
  const absl::Status small = ReplicaServer::Open(folder_.File("file"), "127.0.0.1:0").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(small)) << small;
  EXPECT_THAT(std::string(small.message()), testing::HasSubstr("is no redo log"));
}

INSTANTIATE_TEST_SUITE_P(Ways, ReplicaServerTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "shm" : "tcp"; });

}  // namespace
}  // namespace skein::durable
