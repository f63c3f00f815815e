// Requests that name what the process may not: they end its queue pair, and nobody else's.
#include <functional>
#include <string>
#include <vector>

#include "tests/support/hooked_device.h"
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using fabric::Opcode;
using fabric::service::End;
using fabric::service::Submission;
using ::testing::HasSubstr;

class Refusals : public TwoHosts {
 protected:
  // A process lays what `spoil` makes of a good request, behind one that is good.
  void ExpectRefused(const std::function<void(RawProcess&, Submission&)>& spoil, uint32_t peers_access = kAllAccess) {
    RawProcess process(one_.folder());
    RawProcess peer(other_.folder(), uint64_t{1} << 40, peers_access);
    Process other(other_);
    const auto pair = NewPair(other);
    ASSERT_EQ(Connect(process, *pair), absl::OkStatus());
    Submission good = process.Write(other.memory->remote());
    Submission request = good;
    spoil(process, request);
    process.Lay(good);
    process.Lay(request);
    process.Lay(good);
    process.Publish();
    EXPECT_TRUE(Eventually([&] { return process.end() == End::kRequest; }));
    EXPECT_TRUE(Ended(*pair));
    EXPECT_THAT(pair->error().message(), HasSubstr("closed by the peer"));
    // How what was before it has ended, then its own end, then nothing more.
    ASSERT_EQ(process.completed.header().published.load(), 2U);
    EXPECT_EQ(process.completed.at(0).status, 0U);
    EXPECT_EQ(process.completed.at(1).status, static_cast<uint32_t>(fabric::CompletionStatus::kRemoteAccessError));
    EXPECT_EQ(process.completed.at(1).position, 1U);
    honest_.ExpectWorks();
  }

  Couple honest_{one_, other_};
};

TEST_F(Refusals, MemoryOfNobodys) {
  ExpectRefused([](const RawProcess&, Submission& request) { request.lkey = 77; });
}
TEST_F(Refusals, MemoryOfAnotherProcess) {
  // Its keys are counted from the same beginning.
  const Process another(one_);
  const auto second = another.device->Allocate(4096, 0).value();
  ExpectRefused([&](const RawProcess& process, Submission& request) {
    ASSERT_NE(second->lkey(), process.lkey);
    request.lkey = second->lkey();
    request.address = reinterpret_cast<uint64_t>(second->bytes().data());
  });
}
TEST_F(Refusals, BytesBeyondTheRegion) {
  ExpectRefused(
      [](const RawProcess& process, Submission& request) { request.address = process.base + RawProcess::kBytes - 7; });
}
TEST_F(Refusals, BytesBeforeTheRegion) {
  ExpectRefused([](const RawProcess& process, Submission& request) { request.address = process.base - 1; });
}
TEST_F(Refusals, BytesThatWrapAround) {
  ExpectRefused([](const RawProcess&, Submission& request) { request.address = ~uint64_t{0} - 3; });
}
TEST_F(Refusals, AKeyThatNobodyHas) {
  ExpectRefused([](const RawProcess&, Submission& request) { request.rkey ^= 0x5A5A5A5A; });
}
TEST_F(Refusals, TheMemoryOfAProcessThatIsNotThePeer) {
  ExpectRefused([this](const RawProcess&, Submission& request) {
    request.rkey = honest_.b.memory->remote().rkey;
    request.remote_address = honest_.b.memory->remote().address;
  });
}
TEST_F(Refusals, BytesBeyondThePeersRegion) {
  ExpectRefused([](const RawProcess&, Submission& request) { request.remote_address += 4096 - 7; });
}
TEST_F(Refusals, BytesBeforeThePeersRegion) {
  ExpectRefused([](const RawProcess&, Submission& request) { request.remote_address -= 1; });
}
TEST_F(Refusals, RemoteBytesThatWrapAround) {
  ExpectRefused([](const RawProcess&, Submission& request) { request.remote_address = ~uint64_t{0} - 3; });
}
TEST_F(Refusals, ALengthOfAllThereIs) {
  ExpectRefused([](const RawProcess&, Submission& request) { request.length = ~uint32_t{0}; });
}
TEST_F(Refusals, AnOpcodeThatThereIsNot) {
  for (const uint32_t opcode :
       {99U, 0x101U, ~0U, static_cast<uint32_t>(Opcode::kSend), static_cast<uint32_t>(Opcode::kReceive),
        static_cast<uint32_t>(Opcode::kReceiveWithImmediate), static_cast<uint32_t>(Opcode::kFlush)}) {
    ExpectRefused([opcode](const RawProcess&, Submission& request) { request.opcode = opcode; });
  }
}
// Neither what the process is linked with asks for it, nor does skeind register memory for it.
TEST_F(Refusals, Flushes) {
  Process process(one_);
  EXPECT_FALSE(process.device->capabilities().flush);
  EXPECT_EQ(process.device->Allocate(4096, fabric::kRemoteFlush).status().code(),
            absl::StatusCode::kFailedPrecondition);
  fabric::QueuePairOptions options;
  options.send_queue = options.receive_queue = process.completions.get();
  options.flushes = true;
  EXPECT_EQ(process.device->CreateQueuePair(options).status().code(), absl::StatusCode::kFailedPrecondition);
  RawSession raw(one_.folder());
  ASSERT_TRUE(raw.Hello().ok());
  ASSERT_TRUE(raw.PassPage().ok());
  const auto memory = CreateShared("skein-memory", 4096, /*peers_write=*/true).value();
  for (const uint32_t access : {uint32_t{fabric::kRemoteFlush}, uint32_t{fabric::kRemoteFlushPersistent}}) {
    RawSession::Request request;
    request.operation = RawSession::Operation::kRegister;
    request.size = 4096;
    request.address = 4096;
    request.access = access;
    EXPECT_EQ(raw.Ask(request, memory.memfd.get()).status().code(), absl::StatusCode::kFailedPrecondition);
  }
  honest_.ExpectWorks();
}

TEST_F(Refusals, AnAtomicOfOtherThanEightBytes) {
  for (const uint32_t length : {0U, 4U, 16U}) {
    ExpectRefused([length](const RawProcess&, Submission& request) {
      request.opcode = static_cast<uint32_t>(Opcode::kFetchAdd);
      request.length = length;
    });
  }
}
TEST_F(Refusals, AnAtomicAtNoMultipleOfEight) {
  ExpectRefused([](const RawProcess&, Submission& request) {
    request.opcode = static_cast<uint32_t>(Opcode::kCompareSwap);
    request.remote_address += 4;
  });
}

// Without that access; and the access that there is works.
TEST_F(Refusals, AccessThatThePeerHasNotGranted) {
  const struct {
    Opcode opcode;
    uint32_t needs;
  } kCases[] = {{Opcode::kWrite, fabric::kRemoteWrite},
                {Opcode::kWriteWithImmediate, fabric::kRemoteWrite},
                {Opcode::kRead, fabric::kRemoteRead},
                {Opcode::kFetchAdd, fabric::kRemoteAtomic},
                {Opcode::kCompareSwap, fabric::kRemoteAtomic}};
  for (const auto& [opcode, needs] : kCases) {
    for (const uint32_t access : {needs, kAllAccess & ~needs, uint32_t{fabric::kLocalOnly}}) {
      Process process(one_);
      Process peer(other_);
      const auto pair = NewPair(process);
      const auto peers = NewPair(peer);
      ASSERT_EQ(Connect(*pair, *peers), absl::OkStatus());
      const auto memory = peer.device->Allocate(4096, access).value();
      fabric::SendRequest request = process.Write(memory->remote(), 1);
      request.opcode = opcode;
      ASSERT_EQ(pair->PostSend({&request, 1}), absl::OkStatus());
      const auto done = Take(*process.completions, 1);
      ASSERT_EQ(done.size(), 1U);
      const bool granted = access == needs;
      EXPECT_EQ(done[0].status,
                granted ? fabric::CompletionStatus::kSuccess : fabric::CompletionStatus::kRemoteAccessError)
          << fabric::OpcodeName(opcode) << " with access " << access;
      if (!granted) {
        EXPECT_TRUE(Ended(*pair));
      }
    }
  }
  honest_.ExpectWorks();
}

// Skeind gives the device addresses of its own: one of the peer's that is a multiple of 8 need not be one there.
TEST_F(Refusals, AnAtomicInMemoryThatIsNumberedFromFour) {
  RawProcess process(one_.folder());
  RawProcess peer(other_.folder(), (uint64_t{1} << 40) + 4);
  const auto offer = process.session.Ask(RawSession::Operation::kOffer, process.number).value();
  const auto answer = peer.session.Ask(RawSession::Operation::kAccept, peer.number, offer.text_view()).value();
  ASSERT_EQ(process.session.Ask(RawSession::Operation::kComplete, process.number, answer.text_view()).status(),
            absl::OkStatus());
  Submission request = process.Write({peer.base + 4, peer.rkey});
  request.opcode = static_cast<uint32_t>(Opcode::kFetchAdd);
  process.Lay(request);
  process.Publish();
  EXPECT_TRUE(Eventually([&] { return process.end() != End::kOpen; }));
  EXPECT_EQ(process.end(), End::kRequest);
  honest_.ExpectWorks();
}

// A device without them would end the queue pair for all: at this end, or at the peer's.
TEST(RefusedAtomics, OfADeviceThatHasNone) {
  fabric::Simulation simulation(20261129, {});
  const auto without = [](fabric::DeviceCapabilities& capabilities) { capabilities.atomics = false; };
  SkeindHost one(simulation, "one");
  SkeindHost lacks(simulation, std::make_shared<fabric::HookedDevice>(simulation.CreateDevice("lacks"),
                                                                      fabric::Hooks{.capabilities = without}));
  Couple honest(one, lacks);
  Couple couples[] = {{one, lacks}, {lacks, one}};
  for (Couple& couple : couples) {
    fabric::SendRequest atomic = couple.a.Write(couple.b.memory->remote(), 1);
    atomic.opcode = Opcode::kFetchAdd;
    ASSERT_EQ(couple.to_b->PostSend({&atomic, 1}), absl::OkStatus());
    EXPECT_EQ(Take(*couple.a.completions, 1).at(0).status, fabric::CompletionStatus::kRemoteAccessError);
    EXPECT_TRUE(Ended(*couple.to_b));
  }
  honest.ExpectWorks();
}

// The device asks nothing of them that would break the queue pair for all.
TEST_F(Refusals, RequestsOfNoBytesAreNone) {
  Process process(one_);
  Process peer(other_);
  const auto pair = NewPair(process);
  const auto peers = NewPair(peer);
  ASSERT_EQ(Connect(*pair, *peers), absl::OkStatus());
  for (const Opcode opcode : {Opcode::kWrite, Opcode::kWriteWithImmediate, Opcode::kRead}) {
    fabric::SendRequest request;
    request.opcode = opcode;
    ASSERT_EQ(pair->PostSend({&request, 1}), absl::OkStatus());
    const auto done = Take(*process.completions, 1);
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].status, fabric::CompletionStatus::kSuccess) << fabric::OpcodeName(opcode);
  }
  honest_.ExpectWorks();
}

TEST_F(Refusals, MoreRequestsThanTheQueueHolds) {
  for (const uint64_t published : {RawProcess::kDepth + 1, ~uint64_t{0}, uint64_t{1} << 63}) {
    RawProcess process(one_.folder());
    Process other(other_);
    const auto pair = NewPair(other);
    ASSERT_EQ(Connect(process, *pair), absl::OkStatus());
    process.Publish(published);
    EXPECT_TRUE(Eventually([&] { return process.end() == End::kRequest; }));
    EXPECT_TRUE(Ended(*pair));
    honest_.ExpectWorks();
  }
}

TEST_F(Refusals, APlaceThatIsNobodysIsNothing) {
  RawProcess process(one_.folder());
  Process other(other_);
  const auto pair = NewPair(other);
  ASSERT_EQ(Connect(process, *pair), absl::OkStatus());
  for (uint32_t place = 0; place < fabric::service::kMostPlaces; place += 61) process.Ring(place);
  process.Ring(fabric::service::kMostPlaces - 1);
  honest_.ExpectWorks();
  process.Lay(process.Write(other.memory->remote()));
  process.Publish();
  EXPECT_TRUE(Eventually([&] { return process.completed.header().published.load() == 1; }));
  EXPECT_EQ(process.end(), End::kOpen);
}

// skeind learns of the end by the post of the request before it.
TEST_F(Refusals, WhenTheTrunkHasJustEnded) {
  RawProcess process(one_.folder());
  Process other(other_);
  const auto pair = NewPair(other);
  ASSERT_EQ(Connect(process, *pair), absl::OkStatus());
  const Submission good = process.Write(other.memory->remote());
  process.Lay(good);
  process.Publish();
  ASSERT_TRUE(Eventually([&] { return process.completed.header().published.load() == 1; }));
  Submission bad = good;
  bad.opcode = 99;
  process.Lay(good);
  process.Lay(bad);
  HoldTime(true);
  Settle();
  simulation_.KillDevice("one");
  process.Publish();
  EXPECT_TRUE(Eventually([&] { return process.end() == End::kConnection; }));
  HoldTime(false);
}

}  // namespace
}  // namespace skein::service
