// Meetings of processes whose namespaces or users differ, or change. Threads play the processes: to the kernel a
// network namespace and a user are a thread's.
#include "core/channel/shm/rendezvous.h"

#include <sched.h>
#include <unistd.h>

#include <thread>

#include "core/base/abstract_socket.h"
#include "core/base/fallback.h"
#include "core/base/sealed_memory.h"
#include "core/channel/shm/layout.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/channel_shm/another_user.h"

namespace skein::channel::shm {
namespace {

class RendezvousTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user, or make namespaces";
  }

  static absl::StatusOr<Meeting> Come(const Offer& offer) {
    absl::StatusOr<UniqueFd> control = CreateSealedMemfd("raw", kPageBytes);
    if (!control.ok()) return control.status();
    return Meet(offer, {}, {}, *std::move(control));
  }
  // The user that the kernel names to who comes.
  static uid_t UserAt(const Offer& offer) {
    const absl::StatusOr<UniqueFd> socket = ConnectAbstract(SocketName(offer.meeting_point));
    EXPECT_TRUE(socket.ok()) << socket.status();
    const absl::StatusOr<PeerCredentials> listener = CredentialsOf(socket.ok() ? socket->get() : -1);
    EXPECT_TRUE(listener.ok()) << listener.status();
    return listener.ok() ? listener->uid : static_cast<uid_t>(-1);
  }

  Rendezvous rendezvous_;
};

TEST_F(RendezvousTest, InAnotherNetworkNamespaceNobodyListensThere) {
  const absl::StatusOr<Offer> offer = rendezvous_.Announce();
  ASSERT_TRUE(offer.ok()) << offer.status();
  std::thread([&] {
    if (unshare(CLONE_NEWNET) != 0) return;  // not permitted here
    const absl::Status elsewhere = Come(*offer).status();
    EXPECT_EQ(FallbackOf(elsewhere).code, FallbackCode::kDifferentNetworkNamespace) << elsewhere;
    EXPECT_THAT(elsewhere.message(), testing::HasSubstr("skein.rendezvous"));
  }).join();
  EXPECT_TRUE(Come(*offer).ok());
}

TEST_F(RendezvousTest, AProcessThatHasBecomeAnotherUserIsMetAsThatUser) {
  const absl::StatusOr<Offer> as_root = rendezvous_.Announce();
  ASSERT_TRUE(as_root.ok()) << as_root.status();
  AsAnotherUser([&] {
    const absl::StatusOr<Offer> as_nobody = rendezvous_.Announce();
    ASSERT_TRUE(as_nobody.ok()) << as_nobody.status();
    EXPECT_EQ(UserAt(*as_nobody), kNobody);
    absl::StatusOr<Meeting> came = Come(*as_nobody);
    ASSERT_TRUE(came.ok()) << came.status();
    const absl::StatusOr<Meeting> met = rendezvous_.Collect(as_nobody->token);
    ASSERT_TRUE(met.ok()) << met.status();
    EXPECT_FALSE(met->other_user.has_value());
  });
}

TEST_F(RendezvousTest, AnOfferOfTheUserThatAProcessWasLeadsThereUntilItIsCollected) {
  const absl::StatusOr<Offer> first = rendezvous_.Announce();
  const absl::StatusOr<Offer> second = rendezvous_.Announce();
  ASSERT_TRUE(first.ok() && second.ok());
  AsAnotherUser([&] { EXPECT_TRUE(rendezvous_.Announce().ok()); });
  EXPECT_EQ(UserAt(*first), 0U);
  EXPECT_TRUE(Come(*first).ok());
  rendezvous_.Withdraw(second->token);
  EXPECT_TRUE(Come(*first).ok()) << "it is not collected yet";
  EXPECT_TRUE(rendezvous_.Collect(first->token).ok());
  EXPECT_EQ(FallbackOf(Come(*first).status()).code, FallbackCode::kDifferentNetworkNamespace) << "nobody listens there";
}

// The passive side would share memory, the active one not.
TEST_F(RendezvousTest, SaysThatAnotherUserHasCome) {
  const absl::StatusOr<Offer> offer = rendezvous_.Announce();
  ASSERT_TRUE(offer.ok()) << offer.status();
  AsAnotherUser([&] { EXPECT_TRUE(ConnectAbstract(SocketName(offer->meeting_point)).ok()); });
  const absl::Status none = rendezvous_.Collect(offer->token).status();
  EXPECT_EQ(FallbackOf(none).code, FallbackCode::kDifferentUser) << none;
  EXPECT_THAT(none.message(), testing::HasSubstr("users 0 and 65534; skein.peer_users at both ends"));
  const absl::Status nobody_since = rendezvous_.Collect(offer->token).status();
  EXPECT_EQ(nobody_since.message(), "the peer's connection is not there");
}

TEST_F(RendezvousTest, SaysSoOfTheOfferWhosePeerThatWas) {
  const absl::StatusOr<Offer> first = rendezvous_.Announce();
  const absl::StatusOr<Offer> second = rendezvous_.Announce();
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_TRUE(Come(*first).ok());
  AsAnotherUser([&] { EXPECT_TRUE(ConnectAbstract(SocketName(second->meeting_point)).ok()); });
  EXPECT_TRUE(rendezvous_.Collect(first->token).ok());
  EXPECT_EQ(FallbackOf(rendezvous_.Collect(second->token).status()).code, FallbackCode::kDifferentUser);
}

}  // namespace
}  // namespace skein::channel::shm
