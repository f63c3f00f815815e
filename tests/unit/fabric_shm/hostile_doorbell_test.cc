// A peer that passes something else for its doorbell, or none, or two; or asks for what it was not given.
#include <fcntl.h>
#include <unistd.h>

#include "core/fabric/shm/control.h"
#include "core/fabric/shm/doorbell.h"
#include "core/fabric/shm/memory.h"
#include "core/fabric/shm/offer.h"
#include "core/fabric/shm/rendezvous.h"
#include "core/fabric/shm/shm_device.h"
#include "core/fabric/shm/side_message.h"
#include "core/fabric/shm/socket.h"
#include "gtest/gtest.h"
#include "tests/support/fabric_end.h"
#include "tests/unit/fabric_shm/pass_descriptors.h"

namespace skein::fabric::shm {
namespace {

class HostileDoorbell : public testing::Test {
 protected:
  // The peer is the test: it accepts the end's offer by hand.
  void SetUp() override {
    const absl::StatusOr<std::string> bytes = end_.queue_pair->Offer();
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    absl::StatusOr<Offer> offer = DecodeOffer(*bytes);
    ASSERT_TRUE(offer.ok()) << offer.status();
    absl::StatusOr<UniqueFd> control = CreateSealedMemfd("skein-control", kControlBytes);
    ASSERT_TRUE(control.ok()) << control.status();
    absl::StatusOr<Meeting> meeting = Meet(*offer, {}, {}, *std::move(control));
    ASSERT_TRUE(meeting.ok()) << meeting.status();
    socket_ = std::move(meeting->socket);
    ASSERT_TRUE(end_.queue_pair->Complete("\x01met").ok());
  }

  // What becomes of the end that is sent `fd` as a doorbell.
  QueuePairState Pass(int fd) {
    SideMessage message;
    message.kind = SideMessageKind::kRingHere;
    EXPECT_EQ(SendMessage(socket_.get(), message.view(), fd), SendResult::kSent);
    end_.queue->AckEvents();
    return end_.queue_pair->RefreshState();
  }

  End end_ = End(OpenShmDevice().value());
  UniqueFd socket_;
};

TEST_F(HostileDoorbell, IsNoPipe) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_EQ(Pass(null.get()), QueuePairState::kError);
  EXPECT_EQ(end_.queue_pair->error().code(), absl::StatusCode::kDataLoss) << end_.queue_pair->error();
}

TEST_F(HostileDoorbell, IsMissing) { EXPECT_EQ(Pass(-1), QueuePairState::kReady) << "messages ring"; }

TEST_F(HostileDoorbell, ComesTwice) {
  const absl::StatusOr<NewDoorbell> doorbell = CreateDoorbell();
  ASSERT_TRUE(doorbell.ok()) << doorbell.status();
  ASSERT_EQ(Pass(doorbell->to_pass.get()), QueuePairState::kReady);
  EXPECT_EQ(Pass(doorbell->to_pass.get()), QueuePairState::kError);
}

TEST_F(HostileDoorbell, ComesWithASecondDescriptor) {
  const NewDoorbell doorbell = CreateDoorbell().value();
  SideMessage message;
  message.kind = SideMessageKind::kRingHere;
  PassDescriptors(socket_.get(), message, {doorbell.own.get(), doorbell.to_pass.get()});
  end_.queue->AckEvents();
  EXPECT_EQ(end_.queue_pair->RefreshState(), QueuePairState::kError);
  EXPECT_TRUE(absl::IsDataLoss(end_.queue_pair->error())) << end_.queue_pair->error();
}

TEST_F(HostileDoorbell, IsFlooded) {
  Message message;
  ASSERT_EQ(ReceiveMessage(socket_.get(), message), ReceiveResult::kMessage);
  const absl::StatusOr<UniqueFd> bell = OpenDoorbell(message.fd.get());
  ASSERT_TRUE(bell.ok()) << bell.status();
  for (int i = 0; i < 10000; ++i) RingDoorbell(bell->get());
  end_.queue->AckEvents();
  EXPECT_EQ(end_.queue_pair->RefreshState(), QueuePairState::kReady);
  EXPECT_FALSE(ClearDoorbell(bell->get())) << "all of it was taken";
}

// A killed process says nothing in shared memory: only its socket tells.
TEST_F(HostileDoorbell, IsRungByAPeerThatHasGoneSince) {
  Message message;
  ASSERT_EQ(ReceiveMessage(socket_.get(), message), ReceiveResult::kMessage);
  const absl::StatusOr<UniqueFd> bell = OpenDoorbell(message.fd.get());
  ASSERT_TRUE(bell.ok()) << bell.status();
  RingDoorbell(bell->get());
  socket_.Reset();
  end_.queue->AckAllEvents();
  end_.Poll();
  EXPECT_EQ(end_.queue_pair->state(), QueuePairState::kError) << "no other change would wake the sleeper";
}

// It is the only way of a peer to try out many.
using HostileQuestions = HostileDoorbell;

TEST_F(HostileQuestions, GuessRkeys) {
  SideMessage want;
  want.kind = SideMessageKind::kWant;
  Message refusal;
  for (; end_.queue_pair->RefreshState() == QueuePairState::kReady && want.rkey < 1000; ++want.rkey) {
    ASSERT_EQ(SendMessage(socket_.get(), want.view()), SendResult::kSent);
    end_.queue->AckEvents();
    while (ReceiveMessage(socket_.get(), refusal) == ReceiveResult::kMessage) {
    }
  }
  EXPECT_LT(want.rkey, 100U);
  EXPECT_TRUE(absl::IsPermissionDenied(end_.queue_pair->error())) << end_.queue_pair->error();
}

// Keys are short, and a process has thousands of regions: who may not be trusted like an own user tries for days.
TEST_F(HostileQuestions, NameAKeyWithoutAnAddressOfItsMemory) {
  Message answer;
  while (ReceiveMessage(socket_.get(), answer) == ReceiveResult::kMessage) {
  }
  SideMessage want;
  want.kind = SideMessageKind::kWant;
  want.rkey = end_.memory->remote().rkey;
  const auto answers = [&](uint64_t address) {
    want.base = address;
    EXPECT_EQ(SendMessage(socket_.get(), want.view()), SendResult::kSent);
    end_.queue_pair->RefreshState();
    SideMessage parsed;
    EXPECT_EQ(ReceiveMessage(socket_.get(), answer), ReceiveResult::kMessage);
    EXPECT_TRUE(SideMessage::Parse(answer.view(), parsed));
    return parsed.kind;
  };
  const uint64_t base = end_.memory->remote().address;
  const uint64_t size = end_.memory->bytes().size();
  for (const uint64_t address : {uint64_t{0}, base - 1, base + size, UINT64_MAX}) {
    EXPECT_EQ(answers(address), SideMessageKind::kRefuse) << address - base;
    EXPECT_FALSE(answer.fd.valid());
  }
  for (const uint64_t address : {base, base + size - 1}) EXPECT_EQ(answers(address), SideMessageKind::kGrant);
  const std::unique_ptr<MemoryRegion> other = end_.device->Allocate(size, kAllAccess).value();
  EXPECT_NE(other->remote().address, base);
}

}  // namespace
}  // namespace skein::fabric::shm
