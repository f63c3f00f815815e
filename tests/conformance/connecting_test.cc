// Offer, Accept, Complete: what they connect, and that hostile bytes are errors.
#include <random>

#include "tests/conformance/conformance.h"

namespace skein::fabric {
namespace {

class Connecting : public Conformance {
 protected:
  // A queue pair of b that has never seen an offer.
  std::unique_ptr<QueuePair> Passive() { return b().NewQueuePair(); }
  // Bytes that cannot be taken for an offer at all.
  void ExpectNoOffer(absl::string_view bytes) {
    const auto passive = Passive();
    EXPECT_FALSE(passive->Accept(bytes).ok()) << bytes.size() << " bytes";
    EXPECT_NE(passive->state(), QueuePairState::kReady);
  }
  // Bytes that look like an offer and are not good for a connection. A fabric that cannot know without asking the
  // peer, which Accept does not wait for, may be deceived; but nothing ever answers such a queue pair.
  void ExpectNoConnection(absl::string_view bytes) {
    const auto passive = Passive();
    if (!passive->Accept(bytes).ok()) {
      EXPECT_NE(passive->state(), QueuePairState::kReady);
      return;
    }
    if (!Post(*passive, Opcode::kSend, b().Local(0, 8), {}, 66).ok()) return;
    Pump();
    for (const Completion& completion : b().seen) EXPECT_NE(completion.status, CompletionStatus::kSuccess);
    b().seen.clear();
  }
  // Of a connection of its own for each call: what a wrong answer does to it is the fabric's affair.
  void ExpectNoAnswer(absl::FunctionRef<void(std::string&)> spoil) {
    const auto active = a().NewQueuePair();
    const auto passive = Passive();
    const auto offer = active->Offer();
    ASSERT_TRUE(offer.ok()) << offer.status();
    auto answer = passive->Accept(*offer);
    ASSERT_TRUE(answer.ok()) << answer.status();
    spoil(*answer);
    EXPECT_FALSE(active->Complete(*answer).ok());
    EXPECT_NE(active->state(), QueuePairState::kReady);
  }
  // A SEND each way.
  void ExpectCarries(QueuePair& at_a, QueuePair& at_b) {
    ASSERT_TRUE(PostReceive(at_a, a().Local(1024, 64), 1).ok());
    ASSERT_TRUE(PostReceive(at_b, b().Local(1024, 64), 2).ok());
    a().Put(0, "from a");
    b().Put(0, "from b");
    ASSERT_TRUE(Post(at_a, Opcode::kSend, a().Local(0, 6), {}, 3, /*signaled=*/false).ok());
    ASSERT_TRUE(Post(at_b, Opcode::kSend, b().Local(0, 6), {}, 4, /*signaled=*/false).ok());
    EXPECT_EQ(PollOne(a()).id, 1u);
    EXPECT_EQ(PollOne(b()).id, 2u);
    EXPECT_EQ(a().Get(1024, 6), "from b");
    EXPECT_EQ(b().Get(1024, 6), "from a");
  }
};

TEST_P(Connecting, TakesThreeCalls) {
  const auto active = a().NewQueuePair();
  const auto passive = Passive();
  EXPECT_EQ(active->state(), QueuePairState::kReset);
  EXPECT_EQ(passive->state(), QueuePairState::kReset);

  const auto offer = active->Offer();
  ASSERT_TRUE(offer.ok()) << offer.status();
  const auto answer = passive->Accept(*offer);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(passive->state(), QueuePairState::kReady);
  ASSERT_TRUE(active->Complete(*answer).ok());
  EXPECT_EQ(active->state(), QueuePairState::kReady);

  EXPECT_TRUE(active->error().ok()) << active->error();
  EXPECT_TRUE(passive->error().ok()) << passive->error();
  ExpectCarries(*active, *passive);
}

TEST_P(Connecting, GoesEitherWay) {
  const auto passive = a().NewQueuePair();
  const auto active = b().NewQueuePair();
  ASSERT_TRUE(Connect(*active, *passive).ok());
  ExpectCarries(*passive, *active);
}

TEST_P(Connecting, PassiveSidePostsBeforeTheActiveOneHasCompleted) {
  const auto active = a().NewQueuePair();
  const auto passive = Passive();
  const auto offer = active->Offer();
  ASSERT_TRUE(offer.ok()) << offer.status();
  const auto answer = passive->Accept(*offer);
  ASSERT_TRUE(answer.ok()) << answer.status();

  b().Put(0, "early");
  ASSERT_TRUE(Post(*passive, Opcode::kSend, b().Local(0, 5), {}, 7).ok());
  ASSERT_TRUE(active->Complete(*answer).ok());
  ASSERT_TRUE(PostReceive(*active, a().Local(512, 64), 8).ok());
  EXPECT_EQ(PollOne(a()).id, 8u);
  EXPECT_EQ(PollOne(b()).status, CompletionStatus::kSuccess);
  EXPECT_EQ(a().Get(512, 5), "early");
}

TEST_P(Connecting, AnOfferIsGoodForOneAccept) {
  const auto active = a().NewQueuePair();
  const auto passive = Passive();
  const auto offer = active->Offer();
  ASSERT_TRUE(offer.ok()) << offer.status();
  const auto answer = passive->Accept(*offer);
  ASSERT_TRUE(answer.ok()) << answer.status();

  ExpectNoConnection(*offer);
  ASSERT_TRUE(active->Complete(*answer).ok());
  ExpectNoConnection(*offer);
  ExpectCarries(*active, *passive);
}

TEST_P(Connecting, GarbageIsNoOffer) {
  const auto active = a().NewQueuePair();
  const auto offer = active->Offer();
  ASSERT_TRUE(offer.ok()) << offer.status();

  ExpectNoOffer("");
  ExpectNoOffer(std::string(offer->size(), '\0'));
  ExpectNoOffer(std::string(1 << 20, '\xff'));
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::string bytes(round < 100 ? offer->size() : random() % 600, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    ExpectNoOffer(bytes);
  }
  // None of it was this offer's one Accept.
  EXPECT_TRUE(Passive()->Accept(*offer).ok());
}

TEST_P(Connecting, ATruncatedOrLongerOfferIsNone) {
  const auto active = a().NewQueuePair();
  const auto offer = active->Offer();
  ASSERT_TRUE(offer.ok()) << offer.status();
  for (size_t size = 0; size < offer->size(); ++size) ExpectNoOffer(absl::string_view(*offer).substr(0, size));
  ExpectNoOffer(*offer + '\0');
  ExpectNoOffer(*offer + *offer);
}

TEST_P(Connecting, AnOfferWithAnyBitFlippedConnectsNothing) {
  const auto active = a().NewQueuePair();
  const auto offer = active->Offer();
  ASSERT_TRUE(offer.ok()) << offer.status();
  for (size_t bit = 0; bit < offer->size() * 8; ++bit) {
    SCOPED_TRACE(testing::Message() << "byte " << bit / 8 << " bit " << bit % 8);
    std::string flipped = *offer;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    ExpectNoConnection(flipped);
  }
}

TEST_P(Connecting, GarbageIsNoAnswer) {
  ExpectNoAnswer([](std::string& answer) { answer.clear(); });
  ExpectNoAnswer([](std::string& answer) { answer.assign(answer.size(), '\0'); });
  ExpectNoAnswer([](std::string& answer) { answer.assign(1 << 20, '\xff'); });
  ExpectNoAnswer([](std::string& answer) { answer += '\0'; });
  std::mt19937_64 random(6);
  for (int round = 0; round < 20; ++round) {
    ExpectNoAnswer([&](std::string& answer) {
      for (char& byte : answer) byte = static_cast<char>(random());
    });
  }
}

TEST_P(Connecting, ATruncatedAnswerIsNone) {
  const auto active = a().NewQueuePair();
  const auto passive = Passive();
  const size_t size = passive->Accept(active->Offer().value()).value().size();
  for (size_t kept = 0; kept < size; ++kept) {
    ExpectNoAnswer([&](std::string& answer) { answer.resize(kept); });
  }
}

TEST_P(Connecting, AnAnswerWithAByteSpoiltIsNone) {
  const auto active = a().NewQueuePair();
  const auto passive = Passive();
  const size_t size = passive->Accept(active->Offer().value()).value().size();
  for (size_t at = 0; at < size; ++at) {
    SCOPED_TRACE(testing::Message() << "byte " << at << " bit " << at % 8);
    ExpectNoAnswer([&](std::string& answer) { answer[at] = static_cast<char>(answer[at] ^ (1 << at % 8)); });
  }
}

TEST_P(Connecting, AnswersThatAreMixedUpConnectNobodyToAStranger) {
  const auto one = a().NewQueuePair();
  const auto other = a().NewQueuePair();
  const auto passive = Passive();
  const auto other_passive = Passive();
  ASSERT_TRUE(passive->Accept(one->Offer().value()).ok());
  const auto other_answer = other_passive->Accept(other->Offer().value());
  ASSERT_TRUE(other_answer.ok()) << other_answer.status();

  // Refused; or the answer says no more than "I am there", which is true of the right one as well.
  if (one->Complete(*other_answer).ok()) ExpectCarries(*one, *passive);
  ASSERT_TRUE(other->Complete(*other_answer).ok());
  ExpectCarries(*other, *other_passive);
}

TEST_P(Connecting, CompleteNeedsAnOffer) {
  const auto active = a().NewQueuePair();
  const auto passive = Passive();
  const auto answer = passive->Accept(active->Offer().value());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(a().NewQueuePair()->Complete(*answer).ok());
}

TEST_P(Connecting, TwiceIsRefusedAndHarmless) {
  const auto active = a().NewQueuePair();
  const auto passive = Passive();
  const auto offer = active->Offer();
  ASSERT_TRUE(offer.ok()) << offer.status();
  const auto answer = passive->Accept(*offer);
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_TRUE(active->Complete(*answer).ok());

  const auto third = a().NewQueuePair();
  const auto third_offer = third->Offer();
  ASSERT_TRUE(third_offer.ok()) << third_offer.status();
  for (QueuePair* connected : {active.get(), passive.get()}) {
    EXPECT_FALSE(connected->Offer().ok());
    EXPECT_FALSE(connected->Accept(*third_offer).ok());
    EXPECT_FALSE(connected->Complete(*answer).ok());
    EXPECT_EQ(connected->state(), QueuePairState::kReady);
  }
  ExpectCarries(*active, *passive);
}

TEST_P(Connecting, ToAnEndThatIsGoneCarriesNothing) {
  auto active = a().NewQueuePair();
  const auto offer = active->Offer();
  ASSERT_TRUE(offer.ok()) << offer.status();
  active.reset();
  ExpectNoConnection(*offer);
}

TEST_P(Connecting, AClosedQueuePairConnectsNoMore) {
  const auto active = a().NewQueuePair();
  const auto offer = active->Offer();
  ASSERT_TRUE(offer.ok()) << offer.status();
  const auto closed = Passive();
  closed->Close();
  EXPECT_FALSE(closed->Offer().ok());
  EXPECT_FALSE(closed->Accept(*offer).ok());
  EXPECT_EQ(closed->state(), QueuePairState::kError);
}

TEST_P(Connecting, ManyTimesGivesAsManyConnections) {
  std::vector<Connection> connections;
  connections.reserve(64);
  for (int i = 0; i < 64; ++i) connections.push_back(NewConnection());
  for (const Connection& connection : connections) ExpectCarries(*connection.a, *connection.b);
}

INSTANTIATE_TEST_SUITE_P(Fabrics, Connecting, EveryFabric(), FabricName);

}  // namespace
}  // namespace skein::fabric
