// Memory that no honest peer passes.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/sealed_memory.h"
#include "core/base/socket_message.h"
#include "core/channel/shm/region.h"
#include "core/channel/shm/side_message.h"
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

using ::testing::HasSubstr;

class HostileGrantTest : public testing::Test {
 protected:
  HostileGrantTest() { user_.channel->ExpectMemory(); }
  static SideMessage GrantOf(uint64_t size) {
    SideMessage grant;
    grant.kind = SideMessageKind::kGrant;
    grant.rkey = 7;
    grant.access = kAllAccess;
    grant.base = 1 << 20;
    grant.size = size;
    return grant;
  }
  static UniqueFd Memory(size_t bytes) { return CreateSealedMemfd("raw", bytes).value(); }

  void Pass(const SideMessage& grant, int fd) {
    ASSERT_EQ(SendMessage(peer_.socket(), grant.view(), fd), SendResult::kSent);
    user_.group->AckAllEvents();
  }
  // A peer with other limits may be honest.
  void ExpectTooMuch(const std::string& words) {
    EXPECT_FALSE(user_.channel->connected());
    EXPECT_FALSE(user_.channel->peer_broke_protocol());
    EXPECT_THAT(user_.channel->why_ended().ToString(), HasSubstr(words));
    EXPECT_EQ(peer_.control().ends[1].state, static_cast<uint32_t>(EndState::kUnable));
    EXPECT_EQ(user_.transport->Usable(), absl::OkStatus()) << "the kernel has refused nothing";
  }
  void ExpectProtocolError(const std::string& words) {
    EXPECT_TRUE(user_.channel->peer_broke_protocol());
    EXPECT_THAT(user_.channel->why_ended().ToString(), HasSubstr(words));
    EXPECT_EQ(user_.transport->Usable(), absl::OkStatus()) << "it was the peer's doing";
  }
  static ShmOptions Limits() {
    ShmOptions limits;
    limits.max_imports = 2;
    limits.max_import_bytes = 1 << 20;
    return limits;
  }

  ShmEnd user_{Limits()};
  RawPeer peer_{user_};
};

// A mapping for each would be the peer's to take from any process that talks to it.
TEST(HostileGrant, ThatNobodyAskedFor) {
  const std::unique_ptr<Region> region = Region::Allocate(kRegionBytes, kAllAccess).value();
  for (const bool client_passes : {true, false}) {
    ShmEnd client;
    ShmEnd server;
    ASSERT_EQ(Connect(client, server), absl::OkStatus());
    ShmEnd& victim = client_passes ? server : client;
    EXPECT_EQ((client_passes ? client : server).channel->Pass(*region), absl::OkStatus());
    victim.group->AckAllEvents();
    EXPECT_TRUE(victim.channel->peer_broke_protocol());
    EXPECT_THAT(victim.channel->why_ended().ToString(), HasSubstr("memory nobody asked for"));
  }
}

TEST_F(HostileGrantTest, WithoutADescriptor) {
  Pass(GrantOf(100), -1);
  ExpectProtocolError("without its descriptor");
}

TEST_F(HostileGrantTest, UnderOneKeyTwice) {
  const UniqueFd memory = Memory(100);
  Pass(GrantOf(100), memory.get());
  ASSERT_TRUE(user_.channel->connected()) << user_.channel->why_ended();
  Pass(GrantOf(100), memory.get());
  ExpectProtocolError("a key that it has given");
}

TEST_F(HostileGrantTest, OfMoreThanIsMapped) {
  Pass(GrantOf(UINT64_MAX), Memory(4096).get());
  ExpectTooMuch("are taken");
}

TEST_F(HostileGrantTest, OfMoreRegionsThanAreMapped) {
  const UniqueFd memory = Memory(100);
  for (uint32_t key = 0; key < 3; ++key) {
    SideMessage grant = GrantOf(100);
    grant.rkey = key;
    Pass(grant, memory.get());
  }
  ExpectTooMuch("more than 2 memory regions");
}

TEST_F(HostileGrantTest, OfNothing) {
  Pass(GrantOf(0), Memory(4096).get());
  ExpectProtocolError("of no bytes");
}

TEST_F(HostileGrantTest, OfLessThanItSays) {
  Pass(GrantOf(5000), Memory(100).get());
  ExpectProtocolError("the peer's memory has");
}

TEST_F(HostileGrantTest, AmidAPage) {
  SideMessage grant = GrantOf(100);
  grant.base += 4;
  Pass(grant, Memory(100).get());
  ExpectProtocolError("amid a page");
}

TEST_F(HostileGrantTest, ThatThePeerCouldShrink) {
  const UniqueFd memory(memfd_create("raw", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(memory.get(), static_cast<off_t>(100)), 0);
  Pass(GrantOf(100), memory.get());
  ExpectProtocolError("not sealed");
}

TEST_F(HostileGrantTest, ThatIsNotWrittenAsItSays) {
  const auto memory = CreateShared("raw", 100, /*peers_write=*/false).value();
  Pass(GrantOf(100), memory.memfd.get());
  ExpectProtocolError("cannot be written");
}

// The kernel refuses to map either; it is the peer's doing all the same, and nothing is held against the kernel.
TEST_F(HostileGrantTest, ThatCanOnlyBeWritten) {
  const UniqueFd memory = Memory(100);
  const UniqueFd writable(open(absl::StrCat("/proc/self/fd/", memory.get()).c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(writable.valid());
  SideMessage grant = GrantOf(100);
  grant.access = fabric::kRemoteRead;
  Pass(grant, writable.get());
  ExpectProtocolError("cannot be shared for reading");
}

TEST_F(HostileGrantTest, ThatNobodyMayMapShared) {
  const UniqueFd memory(memfd_create("raw", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(memory.get(), static_cast<off_t>(100)), 0);
  ASSERT_EQ(fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL), 0);
  SideMessage grant = GrantOf(100);
  grant.access = fabric::kRemoteRead;
  Pass(grant, memory.get());
  ExpectProtocolError("cannot be shared for reading");
}

TEST_F(HostileGrantTest, OfAnotherKind) {
  SideMessage want = GrantOf(100);
  want.kind = static_cast<SideMessageKind>(2);
  Pass(want, -1);
  ExpectProtocolError("unknown message");
}

}  // namespace
}  // namespace skein::channel::shm
