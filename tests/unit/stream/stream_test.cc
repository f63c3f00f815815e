// What a Stream promises, over each fabric.
#include "core/stream/stream.h"

#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/schedule/turns.h"
#include "gtest/gtest.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::stream {
namespace {

class StreamTest : public testing::TestWithParam<FabricKindUnderTest> {};

// Writes all of `text`, letting the other end read whenever no more is taken.
std::string Transfer(TwoEnds& ends, Stream& from, Stream& to, absl::string_view text) {
  std::string received;
  for (size_t sent = 0, stuck = 0; received.size() < text.size() && stuck < 10; ++stuck) {
    const absl::StatusOr<size_t> taken = WriteText(from, text.substr(sent));
    EXPECT_TRUE(taken.ok()) << taken.status();
    if (!taken.ok()) break;
    sent += *taken;
    ends.Pump();
    const std::string part = ReadAll(to).first;
    received += part;
    ends.Pump();
    if (*taken > 0 || !part.empty()) stuck = 0;
  }
  return received;
}

TEST_P(StreamTest, CarriesBytesBothWays) {
  TwoEnds ends(GetParam());
  auto pair = ends.Connect();
  ASSERT_NE(pair.client, nullptr) << ToString(pair.client_why);
  ASSERT_NE(pair.server, nullptr) << ToString(pair.server_why);
  EXPECT_EQ(pair.client->path(), ends.client_transport->name());
  EXPECT_EQ(WriteText(*pair.client, "to the server").value(), 13u);
  EXPECT_EQ(WriteText(*pair.server, "to the client").value(), 13u);
  ends.Pump();
  EXPECT_EQ(ReadAll(*pair.server).first, "to the server");
  EXPECT_EQ(ReadAll(*pair.client).first, "to the client");
}

TEST_P(StreamTest, MovesMoreThanRingAndWindowHold) {
  StreamOptions options;
  options.link.ring_bytes = 64 << 10;
  options.window_bytes = 100'000;
  TwoEnds ends(GetParam(), options);
  auto pair = ends.Connect();
  ASSERT_NE(pair.client, nullptr);
  const std::string text = RandomText(5'000'000, 1);
  EXPECT_EQ(Transfer(ends, *pair.client, *pair.server, text), text);
  EXPECT_EQ(Transfer(ends, *pair.server, *pair.client, text), text);
}

TEST_P(StreamTest, GathersBuffersOfAllSizes) {
  TwoEnds ends(GetParam());
  auto pair = ends.Connect();
  ASSERT_NE(pair.client, nullptr);
  const std::string text = RandomText(300'000, 2);
  std::mt19937 random(3);
  std::vector<ConstBytes> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t size = std::min<size_t>(text.size() - at, random() % 2000);
    parts.emplace_back(reinterpret_cast<const std::byte*>(text.data()) + at, size);
    at += size;
  }
  ASSERT_EQ(pair.client->Write(parts).value(), text.size());
  ends.Pump();
  EXPECT_EQ(ReadAll(*pair.server).first, text);
}

TEST_P(StreamTest, StopsAtTheWindowAndTellsWhenItOpens) {
  StreamOptions options;
  options.window_bytes = 70'000;
  TwoEnds ends(GetParam(), options);
  auto pair = ends.Connect();
  ASSERT_NE(pair.client, nullptr);
  const std::string text = RandomText(200'000, 4);
  EXPECT_EQ(WriteText(*pair.client, text).value(), 70'000u);
  EXPECT_EQ(WriteText(*pair.client, text).value(), 0u);
  ends.Pump();
  EXPECT_EQ(pair.client_sees->writable, 0);
  EXPECT_EQ(ReadAll(*pair.server).first, text.substr(0, 70'000));
  ends.Pump();
  EXPECT_EQ(pair.client_sees->writable, 1);
  EXPECT_GT(WriteText(*pair.client, text).value(), 0u);
}

TEST_P(StreamTest, OneFullStreamDoesNotStopAnother) {
  StreamOptions options;
  options.window_bytes = 1 << 16;
  TwoEnds ends(GetParam(), options);
  auto full = ends.Connect();
  auto other = ends.Connect();
  ASSERT_NE(other.client, nullptr);
  while (WriteText(*full.client, std::string(10'000, 'x')).value() > 0) ends.Pump();
  const std::string text = RandomText(1'000'000, 5);
  EXPECT_EQ(Transfer(ends, *other.client, *other.server, text), text);
}

TEST_P(StreamTest, ReadableIsToldOnceForEachReadThatFoundNothing) {
  TwoEnds ends(GetParam());
  auto pair = ends.Connect();
  std::vector<Buffer> none;
  ASSERT_TRUE(pair.server->Read(100, none).ok());
  ASSERT_TRUE(none.empty());
  ASSERT_TRUE(WriteText(*pair.client, "a").ok());
  ends.Pump();
  ASSERT_TRUE(WriteText(*pair.client, "b").ok());
  ends.Pump();
  EXPECT_EQ(pair.server_sees->readable, 1);
  EXPECT_EQ(ReadAll(*pair.server).first, "ab");
  ASSERT_TRUE(WriteText(*pair.client, "c").ok());
  ends.Pump();
  EXPECT_EQ(pair.server_sees->readable, 2);
}

TEST_P(StreamTest, HalfCloseIsReadAfterTheBytesAndLeavesTheOtherDirection) {
  TwoEnds ends(GetParam());
  auto pair = ends.Connect();
  ASSERT_TRUE(WriteText(*pair.client, "last words").ok());
  pair.client->CloseWrite();
  pair.client->CloseWrite();
  EXPECT_EQ(WriteText(*pair.client, "x").status().code(), absl::StatusCode::kFailedPrecondition);
  ends.Pump();
  const auto [text, end] = ReadAll(*pair.server);
  EXPECT_EQ(text, "last words");
  EXPECT_EQ(end.code(), absl::StatusCode::kOutOfRange);
  ASSERT_TRUE(WriteText(*pair.server, "answer").ok());
  pair.server->CloseWrite();
  ends.Pump();
  const auto [answer, answer_end] = ReadAll(*pair.client);
  EXPECT_EQ(answer, "answer");
  EXPECT_EQ(answer_end.code(), absl::StatusCode::kOutOfRange);
}

TEST_P(StreamTest, AbortTellsThePeerWhy) {
  TwoEnds ends(GetParam());
  auto pair = ends.Connect();
  ASSERT_TRUE(WriteText(*pair.client, "never read").ok());
  pair.client->Abort(absl::InternalError("out of ideas"));
  ends.Pump();
  const auto [text, end] = ReadAll(*pair.server);
  EXPECT_EQ(end.code(), absl::StatusCode::kAborted);
  EXPECT_NE(end.message().find("out of ideas"), std::string::npos) << end;
  EXPECT_EQ(WriteText(*pair.server, "x").status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(ReadAll(*pair.client).second.code(), absl::StatusCode::kAborted);
}

TEST_P(StreamTest, DestroyingAStreamAbortsIt) {
  TwoEnds ends(GetParam());
  auto keep = ends.Connect();
  auto pair = ends.Connect();
  pair.client.reset();
  ends.Pump();
  EXPECT_EQ(ReadAll(*pair.server).second.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(WriteText(*keep.client, "alive").value(), 5u);
}

TEST_P(StreamTest, StreamsOfTwoProcessesShareOneLinkUntilTheLastEnds) {
  TwoEnds ends(GetParam());
  auto first = ends.Connect();
  auto second = ends.Connect();
  EXPECT_EQ(ends.client_waiter.watched(), 1u);
  EXPECT_EQ(ends.server_waiter.watched(), 1u);
  first.client.reset();
  ends.Pump();
  EXPECT_EQ(ends.client_waiter.watched(), 1u);
  second.client.reset();
  second.server.reset();
  first.server.reset();
  ends.Pump();
  EXPECT_EQ(ends.client_waiter.watched(), 0u);
  EXPECT_EQ(ends.server_waiter.watched(), 0u);
  auto third = ends.Connect();
  ASSERT_NE(third.client, nullptr) << ToString(third.client_why);
  EXPECT_EQ(WriteText(*third.client, "again").value(), 5u);
  ends.Pump();
  EXPECT_EQ(ReadAll(*third.server).first, "again");
}

TEST_P(StreamTest, ConnectionsOneAfterAnotherLeaveNoLinks) {
  TwoEnds ends(GetParam());
  for (int round = 0; round < 20; ++round) {
    auto pair = ends.Connect();
    ASSERT_NE(pair.client, nullptr) << "round " << round << ": " << ToString(pair.client_why);
    ASSERT_EQ(WriteText(*pair.client, "one call").value(), 8u);
    // Without a look at the other end in between: its link may not know yet that it has been left.
    if (round % 2 == 0) ends.Pump();
    pair.client.reset();
    pair.server.reset();
  }
  ends.Pump();
  EXPECT_EQ(ends.client_waiter.watched(), 0u);
  EXPECT_EQ(ends.server_waiter.watched(), 0u);
}

// On a link that both have: the client's end is there only when the answer is.
TEST_P(StreamTest, AServerMayCloseBeforeItsClientHasAttached) {
  StreamOptions options;
  options.window_bytes = 10'000;
  TwoEnds ends(GetParam(), options);
  auto first = ends.Connect();
  ASSERT_NE(first.client, nullptr);
  auto attempt = ends.connector->Begin({}).value();
  const Listener::Result result = ends.listener->Accept(attempt->offer(), {});
  ASSERT_NE(result.outcome.stream, nullptr);
  result.outcome.stream->CloseWrite();
  ends.Pump();
  const std::shared_ptr<Stream> client = attempt->Complete(result.answer).stream;
  ASSERT_NE(client, nullptr);
  ends.Pump();
  EXPECT_TRUE(absl::IsOutOfRange(ReadAll(*client).second));
  // Windows are still given back, behind the close.
  const std::string text = RandomText(50'000, 6);
  EXPECT_EQ(Transfer(ends, *client, *result.outcome.stream, text), text);
  EXPECT_EQ(Transfer(ends, *first.client, *first.server, text), text);
}

TEST_P(StreamTest, WhatWasSentIsSaidToHaveReachedThePeer) {
  TwoEnds ends(GetParam());
  auto pair = ends.Connect();
  ASSERT_NE(pair.client, nullptr);
  ASSERT_TRUE(WriteText(*pair.client, "are you there?").ok());
  absl::Status reached = absl::UnknownError("not told");
  pair.client->WhenReached([&](const absl::Status& status) { reached = status; });
  ends.Pump();
  EXPECT_TRUE(reached.ok()) << reached;
}

TEST(SilentStreamTest, AClientThatDiesLeavesItsServerNoLink) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  auto pair = ends.Connect();
  ASSERT_NE(pair.server, nullptr);
  ends.simulation->KillDevice("client");
  pair.server.reset();  // its other channel has ended
  ends.Pump();
  EXPECT_EQ(ends.server_waiter.watched(), 0u);
}

TEST(SilentStreamTest, LastWordsThatWaitWhenTheLinkFailsAreDropped) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  auto pair = ends.Connect();
  auto other = ends.Connect();
  ASSERT_NE(other.client, nullptr);
  ends.simulation->KillDevice("server");
  const std::string text(1000, 'x');
  while (WriteText(*pair.client, text).value_or(0) == text.size()) {
  }
  while (WriteText(*other.client, text).value_or(0) == text.size()) {
  }
  // Aborts that only the link holds on to, behind what nobody reads.
  pair = {};
  other = {};
  ends.Pump();
  EXPECT_EQ(ends.client_waiter.watched(), 0u);
}

TEST(SilentStreamTest, WhetherADeadPeerIsReachedIsSaidToo) {
  TwoEnds ends(FabricKindUnderTest::kSilentSim);
  auto attempt = ends.connector->Begin({}).value();
  const Listener::Result result = ends.listener->Accept(attempt->offer(), {});
  const Outcome outcome = attempt->Complete(result.answer);
  ends.simulation->KillDevice("server");  // before anything has arrived
  ASSERT_NE(outcome.stream, nullptr);
  EXPECT_FALSE(outcome.reached);
  absl::Status reached = absl::OkStatus();
  outcome.stream->WhenReached([&](const absl::Status& status) { reached = status; });
  ends.Pump();
  EXPECT_TRUE(absl::IsUnavailable(reached)) << reached;
}

TEST(SimulatedStreamTest, ALostLinkGivesWhatArrivedThenUnavailable) {
  TwoEnds ends(FabricKindUnderTest::kSim);
  auto pair = ends.Connect();
  ASSERT_TRUE(WriteText(*pair.server, "before the end").ok());
  ends.Pump();
  ends.simulation->KillDevice("server");
  // Nobody announces a death: the client's own writing finds out.
  ASSERT_TRUE(WriteText(*pair.client, "anybody?").ok());
  ends.Pump();
  const auto [text, end] = ReadAll(*pair.client);
  EXPECT_EQ(text, "before the end");
  EXPECT_TRUE(absl::IsUnavailable(end)) << end;
  EXPECT_TRUE(absl::IsUnavailable(WriteText(*pair.client, "x").status()));
  EXPECT_EQ(ends.client_waiter.watched(), 0u);
}

// A client that opens one stream after the other is always told of a new link before it has attached to the last one.
TEST(SimulatedStreamTest, StreamsShareTheLinkThatIsAttachedFirst) {
  TwoEnds ends(FabricKindUnderTest::kSim);
  auto first = ends.connector->Begin({}).value();
  Listener::Result first_result = ends.listener->Accept(first->offer(), {});
  auto second = ends.connector->Begin({}).value();
  Listener::Result second_result = ends.listener->Accept(second->offer(), {});
  const Outcome outcome = first->Complete(first_result.answer);
  ends.Pump();
  const TwoEnds::Pair third = ends.Connect();
  EXPECT_NE(third.client, nullptr);
  EXPECT_EQ(ends.server_waiter.watched(), 2u);
  EXPECT_EQ(ends.client_waiter.watched(), 1u);
}

TEST(SimulatedStreamTest, MorePeersThanMayBeActiveAreWatchedOver) {
  StreamOptions options;
  options.link.ring_bytes = 1 << 16;
  auto ends = std::make_unique<TwoEnds>(FabricKindUnderTest::kSim, options);
  std::vector<std::unique_ptr<Connector>> connectors;
  std::vector<TwoEnds::Pair> pairs;
  for (uint32_t peers = 1; peers <= schedule::kMaxActiveQueuePairs + 2; ++peers) {
    connectors.push_back(std::move(ends->connector));
    ends->connector =
        CreateConnector(std::make_shared<connect::OneFabric>(ends->client_transport), options, &ends->client_waiter);
    pairs.push_back(ends->Connect());
    const bool in_turns = peers > schedule::kMaxActiveQueuePairs;
    ASSERT_EQ(ends->server_waiter.watched(), peers + (in_turns ? 1 : 0)) << "the links, and in turns their timer";
  }
  ends->listener.reset();
  ends->Pump();
  EXPECT_EQ(ends->server_waiter.watched(), pairs.size() + 1) << "links outlive their listener";
  pairs.clear();
  for (int i = 0; i < 3; ++i) ends->Pump();
  EXPECT_EQ(ends->server_waiter.watched(), 0u);
}

TEST_P(StreamTest, ManyStreamsCarryTheirOwnBytes) {
  TwoEnds ends(GetParam());
  std::vector<TwoEnds::Pair> pairs;
  pairs.reserve(100);
  for (int i = 0; i < 100; ++i) pairs.push_back(ends.Connect());
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < pairs.size(); ++i) {
      const std::string text = absl::StrCat("stream ", i, ";");
      ASSERT_EQ(WriteText(*pairs[i].client, text).value(), text.size());
      if (i % 20 == 19) ends.Pump();  // there are credits for 32 messages
    }
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    const std::string one = absl::StrCat("stream ", i, ";");
    EXPECT_EQ(ReadAll(*pairs[i].server).first, absl::StrCat(one, one, one));
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, StreamTest, testing::ValuesIn(FabricsUnderTest()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace skein::stream
