// What anybody may say at the port where skeinds meet, and what another skeind may.
#include <random>
#include <string>
#include <thread>

#include "core/service/offer.h"
#include "tests/support/raw_trunk.h"
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

using ::testing::HasSubstr;

class HostileTrunk : public TwoHosts {
 protected:
  // skeind ends the connection.
  static void ExpectEnded(const RawTrunk& trunk) {
    absl::Status last;
    while (last.ok()) last = trunk.Receive().status();
    EXPECT_EQ(last.message(), "skeind has closed the connection");
  }
  static TrunkMessage Message(TrunkKind kind, uint32_t number, uint32_t from = 0) {
    TrunkMessage message;
    message.kind = kind;
    message.number = number;
    message.from = from;
    return message;
  }

  Couple honest_{one_, other_};
  const std::shared_ptr<fabric::Device> device_ = simulation_.CreateDevice("stranger");
};

TEST_F(HostileTrunk, SaysAnything) {
  std::mt19937 random(31);
  for (int round = 0; round < 30; ++round) {
    const RawTrunk trunk(one_.trunk_port());
    std::string bytes(sizeof(TrunkMessage) + random() % 3000, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    trunk.SendBytes(bytes);
    ExpectEnded(trunk);
  }
  honest_.ExpectWorks();
}

TEST_F(HostileTrunk, SpeaksBeforeItGreets) {
  for (uint32_t kind = 2; kind < 12; ++kind) {
    const RawTrunk trunk(one_.trunk_port());
    trunk.Send(Message(static_cast<TrunkKind>(kind), 1, 1));
    ExpectEnded(trunk);
  }
}

TEST_F(HostileTrunk, GreetsInAnotherVersion) {
  RawTrunk trunk(one_.trunk_port());
  TrunkMessage hello;
  hello.size = kTrunkVersion + 1;
  trunk.Send(hello);
  ExpectEnded(trunk);
}

TEST_F(HostileTrunk, GreetsTwice) {
  for (const TrunkKind kind : {TrunkKind::kHello, TrunkKind::kWelcome}) {
    RawTrunk trunk(one_.trunk_port());
    ASSERT_EQ(trunk.Greet(*device_), absl::OkStatus());
    TrunkMessage again = Message(kind, 0);
    again.size = kTrunkVersion;
    trunk.Send(again);
    ExpectEnded(trunk);
  }
  honest_.ExpectWorks();
}

TEST_F(HostileTrunk, OffersNoQueuePair) {
  RawTrunk trunk(one_.trunk_port());
  TrunkMessage hello;
  hello.size = kTrunkVersion;
  hello.SetText("no offer");
  trunk.Send(hello);
  ExpectEnded(trunk);
}

// Queue pairs of other trunks are none of its business: their numbers are easily guessed.
TEST_F(HostileTrunk, NamesQueuePairsOfOthers) {
  RawTrunk trunk(one_.trunk_port());
  ASSERT_EQ(trunk.Greet(*device_), absl::OkStatus());
  for (uint32_t number = 0; number < 16; ++number) {
    for (uint32_t from = 0; from < 4; ++from) trunk.Send(Message(TrunkKind::kClosed, number, from));
    trunk.Send(Message(TrunkKind::kConnected, number, 1));
    TrunkMessage revoke = Message(TrunkKind::kRevoke, number);
    revoke.rkey = honest_.b.memory->remote().rkey;
    trunk.Send(revoke);
    revoke.kind = TrunkKind::kRevoked;
    revoke.rkey = honest_.a.memory->remote().rkey;
    trunk.Send(revoke);
    fabric::SendRequest notification;
    notification.opcode = fabric::Opcode::kWriteWithImmediate;
    notification.immediate = number << 8 | 1;
    notification.remote = trunk.landing;
    EXPECT_EQ(trunk.queue_pair->PostSend({&notification, 1}), absl::OkStatus());
  }
  // The answers say that all before has been heeded.
  for (uint32_t number = 0; number < 16; ++number) {
    TrunkMessage resolve = Message(TrunkKind::kResolve, number, 5);
    resolve.rkey = honest_.a.memory->remote().rkey;
    trunk.Send(resolve);
    const auto resolved = trunk.Receive();
    ASSERT_EQ(resolved.status(), absl::OkStatus());
    EXPECT_EQ(resolved->code, static_cast<uint32_t>(absl::StatusCode::kNotFound));
    EXPECT_EQ(resolved->key, 0U);
    TrunkMessage connect = Message(TrunkKind::kConnect, number, 5);
    connect.token = number;
    trunk.Send(connect);
    const auto connected = trunk.Receive();
    ASSERT_EQ(connected.status(), absl::OkStatus());
    EXPECT_NE(connected->code, 0U);
    EXPECT_EQ(connected->number, 5U);
  }
  honest_.ExpectWorks();
  fabric::Completion none;
  EXPECT_EQ(honest_.a.completions->Poll({&none, 1}), 0U) << "a notification that was another one's";
}

TEST_F(HostileTrunk, IsTheOneThatAnOfferLeadsTo) {
  const RawTrunks trunks;
  Process process(one_);
  const auto pair = NewPair(process);
  std::thread stranger([&] {
    const auto trunk = trunks.Next();
    trunk->SendBytes(std::string(3 * sizeof(TrunkMessage), 'x'));
    ExpectEnded(*trunk);
  });
  EXPECT_EQ(pair->Accept(EncodeOffer({1, 2, trunks.port, "127.0.0.1"})).status().code(),
            absl::StatusCode::kUnavailable);
  stranger.join();
  honest_.ExpectWorks();
}

// A stranger may fill skeind with connections that never greet: other skeinds still get in.
TEST_F(HostileTrunk, AmongHundredsThatNeverGreet) {
  std::vector<std::unique_ptr<RawTrunk>> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(std::make_unique<RawTrunk>(other_.trunk_port()));
  ExpectEnded(*silent.front());
  RawTrunk honest(other_.trunk_port());
  EXPECT_EQ(honest.Greet(*device_), absl::OkStatus());
  pollfd closed = {silent.back()->socket(), POLLIN, 0};
  EXPECT_EQ(poll(&closed, 1, 0), 0) << "as many as have space may greet still";
}

// skeind had told the process long before that nobody answers.
TEST_F(HostileTrunk, AnswersTooLate) {
  const RawTrunks trunks;
  Process process(one_);
  const auto first = NewPair(process);
  const auto second = NewPair(process);
  const std::string offer = EncodeOffer({1, 2, trunks.port, "127.0.0.1"});
  std::thread stranger([&] {
    const auto trunk = trunks.Next();
    ASSERT_EQ(trunk->Welcome(*device_), absl::OkStatus());
    const TrunkMessage late = trunk->Receive().value();
    ASSERT_EQ(late.kind, TrunkKind::kConnect);
    TrunkMessage next = trunk->Receive().value();
    while (next.kind != TrunkKind::kConnect) next = trunk->Receive().value();
    trunk->Send(Message(TrunkKind::kConnected, late.from, 9));
    TrunkMessage refusal = Message(TrunkKind::kConnected, next.from, 10);
    refusal.SetStatus(absl::AlreadyExistsError("refused by the test"));
    trunk->Send(refusal);
    while (trunk->Receive().ok()) {
    }
  });
  EXPECT_THAT(first->Accept(offer).status().message(), HasSubstr("skeind does not answer"));
  EXPECT_THAT(second->Accept(offer).status().message(), HasSubstr("refused by the test"));
  EXPECT_TRUE(Ended(*first));
  one_.Stop();
  stranger.join();
}

// The other skeind would have kept its queue pair for a peer that there is not.
TEST_F(HostileTrunk, HearsOfAProcessThatDiedWhileItAccepted) {
  const RawTrunks trunks;
  RawProcess process(one_.folder());
  RawSession::Request accept;
  accept.operation = RawSession::Operation::kAccept;
  accept.number = process.number;
  accept.SetText(EncodeOffer({1, 2, trunks.port, "127.0.0.1"}));
  ASSERT_TRUE(process.session.Send(accept));
  const auto trunk = trunks.Next();
  ASSERT_EQ(trunk->Welcome(*device_), absl::OkStatus());
  const TrunkMessage connect = trunk->Receive().value();
  ASSERT_EQ(connect.kind, TrunkKind::kConnect);
  process.session.Leave();
  Settle();
  ASSERT_TRUE(trunk->Send(Message(TrunkKind::kConnected, connect.from, 77)));
  const auto closed = trunk->Receive();
  ASSERT_EQ(closed.status(), absl::OkStatus());
  EXPECT_EQ(closed->kind, TrunkKind::kClosed);
  EXPECT_EQ(closed->number, 77U);
  EXPECT_EQ(closed->from, connect.from);
}

}  // namespace
}  // namespace skein::service
