// Memory that one end passes to the other: what it is used for, and what is refused.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/base/socket_message.h"
#include "core/channel/shm/region.h"
#include "core/channel/shm/side_message.h"
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

using fabric::CompletionStatus;
using fabric::Opcode;
using ::testing::HasSubstr;

struct Operation {
  fabric::SendRequest request;
  fabric::Segment local;

  Operation(Opcode opcode, fabric::RemoteAddress at, void* bytes, size_t size) {
    request.opcode = opcode;
    request.remote = at;
    local = {static_cast<std::byte*>(bytes), size, 0};
  }
  absl::StatusOr<CompletionStatus> On(ShmEnd& end) {
    request.local = {&local, 1};
    return end.channel->Execute(request);
  }
};

fabric::RemoteAddress At(const fabric::MemoryRegion& region, uint64_t offset) {
  return {region.remote().address + offset, region.remote().rkey};
}

CompletionStatus Perform(ShmEnd& end, Opcode opcode, fabric::RemoteAddress at, void* bytes, size_t size) {
  return Operation(opcode, at, bytes, size).On(end).value();
}

class PeerMemoryTest : public testing::Test {
 protected:
  PeerMemoryTest() {
    EXPECT_EQ(Connect(user_, owner_), absl::OkStatus());
    user_.channel->ExpectMemory();
  }

  std::unique_ptr<Region> Passed(uint32_t access) {
    std::unique_ptr<Region> region = Region::Allocate(kRegionBytes, access).value();
    EXPECT_EQ(owner_.channel->Pass(*region), absl::OkStatus());
    return region;
  }

  ShmEnd user_;
  ShmEnd owner_;
};

TEST_F(PeerMemoryTest, IsReadWrittenAndCountedIn) {
  const std::unique_ptr<Region> region = Passed(kAllAccess);
  std::string text = "some bytes, of which the last eight are one word";
  ASSERT_EQ(Perform(user_, Opcode::kWrite, At(*region, 8), text.data(), text.size()), CompletionStatus::kSuccess);
  EXPECT_EQ(std::memcmp(region->bytes().data() + 8, text.data(), text.size()), 0);
  std::string read(text.size(), ' ');
  ASSERT_EQ(Perform(user_, Opcode::kRead, At(*region, 8), read.data(), read.size()), CompletionStatus::kSuccess);
  EXPECT_EQ(read, text);

  uint64_t old = 1;
  Operation add(Opcode::kFetchAdd, At(*region, 80), &old, sizeof(old));
  add.request.operand = 5;
  EXPECT_EQ(add.On(user_).value(), CompletionStatus::kSuccess);
  EXPECT_EQ(old, 0u);
  Operation swap(Opcode::kCompareSwap, At(*region, 80), &old, sizeof(old));
  swap.request.operand = 5;
  swap.request.swap = 9;
  EXPECT_EQ(swap.On(user_).value(), CompletionStatus::kSuccess);
  EXPECT_EQ(old, 5u);
  EXPECT_EQ(swap.On(user_).value(), CompletionStatus::kSuccess);
  EXPECT_EQ(old, 9u) << "not what was expected: left alone";
}

TEST_F(PeerMemoryTest, IsGatheredAndScattered) {
  const std::unique_ptr<Region> region = Passed(kAllAccess);
  std::vector<std::byte> bytes(300);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  const auto run = [&](Opcode opcode, std::vector<std::byte>& memory) {
    const fabric::Segment parts[] = {
        {memory.data(), 1, 0}, {memory.data(), 0, 0}, {memory.data() + 1, 99, 0}, {memory.data() + 100, 200, 0}};
    fabric::SendRequest request;
    request.opcode = opcode;
    request.remote = At(*region, kRegionBytes - 300);
    request.local = parts;
    return user_.channel->Execute(request).value();
  };
  ASSERT_EQ(run(Opcode::kWrite, bytes), CompletionStatus::kSuccess);
  EXPECT_EQ(std::memcmp(region->bytes().data() + kRegionBytes - 300, bytes.data(), bytes.size()), 0);
  std::vector<std::byte> read(300);
  ASSERT_EQ(run(Opcode::kRead, read), CompletionStatus::kSuccess);
  EXPECT_EQ(read, bytes);
}

TEST_F(PeerMemoryTest, IsPassedOnceToEachPeer) {
  const std::unique_ptr<Region> region = Passed(kAllAccess);
  EXPECT_EQ(owner_.channel->Pass(*region), absl::OkStatus()) << "a second one would break the protocol";
  uint64_t word = 3;
  EXPECT_EQ(Perform(user_, Opcode::kWrite, At(*region, 0), &word, sizeof(word)), CompletionStatus::kSuccess);
  user_.group->AckAllEvents();
  EXPECT_TRUE(user_.channel->connected());
}

TEST_F(PeerMemoryTest, MessagesGoOnBesideIt) {
  const std::unique_ptr<Region> region = Passed(kAllAccess);
  ASSERT_EQ(owner_.Send("there is memory for you"), absl::OkStatus());
  EXPECT_EQ(user_.Read(), "there is memory for you");
  uint64_t word = 7;
  EXPECT_EQ(Perform(user_, Opcode::kWrite, At(*region, 0), &word, sizeof(word)), CompletionStatus::kSuccess);
  ASSERT_EQ(user_.Send("thanks"), absl::OkStatus());
  EXPECT_EQ(owner_.Read(), "thanks");
}

// An operation looks at the socket, and takes all that lies there: the sleeper has to look at what else that was.
TEST_F(PeerMemoryTest, TheOperationThatTakesItWakesTheSleeper) {
  user_.group->AckAllEvents();
  ASSERT_EQ(user_.group->Arm(), absl::OkStatus());
  const std::unique_ptr<Region> region = Passed(kAllAccess);
  uint64_t word = 7;
  ASSERT_EQ(Perform(user_, Opcode::kRead, At(*region, 0), &word, sizeof(word)), CompletionStatus::kSuccess);
  EXPECT_TRUE(user_.group->Sleep(-1, 0).by_queue);
}

using RefusedOperation = std::tuple<const char*, uint32_t, Opcode, int64_t, size_t>;
class RefusedOperationTest : public PeerMemoryTest, public testing::WithParamInterface<RefusedOperation> {};

TEST_P(RefusedOperationTest, TouchesNothingAndEndsTheChannel) {
  const auto [name, access, opcode, offset, size] = GetParam();
  const std::unique_ptr<Region> region = Passed(access);
  std::vector<std::byte> bytes(size, std::byte{1});
  EXPECT_EQ(Perform(user_, opcode, At(*region, static_cast<uint64_t>(offset)), bytes.data(), size),
            CompletionStatus::kRemoteAccessError);
  EXPECT_FALSE(user_.channel->connected());
  EXPECT_THAT(user_.channel->why_ended().ToString(), HasSubstr("that does not allow it"));
  EXPECT_FALSE(user_.channel->peer_broke_protocol());
  EXPECT_TRUE(owner_.channel->Ended());
  for (const std::byte byte : region->bytes()) ASSERT_EQ(byte, std::byte{0});
  EXPECT_EQ(Perform(user_, opcode, At(*region, 0), bytes.data(), size), CompletionStatus::kFlushed);
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedOperationTest,
    testing::Values(RefusedOperation{"WriteOfReadOnly", fabric::kRemoteRead, Opcode::kWrite, 0, 8},
                    RefusedOperation{"AtomicOfReadOnly", fabric::kRemoteRead, Opcode::kFetchAdd, 0, 8},
                    RefusedOperation{"AtomicOfWritten", fabric::kRemoteRead | fabric::kRemoteWrite,
                                     Opcode::kCompareSwap, 0, 8},
                    RefusedOperation{"ReadOfWriteOnly", fabric::kRemoteWrite, Opcode::kRead, 0, 8},
                    RefusedOperation{"ReadOfNobodys", fabric::kLocalOnly, Opcode::kRead, 0, 8},
                    RefusedOperation{"BeyondTheEnd", kAllAccess, Opcode::kWrite, kRegionBytes - 7, 8},
                    RefusedOperation{"BehindTheEnd", kAllAccess, Opcode::kRead, kRegionBytes + 8, 8},
                    RefusedOperation{"BeforeTheBeginning", kAllAccess, Opcode::kWrite, -8, 8},
                    RefusedOperation{"FarAway", kAllAccess, Opcode::kRead, INT64_MIN, 8}),
    [](const auto& info) { return std::string(std::get<0>(info.param)); });

TEST_F(PeerMemoryTest, NobodyUsesWhatWasNotPassed) {
  const std::unique_ptr<Region> region = Region::Allocate(kRegionBytes, kAllAccess).value();
  uint64_t word = 0;
  EXPECT_EQ(Perform(user_, Opcode::kRead, At(*region, 0), &word, sizeof(word)), CompletionStatus::kRemoteAccessError);
}

// There is no word in it by which one peer could take it away from another.
TEST_F(PeerMemoryTest, IsThePeersUntilTheChannelEnds) {
  std::unique_ptr<Region> region = Passed(kAllAccess);
  const fabric::RemoteAddress at = At(*region, 0);
  uint64_t word = 7;
  ASSERT_EQ(Perform(user_, Opcode::kWrite, at, &word, sizeof(word)), CompletionStatus::kSuccess);
  region = nullptr;
  word = 0;
  EXPECT_EQ(Perform(user_, Opcode::kRead, at, &word, sizeof(word)), CompletionStatus::kSuccess);
  EXPECT_EQ(word, 7u);
  owner_.channel->Close();
  EXPECT_EQ(Perform(user_, Opcode::kRead, at, &word, sizeof(word)), CompletionStatus::kFlushed);
}

TEST_F(PeerMemoryTest, WhatIsNoOperationIsRefusedAndHarmsNothing) {
  const std::unique_ptr<Region> region = Passed(kAllAccess);
  uint64_t word = 0;
  for (const Opcode opcode : {Opcode::kSend, Opcode::kWriteWithImmediate, Opcode::kReceive}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Operation(opcode, At(*region, 0), &word, sizeof(word)).On(user_).status()));
  }
  Operation misaligned(Opcode::kFetchAdd, At(*region, 4), &word, sizeof(word));
  EXPECT_TRUE(absl::IsInvalidArgument(misaligned.On(user_).status()));
  EXPECT_TRUE(user_.channel->connected());
}

TEST_F(PeerMemoryTest, HasASize) {
  EXPECT_TRUE(absl::IsInvalidArgument(Region::Allocate(0, kAllAccess).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(Region::Allocate(SIZE_MAX, kAllAccess).status()));
}

TEST(PassedMemory, OfReadersTheKernelKeepsFromBeingWritten) {
  ShmEnd owner;
  const RawPeer peer(owner);
  const std::unique_ptr<Region> region = Region::Allocate(kRegionBytes, fabric::kRemoteRead).value();
  ASSERT_EQ(owner.channel->Pass(*region), absl::OkStatus());
  SocketMessage message;
  SideMessage grant;
  do {
    message.fd.Reset();
    ASSERT_EQ(ReceiveMessage(peer.socket(), message), ReceiveResult::kMessage);
    ASSERT_TRUE(SideMessage::Parse(message.view(), grant));
  } while (grant.kind != SideMessageKind::kGrant);
  const UniqueFd anew(open(absl::StrCat("/proc/self/fd/", message.fd.get()).c_str(), O_RDWR | O_CLOEXEC));
  for (const int fd : {message.fd.get(), anew.get()}) {
    EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096), MAP_FAILED);
    EXPECT_EQ(pwrite(fd, "x", 1, 4096), -1);
    EXPECT_EQ(ftruncate(fd, 0), -1);
  }
}

// Of the region of that inode alone: what other tests have left may be closed at any time.
ino_t InodeOf(const Region& region) {
  struct stat status = {};
  EXPECT_EQ(fstat(region.memfd(), &status), 0);
  return status.st_ino;
}
size_t Mappings(ino_t inode) {
  size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const bool region = line.find("/memfd:skein-region") != std::string::npos;
    count += region && line.find(absl::StrCat(" ", inode, " ")) != std::string::npos;
  }
  return count;
}
size_t Descriptors(ino_t inode) {
  size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed_meanwhile;
    const std::string file = std::filesystem::read_symlink(each, closed_meanwhile).string();
    struct stat status = {};
    const bool region = file.starts_with("/memfd:skein-region");
    count += region && stat(each.path().c_str(), &status) == 0 && status.st_ino == inode;
  }
  return count;
}

TEST(PassedMemory, CostsThePeerAMappingAndNoDescriptorAndGoesWithTheChannel) {
  ShmEnd user;
  ShmEnd owner;
  ASSERT_EQ(Connect(user, owner), absl::OkStatus());
  user.channel->ExpectMemory();
  std::unique_ptr<Region> region = Region::Allocate(kRegionBytes, kAllAccess).value();
  const ino_t inode = InodeOf(*region);
  ASSERT_EQ(owner.channel->Pass(*region), absl::OkStatus());
  uint64_t word = 0;
  ASSERT_EQ(Perform(user, Opcode::kRead, At(*region, 0), &word, sizeof(word)), CompletionStatus::kSuccess);
  EXPECT_EQ(Descriptors(inode), 1) << "the owner's";
  EXPECT_EQ(Mappings(inode), 2);
  region = nullptr;
  EXPECT_EQ(Descriptors(inode), 0);
  EXPECT_EQ(Mappings(inode), 1);
  user.channel = nullptr;
  EXPECT_EQ(Mappings(inode), 0);
}

TEST(PassedMemory, BeyondThePeersLimitsIsRefusedHereAndTheChannelGoesOn) {
  ShmOptions limits;
  limits.max_imports = 2;
  limits.max_import_bytes = 3 * kRegionBytes;
  ShmEnd user;
  ShmEnd owner(limits);
  ASSERT_EQ(Connect(user, owner), absl::OkStatus());
  user.channel->ExpectMemory();
  const auto pass = [&](const Region& region) { return owner.channel->Pass(region); };
  const std::unique_ptr<Region> first = Region::Allocate(kRegionBytes, kAllAccess).value();
  const std::unique_ptr<Region> large = Region::Allocate(2 * kRegionBytes + 1, kAllAccess).value();
  const std::unique_ptr<Region> second = Region::Allocate(2 * kRegionBytes, kAllAccess).value();
  const std::unique_ptr<Region> third = Region::Allocate(1, kAllAccess).value();
  EXPECT_EQ(pass(*first), absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(pass(*large)));
  EXPECT_EQ(pass(*second), absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(pass(*third)));
  EXPECT_EQ(pass(*first), absl::OkStatus()) << "the peer has it";
  uint64_t word = 0;
  EXPECT_EQ(Perform(user, Opcode::kRead, At(*second, 0), &word, sizeof(word)), CompletionStatus::kSuccess);
  EXPECT_TRUE(user.channel->connected()) << user.channel->why_ended();
}

TEST(PassedMemory, APeerThatTakesNoneHoldsUpNobody) {
  ShmOptions many;
  many.max_imports = SIZE_MAX;
  ShmEnd owner(many);
  const RawPeer peer(owner);
  std::vector<std::unique_ptr<Region>> regions;
  absl::Status passed;
  while (passed.ok()) {
    absl::StatusOr<std::unique_ptr<Region>> region = Region::Allocate(1, fabric::kRemoteRead);
    if (!region.ok()) GTEST_SKIP() << "the socket holds more than this process may have: " << region.status();
    regions.push_back(*std::move(region));
    passed = owner.channel->Pass(*regions.back());
  }
  EXPECT_FALSE(passed.ok());
  EXPECT_TRUE(owner.channel->connected()) << owner.channel->why_ended();
  EXPECT_EQ(owner.channel->Pass(*regions.back()).code(), passed.code()) << "it was not taken as passed";
}

// A peer that passes a word, and ends while nobody polls: the thread that operates sees it.
class UnwatchedPeerTest : public testing::Test {
 protected:
  UnwatchedPeerTest() {
    user_.channel->ExpectMemory();
    SideMessage grant;
    grant.kind = SideMessageKind::kGrant;
    grant.rkey = kKey;
    grant.access = kAllAccess;
    grant.base = kBase;
    grant.size = 4096;
    const UniqueFd memory = CreateSealedMemfd("raw", 4096).value();
    EXPECT_EQ(SendMessage(peer_.socket(), grant.view(), memory.get()), SendResult::kSent);
    EXPECT_EQ(Add(), CompletionStatus::kSuccess);
  }
  CompletionStatus Add() {
    uint64_t old = 0;
    return Perform(user_, Opcode::kFetchAdd, {kBase, kKey}, &old, sizeof(old));
  }

  static constexpr uint32_t kKey = 7;
  static constexpr uint64_t kBase = 1 << 20;
  ShmEnd user_;
  RawPeer peer_{user_};
};

TEST_F(UnwatchedPeerTest, ThatSaysSoIsAskedNothingMore) {
  peer_.own().state = static_cast<uint32_t>(EndState::kClosed);
  EXPECT_EQ(Add(), CompletionStatus::kFlushed);
  EXPECT_EQ(user_.channel->why_ended().ToString(), "UNAVAILABLE: the peer closed the connection");
}

TEST_F(UnwatchedPeerTest, ThatDiesIsAskedNothingMoreSoonAfter) {
  peer_.meeting->socket.Reset();
  const Deadline guard = After(absl::Seconds(10));
  CompletionStatus last = CompletionStatus::kSuccess;
  while (last == CompletionStatus::kSuccess && Clock::now() < guard) last = Add();
  EXPECT_EQ(last, CompletionStatus::kFlushed);
  EXPECT_EQ(user_.channel->why_ended().ToString(), "UNAVAILABLE: the peer process is gone");
}

}  // namespace
}  // namespace skein::channel::shm
