// Which connection a traced call went by, and which write and arrival were its own.
#include "grpc_transport/event_engine/traced_connection.h"

#include "absl/cleanup/cleanup.h"
#include "core/trace/tracer.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

constexpr Path::Role kClient = Path::Role::kClient;

SentTimes At(uint64_t time) { return {.queued = time, .departure = {.led = time, .posted = time + 1, .degree = 1}}; }

TEST(TracedConnectionTest, IsFoundByItsPeerUntilItEnds) {
  auto one = TracedConnection::New(kClient, "ipv4:127.0.0.1:1", trace::Path::kShm, 0);
  const auto servers = TracedConnection::New(Path::Role::kServer, "ipv4:127.0.0.1:1", trace::Path::kShm, 0);
  ASSERT_EQ(TracedConnection::Find(kClient, "ipv4:127.0.0.1:1").size(), 1u);
  EXPECT_EQ(TracedConnection::Find(kClient, "ipv4:127.0.0.1:1").front(), one);
  EXPECT_TRUE(TracedConnection::Find(kClient, "ipv4:127.0.0.1:2").empty());
  const auto other = TracedConnection::New(kClient, "ipv4:127.0.0.1:1", trace::Path::kTcp, 0);
  EXPECT_EQ(TracedConnection::Find(kClient, "ipv4:127.0.0.1:1").size(), 2u);
  one = nullptr;
  ASSERT_EQ(TracedConnection::Find(kClient, "ipv4:127.0.0.1:1").size(), 1u);
  EXPECT_EQ(TracedConnection::Find(kClient, "ipv4:127.0.0.1:1").front(), other);
}

TEST(TracedConnectionTest, TheFirstWriteBehindItsBeginningIsTheCalls) {
  const auto connection = TracedConnection::New(kClient, "a", trace::Path::kShm, 0);
  EXPECT_EQ(connection->WrittenSince(5).queued, 0u) << "nothing was written";
  connection->Wrote(At(10));
  connection->Wrote(At(20));
  EXPECT_EQ(connection->WrittenSince(5).queued, 10u);
  EXPECT_EQ(connection->WrittenSince(11).departure.posted, 21u);
  EXPECT_EQ(connection->WrittenSince(21).queued, 0u);
}

TEST(TracedConnectionTest, WhatIsForgottenIsNotKnown) {
  const auto connection = TracedConnection::New(kClient, "a", trace::Path::kShm, 0);
  constexpr uint64_t kWrites = 2 * Latest<SentTimes>::kMost;
  for (uint64_t time = 1; time <= kWrites; ++time) connection->Wrote(At(time));
  EXPECT_EQ(connection->WrittenSince(3).queued, 0u) << "not the first that is remembered";
  EXPECT_EQ(connection->WrittenSince(kWrites - 1).queued, kWrites - 1);
}

TEST(TracedConnectionTest, AReplyIsWhatThePeerSentFirstBehindTheHandlersEnd) {
  trace::SetSampling(1);
  const absl::Cleanup off = [] { trace::SetSampling(0); };
  const auto connection = TracedConnection::New(kClient, "a", trace::Path::kShm, 0);
  connection->Read({.posted = 101, .arrived = 1010});
  connection->Read({.posted = 201, .arrived = 2010});
  connection->Read({.posted = 301, .arrived = 3010});
  EXPECT_EQ(connection->CameSince(150).arrived, 2010u);
  EXPECT_EQ(connection->CameSince(0).arrived, 3010u) << "not known: what came last";
  EXPECT_EQ(connection->CameSince(400).arrived, 3010u);
}

TEST(TracedConnectionTest, ConnectionsToOneAddressAreToldApartByTheThreadThatWrites) {
  const auto one = TracedConnection::New(kClient, "a", trace::Path::kShm, 0);
  const auto other = TracedConnection::New(kClient, "a", trace::Path::kShm, 0);
  const TracedConnection::NextWrite first;
  one->Wrote(At(1));
  const TracedConnection::NextWrite second;
  other->Wrote(At(2));
  one->Wrote(At(3));
  EXPECT_TRUE(first.WasOf(*one));
  EXPECT_FALSE(first.WasOf(*other));
  EXPECT_TRUE(second.WasOf(*other));
}

TEST(TracedConnectionTest, ServersLookAtCallsWhileAClientTraces) {
  const auto client = TracedConnection::New(kClient, "a", trace::Path::kShm, 0);
  client->Read({.posted = 1, .arrived = 2});
  EXPECT_FALSE(TracedConnection::ClientsTrace()) << "a server's message says nothing of clients";
  const auto server = TracedConnection::New(Path::Role::kServer, "b", trace::Path::kShm, 0);
  server->Read({.posted = 2, .arrived = 2});
  EXPECT_FALSE(TracedConnection::ClientsTrace());
  server->Read({.posted = 3, .arrived = 2});
  EXPECT_TRUE(TracedConnection::ClientsTrace());
}

}  // namespace
}  // namespace skein::grpc_transport
