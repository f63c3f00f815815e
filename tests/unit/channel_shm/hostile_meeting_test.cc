// A peer of the same user that was told the token, and leaves at the meeting what takes an hour to be closed. A test
// that does not end has found somebody who waits for that.
#include <string>

#include "core/base/abstract_socket.h"
#include "core/base/fallback.h"
#include "core/base/sealed_memory.h"
#include "core/base/socket_message.h"
#include "core/channel/shm/offer.h"
#include "core/channel/shm/rendezvous.h"
#include "gtest/gtest.h"
#include "tests/support/lingering.h"
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

class HostileMeeting : public testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<shm::Offer> offer = DecodeOffer(end_.channel->Offer().value());
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
    const absl::StatusOr<UniqueFd> control = CreateSealedMemfd("raw", SharedBytes(kRing));
    ASSERT_TRUE(control.ok()) << control.status();
    ASSERT_EQ(SendMessage(socket_.get(), token_, control->get()), SendResult::kSent);
  }
  absl::Status Complete(const std::string& connection) {
    Channel::Answer answer;
    answer.connection = connection;
    answer.ring.size = kRing;
    return end_.channel->Complete(answer);
  }
  FallbackCode CodeOf(const std::string& connection) { return FallbackOf(Complete(connection)).code; }
  // Which accepts all that have connected.
  void OfferAgain() {
    const std::unique_ptr<Channel> another = end_.group->Open({kRing}).value();
    ASSERT_TRUE(another->Offer().ok());
  }

  Lingering lingering_;
  ShmEnd end_;
  UniqueFd socket_;
  std::string token_;
};

TEST_F(HostileMeeting, HoldsUpNobodyWithItsControlMemory) {
  LeaveItAsControl();
  EXPECT_EQ(CodeOf("\x01met"), FallbackCode::kRendezvous);
}

TEST_F(HostileMeeting, HoldsUpNobodyWithItsControlMemoryWhoseAnswerIsMalformed) {
  LeaveItAsControl();
  EXPECT_EQ(CodeOf("no answer"), FallbackCode::kProtocol);
}

TEST_F(HostileMeeting, HoldsUpNobodyWithItsControlMemoryToAnOfferThatIsWithdrawn) {
  LeaveItAsControl();
  OfferAgain();
  end_.channel->Close();
}

TEST_F(HostileMeeting, HoldsUpNobodyWithItsSocket) {
  LeaveItBehindTheToken();
  EXPECT_EQ(CodeOf("no answer"), FallbackCode::kProtocol);
}

TEST_F(HostileMeeting, HoldsUpNobodyWithItsSocketToAnOfferThatIsWithdrawn) {
  LeaveItBehindTheToken();
  OfferAgain();
  end_.channel->Close();
}

TEST_F(HostileMeeting, IsHeldWithWhoKeepsToWhatIsAgreed) {
  LeaveControl();
  EXPECT_EQ(Complete("\x01met"), absl::OkStatus());
}

}  // namespace
}  // namespace skein::channel::shm
