// A peer of the same user that was told the token, and leaves at the meeting what takes an hour to be closed. A test
// that does not end has found somebody who waits for that.
#include <string>

#include "core/base/abstract_socket.h"
#include "core/base/fallback.h"
#include "core/fabric/shm/control.h"
#include "core/fabric/shm/memory.h"
#include "core/fabric/shm/offer.h"
#include "core/fabric/shm/rendezvous.h"
#include "core/fabric/shm/shm_device.h"
#include "core/fabric/shm/socket.h"
#include "gtest/gtest.h"
#include "tests/support/fabric_end.h"
#include "tests/support/lingering.h"

namespace skein::fabric::shm {
namespace {

class HostileMeeting : public testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<std::string> bytes = end_.queue_pair->Offer();
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const absl::StatusOr<Offer> offer = DecodeOffer(*bytes);
    ASSERT_TRUE(offer.ok()) << offer.status();
    absl::StatusOr<UniqueFd> socket = ConnectAbstract(SocketName(offer->meeting_point));
    ASSERT_TRUE(socket.ok()) << socket.status();
    socket_ = *std::move(socket);
    token_ = std::string(offer->token.data(), offer->token.size());
    ASSERT_TRUE(lingering_.end.valid());
  }

  void LeaveItAsControl() {
    ASSERT_EQ(SendMessage(socket_.get(), token_, lingering_.end.get()), SendResult::kSent);
    lingering_.end.Reset();
  }
  // What follows the token is unread until there is a connection: it is closed with the socket.
  void LeaveItBehindTheToken() {
    LeaveControl();
    ASSERT_TRUE(lingering_.Pass(socket_.get()));
  }
  void LeaveControl() {
    const absl::StatusOr<UniqueFd> control = CreateSealedMemfd("skein-control", kControlBytes);
    ASSERT_TRUE(control.ok()) << control.status();
    ASSERT_EQ(SendMessage(socket_.get(), token_, control->get()), SendResult::kSent);
  }
  FallbackCode Complete(absl::string_view answer) { return FallbackOf(end_.queue_pair->Complete(answer)).code; }

  Lingering lingering_;
  End end_ = End(OpenShmDevice().value());
  UniqueFd socket_;
  std::string token_;
};

TEST_F(HostileMeeting, HoldsUpNobodyWithItsControlMemory) {
  LeaveItAsControl();
  EXPECT_EQ(Complete("\x01met"), FallbackCode::kRendezvous);
}

TEST_F(HostileMeeting, HoldsUpNobodyWithItsControlMemoryWhoseAnswerIsMalformed) {
  LeaveItAsControl();
  EXPECT_EQ(Complete("no answer"), FallbackCode::kProtocol);
}

TEST_F(HostileMeeting, HoldsUpNobodyWithItsControlMemoryToAnOfferThatIsWithdrawn) {
  LeaveItAsControl();
  ASSERT_TRUE(end_.NewQueuePair()->Offer().ok()) << "which accepts all that have connected";
  end_.queue_pair->Close();
}

TEST_F(HostileMeeting, HoldsUpNobodyWithItsSocket) {
  LeaveItBehindTheToken();
  EXPECT_EQ(Complete("no answer"), FallbackCode::kProtocol);
}

TEST_F(HostileMeeting, HoldsUpNobodyWithItsSocketToAnOfferThatIsWithdrawn) {
  LeaveItBehindTheToken();
  ASSERT_TRUE(end_.NewQueuePair()->Offer().ok());
  end_.queue_pair->Close();
}

TEST_F(HostileMeeting, IsHeldWithWhoKeepsToWhatIsAgreed) {
  LeaveControl();
  EXPECT_EQ(end_.queue_pair->Complete("\x01met"), absl::OkStatus());
}

}  // namespace
}  // namespace skein::fabric::shm
