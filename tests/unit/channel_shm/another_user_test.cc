// Another user at either end of a meeting, who has got hold of all that is said there: only the kernel tells them
// apart.
#include "tests/unit/channel_shm/another_user.h"

#include <unistd.h>

#include "absl/status/status.h"
#include "core/base/abstract_socket.h"
#include "core/base/fallback.h"
#include "core/base/sealed_memory.h"
#include "core/base/socket_message.h"
#include "core/channel/shm/layout.h"
#include "core/channel/shm/offer.h"
#include "core/channel/shm/rendezvous.h"
#include "gtest/gtest.h"
#include "tests/support/lingering.h"

namespace skein::channel::shm {
namespace {

class AnotherUser : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
    absl::StatusOr<Offer> offer = rendezvous_.Announce();
    ASSERT_TRUE(offer.ok()) << offer.status();
    offer_ = *offer;
  }

  // What Meet says, without its look at who listens. The socket is to stay.
  UniqueFd SayTheToken() const {
    absl::StatusOr<UniqueFd> socket = ConnectAbstract(SocketName(offer_.meeting_point));
    const absl::StatusOr<UniqueFd> control = CreateSealedMemfd("raw", kPageBytes);
    if (!socket.ok() || !control.ok()) return UniqueFd();
    const absl::string_view token(offer_.token.data(), offer_.token.size());
    return SendMessage(socket->get(), token, control->get()) == SendResult::kSent ? *std::move(socket) : UniqueFd();
  }

  Rendezvous rendezvous_;
  Offer offer_;
};

TEST_F(AnotherUser, IsNotMetEvenWithTheToken) {
  UniqueFd theirs;
  AsAnotherUser([&] { theirs = SayTheToken(); });
  ASSERT_TRUE(theirs.valid());
  const UniqueFd own = SayTheToken();
  ASSERT_TRUE(own.valid());
  const absl::StatusOr<Meeting> meeting = rendezvous_.Collect(offer_.token);
  ASSERT_TRUE(meeting.ok()) << meeting.status();
  EXPECT_FALSE(meeting->other_user.has_value()) << "who came first, or who may";
}

TEST_F(AnotherUser, WhoPassesASocketThatLingersHoldsNobodyUp) {
  Lingering lingering;
  ASSERT_TRUE(lingering.end.valid());
  AsAnotherUser([&] {
    const absl::StatusOr<UniqueFd> socket = ConnectAbstract(SocketName(offer_.meeting_point));
    EXPECT_TRUE(socket.ok() && lingering.Pass(socket->get()));
  });
  const UniqueFd own = SayTheToken();
  ASSERT_TRUE(own.valid());
  EXPECT_TRUE(rendezvous_.Collect(offer_.token).ok());
}

// The owner of a name has ended, its offer is still under way, and somebody has taken the name.
TEST_F(AnotherUser, WhoSitsAtAnOfferedNameIsToldNoToken) {
  Offer offer = offer_;
  offer.meeting_point[0] = static_cast<char>(offer.meeting_point[0] ^ 1);
  absl::StatusOr<UniqueFd> squatter = absl::UnknownError("");
  AsAnotherUser([&] { squatter = ListenAbstract(SocketName(offer.meeting_point)); });
  ASSERT_TRUE(squatter.ok()) << squatter.status();
  absl::StatusOr<UniqueFd> control = CreateSealedMemfd("raw", kPageBytes);
  ASSERT_TRUE(control.ok()) << control.status();
  const absl::Status status = Meet(offer, {}, {}, *std::move(control)).status();
  EXPECT_EQ(FallbackOf(status).code, FallbackCode::kDifferentUser) << status;
  const UniqueFd accepted = AcceptQueued(squatter->get());
  SocketMessage heard;
  EXPECT_EQ(ReceiveMessage(accepted.get(), heard), ReceiveResult::kGone);
}

}  // namespace
}  // namespace skein::channel::shm
