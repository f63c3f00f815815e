// A peer of another user whom an option allows, and who is hostile: it may end its own connection, and keep its own
// user from shared memory, and hold nobody up.
// A test that does not end has found somebody who waits for it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/fabric/shm/control.h"
#include "core/fabric/shm/doorbell.h"
#include "core/fabric/shm/memory.h"
#include "core/fabric/shm/offer.h"
#include "core/fabric/shm/regions.h"
#include "core/fabric/shm/rendezvous.h"
#include "core/fabric/shm/shm_device.h"
#include "core/fabric/shm/side_message.h"
#include "core/fabric/shm/socket.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fabric_end.h"
#include "tests/support/lingering.h"
#include "tests/support/refused_call.h"
#include "tests/unit/fabric_shm/another_user.h"
#include "tests/unit/fabric_shm/pass_descriptors.h"

namespace skein::fabric::shm {
namespace {

constexpr uid_t kNobody = 65534;

ShmOptions Allowing(uid_t user) { return {.peer_users = PeerUsers({user})}; }

// `ulimit -v`: while this lives, the process has no room for a mapping of a GiB.
class NoRoomForAGiB {
 public:
  NoRoomForAGiB() {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    const rlimit limit = {pages * static_cast<rlim_t>(getpagesize()) + (rlim_t{512} << 20), before_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  ~NoRoomForAGiB() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_ = {};
};

// A region of a GiB, none of whose pages is there.
UniqueFd SealedGiB() {
  UniqueFd fd(memfd_create("large", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(kRegionHeaderBytes + (size_t{1} << 30))), 0);
  EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
  return fd;
}

// The peer is the test: it accepts the end's offer by hand, as another user.
class AllowedUser : public testing::Test {
 protected:
  explicit AllowedUser(absl::Duration settle_time = absl::Hours(1))
      : end_(OpenShmDevice({.peer_users = PeerUsers({kNobody}), .settle_time = settle_time}).value()) {}

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    ASSERT_EQ(Meet(*end_.queue_pair), absl::OkStatus());
  }

  absl::Status Meet(QueuePair& pair) {
    ComeTo(pair);
    return pair.Complete("\x01met");
  }
  void ComeTo(QueuePair& pair) {
    const Offer offer = DecodeOffer(pair.Offer().value()).value();
    UniqueFd control = CreateSealedMemfd("skein-control", kControlBytes).value();
    mapping_ = Map(control.get(), kControlBytes).value();
    AsAnotherUser([&] {
      absl::StatusOr<Meeting> meeting = shm::Meet(offer, PeerUsers({0}), {}, std::move(control));
      ASSERT_TRUE(meeting.ok()) << meeting.status();
      EXPECT_EQ(meeting->other_user, uid_t{0});
      socket_ = std::move(meeting->socket);
    });
  }
  // The end is asked for a connection by a client of that user.
  absl::Status Accept() const {
    const End client(OpenShmDevice(Allowing(0)).value());
    std::string offer;
    AsAnotherUser([&] { offer = client.queue_pair->Offer().value(); });
    return end_.NewQueuePair()->Accept(offer).status();
  }

  Side& mine() const { return reinterpret_cast<Control*>(mapping_.data())->sides[0]; }
  // What the end says next; kRefuse: nothing.
  SideMessageKind Heard() const {
    Message message;
    SideMessage parsed;
    parsed.kind = SideMessageKind::kRefuse;
    if (ReceiveMessage(socket_.get(), message) == ReceiveResult::kMessage) SideMessage::Parse(message.view(), parsed);
    EXPECT_FALSE(message.fd.valid());
    return parsed.kind;
  }
  // One message, with all of these.
  void Pass(const SideMessage& message, const std::vector<int>& passed) const {
    PassDescriptors(socket_.get(), message, passed);
  }
  QueuePairState StateAfterwards() {
    end_.queue->AckEvents();
    return end_.queue_pair->RefreshState();
  }

  // The size is the peer's choice: so it can always be one that this process's limit does not allow.
  absl::Status GrantMoreThanMayBeMapped() {
    SideMessage grant;
    grant.kind = SideMessageKind::kGrant;
    grant.rkey = 7;
    grant.access = kAllAccess;
    grant.size = size_t{1} << 30;
    EXPECT_TRUE(Post(*end_.queue_pair, Opcode::kWrite, end_.Local(0, 8), {grant.base, grant.rkey}).ok());
    EXPECT_EQ(Heard(), SideMessageKind::kWant);
    const UniqueFd large = SealedGiB();
    Pass(grant, {large.get()});
    const NoRoomForAGiB none;
    EXPECT_EQ(StateAfterwards(), QueuePairState::kError);
    return end_.queue_pair->error();
  }

  End end_;
  Mapping mapping_;
  UniqueFd socket_;
};

class AllowedUserThatSettles : public AllowedUser {
 protected:
  AllowedUserThatSettles() : AllowedUser(absl::ZeroDuration()) {}
};

// No peer had shared memory any more.
TEST_F(AllowedUser, WhoPassesMoreThanMayBeMappedKeepsItsOwnUserAloneFromSharedMemory) {
  const absl::Status refused = GrantMoreThanMayBeMapped();
  EXPECT_TRUE(CameOfErrno(refused)) << refused;
  EXPECT_EQ(end_.device->Usable(), absl::OkStatus());
  const End own(OpenShmDevice().value());
  EXPECT_EQ(fabric::Connect(*end_.NewQueuePair(), *own.queue_pair), absl::OkStatus());
  for (const absl::Status& status : {Meet(*end_.NewQueuePair()), Accept()}) {
    EXPECT_EQ(FallbackOf(status).code, FallbackCode::kResources) << status;
    EXPECT_THAT(status.message(), testing::HasSubstr("lately, with user 65534: cannot map 1073745920 bytes"));
  }
}

TEST_F(AllowedUserThatSettles, IsMetAgain) {
  EXPECT_TRUE(CameOfErrno(GrantMoreThanMayBeMapped()));
  EXPECT_EQ(Meet(*end_.NewQueuePair()), absl::OkStatus());
  EXPECT_EQ(Accept(), absl::OkStatus());
}

// A security policy may judge by what the peer has passed.
TEST_F(AllowedUser, WhoPassesControlMemoryThatMayNotBeMappedKeepsItsOwnUserAloneFromSharedMemory) {
  const std::unique_ptr<QueuePair> pair = end_.NewQueuePair();
  ComeTo(*pair);
  absl::Status refused;
  std::thread([&] {
    ASSERT_TRUE(Refuse({SYS_fstatfs}, EACCES));
    refused = pair->Complete("\x01met");
  }).join();
  EXPECT_TRUE(CameOfErrno(refused)) << refused;
  EXPECT_EQ(end_.device->Usable(), absl::OkStatus());
  EXPECT_EQ(FallbackOf(Accept()).code, FallbackCode::kNotPermitted);
}

TEST_F(AllowedUser, IsGivenNoDoorbellAndRungByMessages) {
  EXPECT_EQ(Heard(), SideMessageKind::kRefuse);
  const NewDoorbell doorbell = CreateDoorbell().value();
  SideMessage ring_here;
  ring_here.kind = SideMessageKind::kRingHere;
  Pass(ring_here, {doorbell.to_pass.get()});
  ASSERT_EQ(StateAfterwards(), QueuePairState::kReady);
  mine().armed = kForRecords;
  ASSERT_TRUE(Post(*end_.queue_pair, Opcode::kSend, end_.Local(0, 8)).ok());
  EXPECT_EQ(Heard(), SideMessageKind::kDoorbell);
  EXPECT_FALSE(ClearDoorbell(doorbell.own.get())) << "a pipe whose lock it could hold";
}

TEST_F(AllowedUser, WhoPassesWhatLingersHoldsNobodyUp) {
  Lingering lingering;
  ASSERT_TRUE(lingering.end.valid());
  Pass({}, {lingering.end.get()});
  lingering.end.Reset();
  EXPECT_EQ(StateAfterwards(), QueuePairState::kReady);
}

TEST_F(AllowedUser, WhoPassesMoreThanOneThatLingersHoldsNobodyUp) {
  std::array<Lingering, 3> lingering;
  Pass({}, {lingering[0].end.get(), lingering[1].end.get(), lingering[2].end.get()});
  for (Lingering& each : lingering) each.end.Reset();
  EXPECT_EQ(StateAfterwards(), QueuePairState::kError);
  end_.queue_pair = nullptr;
}

TEST_F(AllowedUser, WhoLeavesWhatLingersUnreadHoldsNobodyUp) {
  Lingering lingering;
  ASSERT_TRUE(lingering.Pass(socket_.get()));
  end_.queue_pair = nullptr;
}

TEST_F(AllowedUser, WhoGrantsWhatLingersHoldsNobodyUp) {
  Lingering lingering;
  SideMessage grant;
  grant.kind = SideMessageKind::kGrant;
  grant.size = 4096;
  Pass(grant, {lingering.end.get()});
  lingering.end.Reset();
  EXPECT_EQ(StateAfterwards(), QueuePairState::kError) << "nobody had asked";
}

// A page of that process may be one of FUSE's.
TEST(AllowedUsersMemory, IsReadWhereItIsAllocatedAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const End reader(OpenShmDevice(Allowing(kNobody)).value());
  const End owner(OpenShmDevice(Allowing(0)).value());
  std::string text = "8 bytes.";
  const auto registered =
      owner.device->Register({reinterpret_cast<std::byte*>(text.data()), text.size()}, kRemoteRead).value();
  const std::string offer = reader.queue_pair->Offer().value();
  absl::StatusOr<std::string> answer = absl::UnknownError("");
  AsAnotherUser([&] { answer = owner.queue_pair->Accept(offer); });
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(reader.queue_pair->Complete(*answer), absl::OkStatus());
  const auto read = [&](RemoteAddress from) {
    EXPECT_TRUE(Post(*reader.queue_pair, Opcode::kRead, reader.Local(0, 8), from).ok());
    for (;;) {
      owner.Poll();  // it is asked for the region
      if (const std::vector<Completion> completions = reader.Poll(); !completions.empty()) return completions[0].status;
    }
  };
  EXPECT_EQ(read(owner.Remote(0)), CompletionStatus::kSuccess);
  EXPECT_EQ(read(registered->remote()), CompletionStatus::kRemoteAccessError);
  EXPECT_THAT(reader.queue_pair->error().message(), testing::HasSubstr("of another user"));
}

// The active side alone allows the other's user: the passive one says no at once.
TEST(AllowedUsers, MustAllowEachOther) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const End active(OpenShmDevice(Allowing(kNobody)).value());
  const End passive(OpenShmDevice().value());
  const std::string offer = active.queue_pair->Offer().value();
  absl::Status refused;
  AsAnotherUser([&] { refused = passive.queue_pair->Accept(offer).status(); });
  EXPECT_EQ(FallbackOf(refused).code, FallbackCode::kDifferentUser) << refused;
}

}  // namespace
}  // namespace skein::fabric::shm
