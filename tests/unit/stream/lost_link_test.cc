// A link that one end has lost and the other knows nothing of, as with RDMA while there is nothing to say.
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "core/schedule/credits.h"
#include "core/wire/negotiation.h"
#include "gtest/gtest.h"
#include "tests/support/noted_device.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::stream {
namespace {

wire::Offer OfferOf(const Connector::Attempt& attempt) { return wire::DecodeOffer(attempt.offer()).value(); }

TEST(LostLinkTest, WhoIsToldToUseItAsksForANewOne) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  wire::Yes yes;
  yes.link = 77;  // never heard of
  yes.stream = 1;
  yes.window = 1;
  {
    const auto attempt = ends.connector->Begin({}).value();
    EXPECT_FALSE(OfferOf(*attempt).new_link_only);
    const Outcome outcome = attempt->Complete(wire::EncodeAnswer(yes));
    EXPECT_EQ(outcome.stream, nullptr);
    EXPECT_EQ(outcome.why.detail, "the link to the peer was lost meanwhile");
  }
  const auto again = ends.connector->Begin({}).value();
  EXPECT_TRUE(OfferOf(*again).new_link_only);
  EXPECT_NE(ends.Connect().client, nullptr);
  EXPECT_FALSE(OfferOf(*ends.connector->Begin({}).value()).new_link_only);
}

TEST(LostLinkTest, WhoIsAskedForANewOneNamesNoOlderAgain) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  const TwoEnds::Pair first = ends.Connect();
  ASSERT_NE(first.client, nullptr);
  const auto answer_to = [&](bool new_link_only) {
    const auto attempt = ends.connector->Begin({}).value();
    const Listener::Result result = ends.listener->Accept(AskingForANewLink(attempt->offer(), new_link_only), {});
    EXPECT_NE(attempt->Complete(result.answer).stream, nullptr);
    ends.Pump();
    return std::get<wire::Yes>(wire::DecodeAnswer(result.answer).value());
  };
  EXPECT_EQ(answer_to(false).link, 1u);
  const wire::Yes second = answer_to(true);
  EXPECT_TRUE(second.is_new);
  const TwoEnds::Pair keeps_it = ends.Connect();
  ASSERT_NE(keeps_it.client, nullptr);
  const wire::Yes third = answer_to(false);
  EXPECT_FALSE(third.is_new);
  EXPECT_NE(third.link, 1u);
}

// The good-bye is in the server's memory, and the next negotiation is read first.
TEST(LostLinkTest, WhoHasLeftItIsNotPutOntoItByAPeerThatHasNotReadSoYet) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  TwoEnds::Pair first = ends.Connect();
  ASSERT_NE(first.client, nullptr);
  first.client = nullptr;
  do {  // until all is said and has arrived; the server does not look
    ends.simulation->RunUntilIdle();
  } while (ends.client_waiter.PollAll());
  ASSERT_EQ(ends.client_waiter.watched(), 0U);
  const TwoEnds::Pair second = ends.Connect();
  ASSERT_NE(second.client, nullptr) << ToString(second.client_why);
  const TwoEnds::Pair third = ends.Connect();
  ASSERT_NE(third.client, nullptr) << ToString(third.client_why);
  EXPECT_EQ(third.client->link(), second.client->link()) << "once there is another, it is shared again";
}

TEST(LostLinkTest, WhoHasLostItIsNotPutOntoItByAPeerThatHasNot) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  const TwoEnds::Pair first = ends.Connect();
  ASSERT_NE(first.client, nullptr);
  const auto pending = ends.connector->Begin({}).value();  // which no link is left beside
  first.client->link()->Close();
  while (ends.client_waiter.PollAll()) {
  }
  ASSERT_TRUE(first.client->link()->finished());
  ASSERT_FALSE(first.server->link()->finished()) << "nothing tells of it";
  const TwoEnds::Pair second = ends.Connect();
  EXPECT_NE(second.client, nullptr) << ToString(second.client_why);
}

// The server waits on it for what the client says, as a server does.
TEST(LostLinkTest, OneThatAClientHasLostEndsHereWhenItComesByANewOne) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  TwoEnds::Pair first = ends.Connect();
  ASSERT_NE(first.server, nullptr);
  first.client->link()->Close();
  ends.Pump();
  ASSERT_EQ(ends.client_waiter.watched(), 0U);
  ASSERT_EQ(ends.server_waiter.watched(), 1U) << "nothing tells of it";
  const TwoEnds::Pair second = ends.Connect();
  ASSERT_NE(second.client, nullptr) << ToString(second.client_why);
  ends.Pump();
  EXPECT_TRUE(first.server->link()->finished());
  EXPECT_FALSE(second.server->link()->finished());
  std::vector<Buffer> read;
  EXPECT_EQ(first.server->Read(1, read).code(), absl::StatusCode::kUnavailable);
}

TEST(LostLinkTest, OneThatAClientHasNotLostGoesOnUntilItHas) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  const TwoEnds::Pair first = ends.Connect();
  ASSERT_NE(first.server, nullptr);
  const auto attempt = ends.connector->Begin({}).value();
  const Listener::Result result = ends.listener->Accept(AskingForANewLink(attempt->offer()), {});
  const std::shared_ptr<Stream> second = attempt->Complete(result.answer).stream;
  ASSERT_NE(second, nullptr);
  ends.Pump();
  EXPECT_FALSE(first.server->link()->finished());
  EXPECT_FALSE(first.client->link()->finished());

  first.client->link()->Close();
  ends.Pump();
  EXPECT_FALSE(first.server->link()->finished()) << "nothing tells of it";
  const auto third = ends.connector->Begin({}).value();
  const Listener::Result shared = ends.listener->Accept(AskingForANewLink(third->offer(), false), {});
  EXPECT_FALSE(std::get<wire::Yes>(wire::DecodeAnswer(shared.answer).value()).is_new);
  EXPECT_NE(third->Complete(shared.answer).stream, nullptr);
  ends.Pump();
  EXPECT_TRUE(first.server->link()->finished()) << "it is asked for whenever its client comes";
  EXPECT_FALSE(second->link()->finished());
}

// Its queue pair has no peer before the answer is read.
TEST(LostLinkTest, OneThatAClientHasYetToComeToIsNotAskedAfter) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  const auto first = ends.connector->Begin({}).value();
  const auto second = ends.connector->Begin({}).value();
  const Listener::Result of_first = ends.listener->Accept(AskingForANewLink(first->offer()), {});
  const Listener::Result of_second = ends.listener->Accept(AskingForANewLink(second->offer()), {});
  ends.Pump();
  const std::shared_ptr<Stream> client = first->Complete(of_first.answer).stream;
  ASSERT_NE(client, nullptr);
  EXPECT_NE(second->Complete(of_second.answer).stream, nullptr);
  ends.Pump();
  ASSERT_EQ(WriteText(*client, "hello").value(), 5U);
  ends.Pump();
  EXPECT_EQ(ReadAll(*of_first.outcome.stream).first, "hello");
}

TEST(LostLinkTest, OneThatAClientHasLostEndsHereAlsoWhereThereIsNoSpaceForANewOne) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  const auto device = std::make_shared<fabric::NotedDevice>(ends.simulation->CreateDevice("full"));
  ends.listener = CreateListener(std::make_shared<connect::OneFabric>(device), {}, &ends.server_waiter);
  const TwoEnds::Pair first = ends.Connect();
  ASSERT_NE(first.server, nullptr);
  first.client->link()->Close();
  ends.Pump();
  ASSERT_FALSE(first.server->link()->finished()) << "nothing tells of it";
  device->RefuseFromNowOn();
  EXPECT_EQ(ends.Connect().client, nullptr);
  EXPECT_TRUE(first.server->link()->finished());
}

// As after an outage: so many links, then, are not for ever.
TEST(LostLinkTest, StreamsThatCameAtOnceShareOneLinkWhenTheyComeAgain) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  std::vector<TwoEnds::Pair> pairs(3);
  std::vector<std::unique_ptr<Connector::Attempt>> attempts;
  std::vector<Listener::Result> results;
  for (size_t i = 0; i < pairs.size(); ++i) {
    attempts.push_back(ends.connector->Begin({}).value());
    results.push_back(ends.listener->Accept(attempts.back()->offer(), {}));
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    pairs[i].client = attempts[i]->Complete(results[i].answer).stream;
    pairs[i].server = std::move(results[i].outcome.stream);
  }
  attempts.clear();
  ends.Pump();
  ASSERT_EQ(ends.client_waiter.watched(), pairs.size());
  for (size_t i = pairs.size(); i-- > 0;) {
    pairs[i] = {};
    ends.Pump();
    pairs[i] = ends.Connect();
    ASSERT_NE(pairs[i].client, nullptr) << ToString(pairs[i].client_why);
  }
  EXPECT_EQ(ends.client_waiter.watched(), 1U);
  EXPECT_EQ(ends.server_waiter.watched(), 1U);
}

TEST(LostLinkTest, ThoseToOtherAddressesAreSharedAsBefore) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  TwoEnds::Pair first = ends.Connect();
  ASSERT_NE(first.client, nullptr);
  first = {};
  ends.Pump();
  EXPECT_TRUE(OfferOf(*ends.connector->Begin({}).value()).new_link_only);
  connect::Route other;
  other.peer.ss_family = AF_INET;
  EXPECT_FALSE(OfferOf(*ends.connector->Begin(other).value()).new_link_only);
}

// Who ends a stream that the peer has given up says nothing that could fail.
TEST(LostLinkTest, WhoHasDiedIsFoundOutWhenItsLastStreamEnds) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  TwoEnds::Pair first = ends.Connect();
  ASSERT_NE(first.server, nullptr);
  first.client->Abort(absl::CancelledError("given up"));
  do {  // until that has arrived; the client does not look
    ends.simulation->RunUntilIdle();
  } while (ends.server_waiter.PollAll());
  ends.simulation->KillDevice("client");
  ends.Pump();
  ASSERT_EQ(ends.server_waiter.watched(), 1U) << "nothing tells of it";
  first.server = nullptr;
  ends.Pump();
  EXPECT_EQ(ends.server_waiter.watched(), 0U);
}

// When its last stream ended here, the client was there; it dies, silently, before it has left the link.
TEST(LostLinkTest, WhoDiesBeforeLeavingIsFoundOutWhenSomebodyElseComes) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  TwoEnds::Pair first = ends.Connect();
  ASSERT_NE(first.server, nullptr);
  first.server = nullptr;
  do {  // until its last words have arrived; the client does not look
    ends.simulation->RunUntilIdle();
  } while (ends.server_waiter.PollAll());
  ends.simulation->KillDevice("client");
  ends.Pump();
  ASSERT_EQ(ends.server_waiter.watched(), 1U) << "nothing tells of it";

  ManualWaiter waiter;
  const auto connector =
      CreateConnector(std::make_shared<connect::OneFabric>(ends.simulation->CreateDevice("other")), {}, &waiter);
  const auto attempt = connector->Begin({}).value();
  Listener::Result other = ends.listener->Accept(attempt->offer(), {});
  const Outcome outcome = attempt->Complete(other.answer);
  ASSERT_NE(outcome.stream, nullptr);
  ends.Pump();
  EXPECT_EQ(ends.server_waiter.watched(), 1U) << "the other's alone";
}

// Neither data nor words on streams may be sent any more, so nothing is under way whose failure would tell of the
// death.
TEST(LostLinkTest, WhoCannotSayItsLastWordsFindsOutThatNobodyIsThere) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  TwoEnds::Pair first = ends.Connect();
  ASSERT_NE(first.client, nullptr);
  const std::byte byte{};
  const ConstBytes bytes(&byte, 1);
  while (first.client->Write({&bytes, 1}).value() > 0) {
  }
  std::vector<std::pair<std::shared_ptr<Stream>, std::shared_ptr<Stream>>> more;
  for (uint32_t i = 0; i <= schedule::kReservedCredits; ++i) {
    const auto attempt = ends.connector->Begin({}).value();
    Listener::Result result = ends.listener->Accept(attempt->offer(), {});
    more.emplace_back(attempt->Complete(result.answer).stream, std::move(result.outcome.stream));
    ASSERT_NE(more.back().first, nullptr);
    EXPECT_EQ(more.back().first->link(), first.client->link());
  }
  ends.simulation->RunUntilIdle();
  ends.simulation->KillDevice("server");
  first.client = nullptr;
  for (auto& [client, server] : more) client = nullptr;
  ends.Pump();
  EXPECT_EQ(ends.client_waiter.watched(), 0U) << "the link is left";
}

}  // namespace
}  // namespace skein::stream
