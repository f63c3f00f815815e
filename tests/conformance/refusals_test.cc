// One-sided requests that the peer has not allowed: each is a kRemoteAccessError at the requester and touches nothing.
#include <limits>

#include "core/fabric/requests.h"
#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

constexpr Opcode kOneSided[] = {Opcode::kWrite, Opcode::kWriteWithImmediate, Opcode::kRead, Opcode::kFetchAdd,
                                Opcode::kCompareSwap};

uint32_t AccessFor(Opcode opcode) {
  switch (opcode) {
    case Opcode::kWrite:
    case Opcode::kWriteWithImmediate:
      return kRemoteWrite;
    case Opcode::kRead:
      return kRemoteRead;
    default:
      return kRemoteAtomic;
  }
}

class Refusals : public Conformance {
 protected:
  // Posts the request, of 8 bytes, on a connection of its own; with a receive posted, so that only the access decides.
  // `peer_memory` must be as it was afterwards, and so must what a READ would have filled.
  void ExpectRefused(Opcode opcode, RemoteAddress remote, absl::Span<const std::byte> peer_memory) {
    SCOPED_TRACE(testing::Message() << OpcodeName(opcode) << " at 0x" << std::hex << remote.address << " with rkey 0x"
                                    << remote.rkey);
    const std::vector<std::byte> before(peer_memory.begin(), peer_memory.end());
    const Connection connection = NewConnection();
    ASSERT_TRUE(PostReceive(*connection.b, Segment{}, 90).ok());
    a().PutWord(0, 0x1122334455667788);
    const Segment local = a().Local(0, 8);
    SendRequest request = Request(opcode, {&local, 1}, remote, 91);
    request.operand = 0;  // the value there: a CMP_SWAP that ran would swap
    request.swap = request.immediate = 5;
    if (opcode == Opcode::kFetchAdd) request.operand = 1;
    if (IsAtomic(opcode) && remote.address % 8 != 0) {
      EXPECT_EQ(Post(*connection.a, request).code(), absl::StatusCode::kInvalidArgument);
      return;
    }
    ASSERT_TRUE(Post(*connection.a, request).ok());

    const Completion refused = PollOne(a());
    EXPECT_EQ(refused.id, 91u);
    EXPECT_EQ(refused.status, CompletionStatus::kRemoteAccessError);
    EXPECT_EQ(refused.queue_pair, connection.a.get());
    EXPECT_EQ(connection.a->state(), QueuePairState::kError);
    EXPECT_FALSE(connection.a->error().ok());
    EXPECT_EQ(a().GetWord(0), 0x1122334455667788u);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), peer_memory.begin())) << "memory was touched";

    // The peer learns nothing of it but, at most, that the connection is over.
    Pump();
    for (const Completion& completion : b().seen) EXPECT_NE(completion.status, CompletionStatus::kSuccess);
    b().seen.clear();
  }
  void ExpectAllRefused(RemoteAddress remote, const MemoryRegion& region) {
    for (Opcode opcode : kOneSided) ExpectRefused(opcode, remote, region.bytes());
  }
};

TEST_P(Refusals, UnknownRkey) {
  RemoteAddress remote = b().Remote(0);
  for (uint32_t rkey : {remote.rkey + 1, remote.rkey - 1, remote.rkey ^ 0x80000000u, 0u, 0xffffffffu}) {
    ExpectAllRefused({remote.address, rkey}, *b().memory);
  }
}

TEST_P(Refusals, MemoryOfAnotherPeer) {
  const absl::StatusOr<std::shared_ptr<Device>> other = b().device->ForPeer();
  ASSERT_TRUE(other.ok()) << other.status();
  if (*other == nullptr) GTEST_SKIP() << "peers are not told apart";
  const auto memory = (*other)->Allocate(4096, kAllAccess);
  ASSERT_TRUE(memory.ok()) << memory.status();
  ExpectAllRefused((*memory)->remote(), **memory);
}

TEST_P(Refusals, AnLkeyOrTheOwnRkeyIsNoRkeyOfThePeer) {
  // Whatever numbers the two devices gave: this region exists at a only, and no such address at b.
  auto own = a().device->Allocate(1 << 20, kAllAccess);
  ASSERT_TRUE(own.ok()) << own.status();
  RemoteAddress remote = (*own)->remote();
  remote.address += (1 << 20) - 8;
  ExpectAllRefused(remote, **own);
}

TEST_P(Refusals, OutOfBounds) {
  const size_t size = b().memory->bytes().size();
  const RemoteAddress first = b().Remote(0);
  for (uint64_t address : {first.address - 8, first.address - 1, first.address + size - 7, first.address + size - 1,
                           first.address + size, first.address + size + 8, first.address + size + (1 << 30)}) {
    ExpectAllRefused({address, first.rkey}, *b().memory);
  }
}

TEST_P(Refusals, AddressesThatOverflow) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  const RemoteAddress first = b().Remote(0);
  const uint64_t top = uint64_t{1} << 63;
  for (uint64_t address : {kMax, kMax - 6, kMax - 7, kMax - 15, first.address + top, uint64_t{0} - 8}) {
    ExpectAllRefused({address, first.rkey}, *b().memory);
  }
}

TEST_P(Refusals, ARegionEndsWhereItsBytesEndNotItsPage) {
  auto region = b().device->Allocate(100, kAllAccess);
  ASSERT_TRUE(region.ok()) << region.status();
  ASSERT_EQ((*region)->bytes().size(), 100u);
  RemoteAddress remote = (*region)->remote();
  remote.address += 96;
  ExpectAllRefused(remote, **region);
}

TEST_P(Refusals, AccessThatWasNotGranted) {
  for (Opcode opcode : kOneSided) {
    for (uint32_t access : {uint32_t{kLocalOnly}, kAllAccess & ~AccessFor(opcode)}) {
      auto region = b().device->Allocate(4096, access);
      ASSERT_TRUE(region.ok()) << region.status();
      ExpectRefused(opcode, (*region)->remote(), (*region)->bytes());
    }
  }
}

TEST_P(Refusals, GrantedAccessIsEnough) {
  for (Opcode opcode : kOneSided) {
    auto region = b().device->Allocate(4096, AccessFor(opcode));
    ASSERT_TRUE(region.ok()) << region.status();
    const Connection connection = NewConnection();
    ASSERT_TRUE(PostReceive(*connection.b, Segment{}, 1).ok());
    ASSERT_TRUE(Post(*connection.a, opcode, a().Local(0, 8), (*region)->remote(), 2).ok());
    EXPECT_EQ(PollOne(a()).status, CompletionStatus::kSuccess) << OpcodeName(opcode);
    Pump();
    b().seen.clear();
  }
}

TEST_P(Refusals, MisalignedAtomicsAreNotEvenPosted) {
  for (size_t offset : {1, 4, 7}) {
    ExpectRefused(Opcode::kFetchAdd, b().Remote(offset), b().memory->bytes());
    ExpectRefused(Opcode::kCompareSwap, b().Remote(offset), b().memory->bytes());
  }
  ExpectQuiet();
}

TEST_P(Refusals, ARegionThatIsGone) {
  auto region = b().device->Allocate(4096, kAllAccess);
  ASSERT_TRUE(region.ok()) << region.status();
  const RemoteAddress remote = (*region)->remote();
  // Used once, so that whatever a fabric caches of it is there.
  const Connection connection = NewConnection();
  ASSERT_TRUE(Post(*connection.a, Opcode::kWrite, a().Local(0, 8), remote, 1).ok());
  ASSERT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  (*region).reset();
  ASSERT_TRUE(Post(*connection.a, Opcode::kWrite, a().Local(0, 8), remote, 2).ok());
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kRemoteAccessError);

  for (Opcode opcode : kOneSided) ExpectRefused(opcode, remote, {});
}

TEST_P(Refusals, RegisteredMemoryWhoseRegionIsGone) {
  std::vector<uint64_t> words(512, 7);
  const auto bytes = absl::MakeSpan(reinterpret_cast<std::byte*>(words.data()), words.size() * sizeof(uint64_t));
  auto region = b().device->Register(bytes, kRemoteRead);
  ASSERT_TRUE(region.ok()) << region.status();
  const RemoteAddress remote = (*region)->remote();
  ASSERT_TRUE(Post(*a().queue_pair, Opcode::kRead, a().Local(64, 8), remote, 1).ok());
  ASSERT_EQ(PollOne(a()).status, CompletionStatus::kSuccess);
  EXPECT_EQ(a().GetWord(64), 7u);
  (*region).reset();
  ExpectRefused(Opcode::kRead, remote, bytes);
  ExpectRefused(Opcode::kWrite, remote, bytes);
}

TEST_P(Refusals, ALongWriteIsRefusedWhole) {
  const size_t size = b().memory->bytes().size();
  std::memset(a().at(0), 'x', size);
  const Connection connection = NewConnection();
  ASSERT_TRUE(Post(*connection.a, Opcode::kWrite, a().Local(0, size), b().Remote(1), 1).ok());
  EXPECT_EQ(PollOne(a()).status, CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(b().Get(0, size), std::string(size, '\0'));
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Refusals, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
