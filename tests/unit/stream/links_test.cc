// How many links the streams between two processes are spread over.
#include <netinet/in.h>

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "core/wire/negotiation.h"
#include "gtest/gtest.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::stream {
namespace {

using Kind = FabricKindUnderTest;

class LinksTest : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Fabrics, LinksTest, ::testing::ValuesIn(FabricsUnderTest()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(LinksTest, AreAsManyAsAllowedWhereNoNicHasToRememberThem) {
  TwoEnds ends(GetParam(), {.link = {.links = 2}});
  std::vector<TwoEnds::Pair> pairs;
  for (int i = 0; i < 3; ++i) pairs.push_back(ends.Connect());
  const size_t links = GetParam() == Kind::kShm ? 2 : 1;
  EXPECT_EQ(ends.client_waiter.watched(), links);
  EXPECT_EQ(ends.server_waiter.watched(), links);
  for (TwoEnds::Pair& pair : pairs) {
    ASSERT_NE(pair.client, nullptr) << ToString(pair.client_why);
    ASSERT_EQ(WriteText(*pair.client, "hello").value(), 5u);
  }
  ends.Pump();
  for (TwoEnds::Pair& pair : pairs) EXPECT_EQ(ReadAll(*pair.server).first, "hello");
}

// A client that asks for another link each time, and leaves none.
TEST_P(LinksTest, ThoseThatNobodyUsesAreNotKeptWithoutEnd) {
  TwoEnds ends(GetParam());
  const auto pending = ends.connector->Begin({}).value();  // meanwhile no link is left
  for (int i = 0; i < 70; ++i) {
    const auto attempt = ends.connector->Begin({}).value();
    const Listener::Result accepted = ends.listener->Accept(AskingForANewLink(attempt->offer()), {});
    ASSERT_NE(attempt->Complete(accepted.answer).stream, nullptr);
    ends.Pump();
  }
  ends.Pump();
  EXPECT_EQ(ends.server_waiter.watched(), 64u);
}

// A client that asks for another link each time, over which it never closes anything.
TEST_P(LinksTest, ThoseWhoseStreamsTheServerHasClosedAreNotKeptWithoutEnd) {
  TwoEnds ends(GetParam());
  std::vector<std::shared_ptr<Stream>> kept;
  for (int i = 0; i < 70; ++i) {
    const auto attempt = ends.connector->Begin({}).value();
    Listener::Result accepted = ends.listener->Accept(AskingForANewLink(attempt->offer()), {});
    kept.push_back(attempt->Complete(accepted.answer).stream);
    ends.Pump();
    accepted.outcome.stream->CloseWrite();
    accepted.outcome.stream.reset();
    ends.Pump();
  }
  EXPECT_LE(ends.server_waiter.watched(), 65u);  // of the last it is not known yet whether all has arrived
}

// It has neither been met nor is it used.
TEST_P(LinksTest, OneWhoseOnlyStreamIsClosedBeforeItsClientComesIsThereForIt) {
  TwoEnds ends(GetParam());
  const auto attempt = ends.connector->Begin({}).value();
  Listener::Result accepted = ends.listener->Accept(attempt->offer(), {});
  accepted.outcome.stream->CloseWrite();
  accepted.outcome.stream.reset();
  ends.server_waiter.PollAll();
  const std::shared_ptr<Stream> client = attempt->Complete(accepted.answer).stream;
  ASSERT_NE(client, nullptr);
  ends.Pump();
  EXPECT_TRUE(absl::IsOutOfRange(ReadAll(*client).second)) << ReadAll(*client).second;
}

// Clients that stand still, and have much to take.
TEST(SilentLinksTest, ThoseOnWhichSomethingIsUnderWayAreKeptForLonger) {
  struct Client {
    ManualWaiter waiter;  // polled until the stream is open
    std::unique_ptr<Connector> connector;
    std::shared_ptr<Stream> stream;
  };
  const StreamOptions options = {.link = {.ring_bytes = wire::kRingGranule}};
  TwoEnds ends(Kind::kSilentSim, options);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 260; ++i) {
    Client& client = *clients.emplace_back(std::make_unique<Client>());
    client.connector =
        CreateConnector(std::make_shared<connect::OneFabric>(ends.client_transport), options, &client.waiter);
    const auto attempt = client.connector->Begin({}).value();
    Listener::Result accepted = ends.listener->Accept(attempt->offer(), {});
    client.stream = attempt->Complete(accepted.answer).stream;
    for (int round = 0; round < 4; ++round) {
      ends.Pump();
      client.waiter.PollAll();
    }
    ASSERT_EQ(WriteText(*accepted.outcome.stream, std::string(200'000, 'x')).value(), 200'000u) << i;
    accepted.outcome.stream->CloseWrite();
    accepted.outcome.stream.reset();
  }
  ends.Pump();
  EXPECT_EQ(ends.server_waiter.watched(), 256u + 1) << "links, and what takes turns between them";
}

TEST(ShmLinksTest, FurtherStreamsGoWhereThereAreFewest) {
  TwoEnds ends(Kind::kShm, {.link = {.links = 3}});
  std::vector<TwoEnds::Pair> pairs;
  for (int i = 0; i < 8; ++i) pairs.push_back(ends.Connect());
  std::vector<size_t> streams;
  for (const TwoEnds::Pair& pair : pairs) streams.push_back(pair.server->link()->ports().size());
  EXPECT_EQ(std::count(streams.begin(), streams.end(), 3u), 6);
  EXPECT_EQ(std::count(streams.begin(), streams.end(), 2u), 2);
}

TEST(ShmLinksTest, OneThatIsLeftMakesSpaceForAnother) {
  TwoEnds ends(Kind::kShm, {.link = {.links = 2}});
  const TwoEnds::Pair first = ends.Connect();
  TwoEnds::Pair second = ends.Connect();
  ASSERT_NE(first.client->link(), second.client->link());
  second.client.reset();
  second.server.reset();
  ends.Pump();
  EXPECT_EQ(ends.server_waiter.watched(), 1u);
  const TwoEnds::Pair third = ends.Connect();
  ASSERT_NE(third.client, nullptr) << ToString(third.client_why);
  EXPECT_NE(third.client->link(), first.client->link());
}

// A server that agrees to another link each time, and pulls nothing.
TEST(SilentLinksTest, ThoseThatAServerDoesNotLetGoAreNotKeptWithoutEnd) {
  struct Server {
    ManualWaiter waiter;  // polled until the stream is open
    std::unique_ptr<Listener> listener;
    std::shared_ptr<Stream> stream;
  };
  const StreamOptions options = {.link = {.ring_bytes = wire::kRingGranule}};
  TwoEnds ends(Kind::kSilentSim, options);
  std::vector<std::unique_ptr<Server>> servers;
  for (int i = 0; i < 70; ++i) {
    Server& server = *servers.emplace_back(std::make_unique<Server>());
    server.listener =
        CreateListener(std::make_shared<connect::OneFabric>(ends.server_transport), options, &server.waiter);
    auto attempt = ends.connector->Begin({}).value();
    Listener::Result accepted = server.listener->Accept(attempt->offer(), {});
    server.stream = std::move(accepted.outcome.stream);
    std::shared_ptr<Stream> client = attempt->Complete(accepted.answer).stream;
    ASSERT_NE(client, nullptr) << i;
    attempt.reset();
    for (int round = 0; round < 4; ++round) {
      ends.Pump();
      server.waiter.PollAll();
    }
    ASSERT_EQ(WriteText(*client, std::string(200'000, 'x')).value(), 200'000u);
    client.reset();
    ends.Pump();
  }
  EXPECT_LE(ends.client_waiter.watched(), 65u);
}

// Two servers of one client, which has a stream with the first.
class StrangersTest : public ::testing::Test {
 protected:
  static connect::Route To(uint16_t port) {
    connect::Route route;
    auto& address = reinterpret_cast<sockaddr_in&>(route.peer);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    return route;
  }
  wire::Yes Accepted(Listener& server, Connector::Attempt& attempt) {
    Listener::Result result = server.Accept(attempt.offer(), {});
    accepted_.push_back(std::move(result.outcome.stream));
    return std::get<wire::Yes>(wire::DecodeAnswer(result.answer).value());
  }
  std::unique_ptr<Connector::Attempt> Begin(uint16_t port) { return ends_.connector->Begin(To(port)).value(); }
  std::shared_ptr<Stream> Complete(Connector::Attempt& attempt, const wire::Yes& yes) {
    std::shared_ptr<Stream> stream = attempt.Complete(wire::EncodeAnswer(yes)).stream;
    ends_.Pump();
    return stream;
  }

  TwoEnds ends_{Kind::kSilentSim};
  std::vector<std::shared_ptr<Stream>> accepted_;
  Listener& first_ = *ends_.listener;
  const std::unique_ptr<Listener> second_ = CreateListener(
      std::make_shared<connect::OneFabric>(ends_.simulation->CreateDevice("second")), {}, &ends_.server_waiter);
  const std::unique_ptr<Connector::Attempt> attempt_ = Begin(1);
  const wire::Yes yes_ = Accepted(first_, *attempt_);
  const std::shared_ptr<Stream> stream_ = Complete(*attempt_, yes_);
};

TEST_F(StrangersTest, LearnNothingOfWhatTheClientIsCalledElsewhere) {
  const auto name = [this](uint16_t port) { return wire::DecodeOffer(Begin(port)->offer()).value().process; };
  EXPECT_EQ(name(1), name(1));
  EXPECT_NE(name(1), name(2));
}

// A stream that the first never gave: whoever opened it there would end the link.
TEST_F(StrangersTest, CannotPutAStreamOntoAnothersLink) {
  wire::Yes lie = yes_;
  lie.is_new = false;
  lie.stream = 1000;
  EXPECT_EQ(Complete(*Begin(2), lie), nullptr);
  ASSERT_TRUE(WriteText(*stream_, "still there").ok());
}

TEST_F(StrangersTest, CannotGiveTwoLinksOneName) {
  const auto attempt = Begin(2);
  const std::shared_ptr<Stream> of_second = Complete(*attempt, Accepted(*second_, *attempt));
  ASSERT_NE(of_second, nullptr);
  const auto further = Begin(2);
  Listener::Result result = second_->Accept(AskingForANewLink(further->offer()), {});
  wire::Yes lie = std::get<wire::Yes>(wire::DecodeAnswer(result.answer).value());
  lie.link = 1;
  const Outcome outcome = further->Complete(wire::EncodeAnswer(lie));
  EXPECT_EQ(outcome.stream, nullptr);
  EXPECT_NE(outcome.why.detail.find("by the name of one that there is"), std::string::npos) << ToString(outcome.why);
  EXPECT_TRUE(WriteText(*of_second, "still there").ok());
}

TEST_F(StrangersTest, CannotCallTheirLinkByAnothersName) {
  const auto attempt = Begin(2);
  wire::Yes lie = Accepted(*second_, *attempt);
  lie.process = yes_.process;
  lie.link = yes_.link;
  const std::shared_ptr<Stream> of_second = Complete(*attempt, lie);
  ASSERT_NE(of_second, nullptr);
  const auto further = Begin(1);
  const wire::Yes yes = Accepted(first_, *further);
  EXPECT_FALSE(yes.is_new);
  const std::shared_ptr<Stream> of_first = Complete(*further, yes);
  ASSERT_NE(of_first, nullptr);
  EXPECT_EQ(of_first->link(), stream_->link());
  EXPECT_NE(of_first->link(), of_second->link());
}

}  // namespace
}  // namespace skein::stream
