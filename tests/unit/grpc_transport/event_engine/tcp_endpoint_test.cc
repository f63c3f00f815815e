// TCP's endpoint after a negotiation, and the read that changes hands.
#include "grpc_transport/event_engine/tcp_endpoint.h"

#include "grpc_transport/common/offer_bytes.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/event_engine/connecting_engine.h"

namespace skein::grpc_transport {
namespace {

using grpc_event_engine::experimental::Slice;

const std::string kAck("\0\0\0\4\1\0\0\0\0", 9);
const std::string kSettings("\0\0\0\4\0\0\0\0\0", 9);

class TcpTest : public testing::Test {
 protected:
  ~TcpTest() override {
    endpoint_ = nullptr;
    reader_ = nullptr;
    engine_->Settle();
    engine_->Stop();
  }

  // Of a read that is not done at once.
  struct Told {
    absl::Status status = absl::UnknownError("not told");
    int times = 0;
  };
  TcpReader::OnDone Tell(Told& told) {
    return [&told](absl::Status status) {
      told.status = std::move(status);
      ++told.times;
    };
  }
  void Send(const std::string& bytes) {
    tcp_->Send(bytes);
    engine_->Settle();
  }
  void MakeEndpoint(int settings_frames, const std::string& received = "") {
    SliceBuffer buffer;
    if (!received.empty()) buffer.Append(Slice::FromCopiedString(received));
    endpoint_ =
        NewTcpEndpoint(std::move(connection_), std::exchange(reader_, nullptr), std::move(buffer), settings_frames,
                       ListedPath(), TracedConnection::New(Path::Role::kClient, "", trace::Path::kTcp, 0));
  }
  void Write(const std::string& bytes) {
    SliceBuffer buffer;
    buffer.Append(Slice::FromCopiedString(bytes));
    EXPECT_TRUE(endpoint_->Write([](const absl::Status&) {}, &buffer, {}));
  }
  // What gRPC reads next. Nothing may be there yet: then `later` is sent.
  std::string Read(const std::string& later = "") {
    SliceBuffer buffer;
    Told told;
    if (endpoint_->Read(Tell(told), &buffer, {})) return Bytes(buffer);
    engine_->Settle();
    if (!later.empty()) Send(later);
    EXPECT_EQ(told.times, 1);
    EXPECT_TRUE(told.status.ok()) << told.status;
    return Bytes(buffer);
  }

  const std::shared_ptr<ConnectingEngine> engine_ = std::make_shared<ConnectingEngine>();
  const std::shared_ptr<TcpEnd> tcp_ = std::make_shared<TcpEnd>(engine_);
  std::unique_ptr<EventEngine::Endpoint> connection_ = std::make_unique<FakeTcp>(tcp_, Loopback(1));
  std::shared_ptr<TcpReader> reader_ = std::make_shared<TcpReader>(connection_.get(), engine_);
  std::unique_ptr<EventEngine::Endpoint> endpoint_;
};

class TcpEndpointTest : public TcpTest {};
class TcpReaderTest : public TcpTest {};

TEST_F(TcpEndpointTest, ThePrefaceIsLeftOutHoweverItIsCut) {
  const std::string all = std::string(kHttp2Preface) + "settings";
  for (size_t cut = 0; cut <= all.size(); ++cut) {
    const auto end = std::make_shared<TcpEnd>(engine_);
    connection_ = std::make_unique<FakeTcp>(end, Loopback(1));
    reader_ = std::make_shared<TcpReader>(connection_.get(), engine_);
    MakeEndpoint(1);
    if (cut > 0) Write(all.substr(0, cut));
    if (cut < all.size()) Write(all.substr(cut));
    EXPECT_EQ(end->sent(), "settings") << "cut behind " << cut;
  }
}

TEST_F(TcpEndpointTest, ThePrefaceIsLeftOutByteByByte) {
  MakeEndpoint(1);
  for (const char byte : std::string(kHttp2Preface) + "settings") Write(std::string(1, byte));
  EXPECT_EQ(tcp_->sent(), "settings");
}

TEST_F(TcpEndpointTest, WithoutAnOfferNothingIsLeftOut) {
  MakeEndpoint(0);
  Write(std::string(kHttp2Preface));
  EXPECT_EQ(tcp_->sent(), kHttp2Preface);
  EXPECT_EQ(Read(kAck), kAck);
}

TEST_F(TcpEndpointTest, SoManyAcknowledgementsAreTakenOutAndNoMore) {
  MakeEndpoint(2, kSettings + kAck);
  EXPECT_EQ(Read(), kSettings);
  EXPECT_EQ(Read(kAck + kAck), kAck) << "the second of the offer's, and HTTP/2's own";
  EXPECT_EQ(Read(kAck), kAck);
}

TEST_F(TcpEndpointTest, AReadGoesOnUntilThereIsSomethingForHttp2) {
  MakeEndpoint(1);
  SliceBuffer buffer;
  Told told;
  ASSERT_FALSE(endpoint_->Read(Tell(told), &buffer, {}));
  for (const char byte : kAck) Send(std::string(1, byte));
  EXPECT_EQ(told.times, 0) << "an acknowledgement is nothing that it hears of";
  Send(kSettings);
  EXPECT_EQ(told.times, 1);
  EXPECT_EQ(Bytes(buffer), kSettings);
}

TEST_F(TcpEndpointTest, ItsEndFailsTheReadUnderWay) {
  for (const int settings_frames : {0, 1}) {
    const auto end = std::make_shared<TcpEnd>(engine_);
    connection_ = std::make_unique<FakeTcp>(end, Loopback(1));
    reader_ = std::make_shared<TcpReader>(connection_.get(), engine_);
    MakeEndpoint(settings_frames);
    SliceBuffer buffer;
    Told told;
    ASSERT_FALSE(endpoint_->Read(Tell(told), &buffer, {}));
    endpoint_ = nullptr;
    EXPECT_TRUE(end->destroyed.HasBeenNotified());
    engine_->Settle();
    EXPECT_EQ(told.times, 1);
    EXPECT_TRUE(absl::IsCancelled(told.status)) << told.status;
  }
}

TEST_F(TcpEndpointTest, ItsEndWhileAcknowledgementsAreOnTheirWayFailsTheReadOnce) {
  MakeEndpoint(1);
  SliceBuffer buffer;
  Told told;
  ASSERT_FALSE(endpoint_->Read(Tell(told), &buffer, {}));
  engine_->Run([&] {
    tcp_->Send(kAck);
    endpoint_ = nullptr;
  });
  engine_->Settle();
  EXPECT_EQ(told.times, 1);
  EXPECT_TRUE(absl::IsCancelled(told.status)) << told.status;
}

TEST_F(TcpEndpointTest, ThePeersEndComesBehindItsBytes) {
  MakeEndpoint(1, kSettings);
  tcp_->End(absl::UnavailableError("ended"));
  EXPECT_EQ(Read(), kSettings);
  SliceBuffer buffer;
  for (int i = 0; i < 2; ++i) {
    Told told;
    ASSERT_FALSE(endpoint_->Read(Tell(told), &buffer, {}));
    engine_->Settle();
    EXPECT_TRUE(absl::IsUnavailable(told.status)) << told.status;
    EXPECT_EQ(buffer.Length(), 0);
  }
}

TEST_F(TcpReaderTest, AWithdrawnReadIsAdopted) {
  Told first, second;
  reader_->Read(Tell(first));
  EXPECT_TRUE(reader_->Withdraw());
  EXPECT_FALSE(reader_->Withdraw()) << "once";
  EXPECT_FALSE(reader_->idle());
  reader_->Read(Tell(second));
  Send("bytes");
  EXPECT_EQ(first.times, 0);
  EXPECT_EQ(second.times, 1);
  SliceBuffer out;
  reader_->MoveInto(out);
  EXPECT_EQ(Bytes(out), "bytes");
  EXPECT_TRUE(reader_->idle());
}

TEST_F(TcpReaderTest, WhatAWithdrawnReadBringsIsKept) {
  Told first, second;
  reader_->Read(Tell(first));
  reader_->Withdraw();
  Send("bytes");
  EXPECT_FALSE(reader_->idle());
  reader_->Read(Tell(second));
  engine_->Settle();
  EXPECT_EQ(second.times, 1);
  EXPECT_TRUE(second.status.ok());
  SliceBuffer out;
  reader_->MoveInto(out);
  EXPECT_EQ(Bytes(out), "bytes");
}

TEST_F(TcpReaderTest, AReadThatIsOnItsWayCannotBeWithdrawn) {
  Told told;
  reader_->Read(Tell(told));
  bool withdrawn = true;
  engine_->Run([&] {
    tcp_->Send("bytes");
    engine_->Run([&] { withdrawn = reader_->Withdraw(); });  // between its arrival and its callback
  });
  engine_->Settle();
  EXPECT_FALSE(withdrawn);
  EXPECT_EQ(told.times, 1);
}

TEST_F(TcpReaderTest, AnErrorIsToldToEveryReadThatFollows) {
  Told first, second, third;
  reader_->Read(Tell(first));
  reader_->Withdraw();
  tcp_->End(absl::UnavailableError("ended"));
  engine_->Settle();
  EXPECT_TRUE(reader_->HasEnded());
  reader_->Read(Tell(second));
  engine_->Settle();
  reader_->Read(Tell(third));
  engine_->Settle();
  EXPECT_EQ(second.status, absl::UnavailableError("ended"));
  EXPECT_EQ(third.status, absl::UnavailableError("ended"));
}

TEST_F(TcpReaderTest, WhatTcpGivesAtOnceIsToldAsWell) {
  tcp_->gives_at_once = true;
  tcp_->Send("bytes");
  Told told;
  reader_->Read(Tell(told));
  engine_->Settle();
  EXPECT_EQ(told.times, 1);
  SliceBuffer out;
  reader_->MoveInto(out);
  EXPECT_EQ(Bytes(out), "bytes");
  EXPECT_TRUE(reader_->idle());
}

TEST_F(TcpReaderTest, WhatIsReadAheadIsForTheNextRead) {
  for (const bool at_once : {false, true}) {
    tcp_->gives_at_once = at_once;
    tcp_->Send("bytes");
    reader_->ReadAhead();
    reader_->ReadAhead();
    engine_->Settle();
    EXPECT_FALSE(reader_->idle());
    Told told;
    reader_->Read(Tell(told));
    engine_->Settle();
    EXPECT_EQ(told.times, 1);
    SliceBuffer out;
    reader_->MoveInto(out);
    EXPECT_EQ(Bytes(out), "bytes");
    EXPECT_TRUE(reader_->idle());
  }
}

TEST_F(TcpReaderTest, BehindTheEndpointReadsFail) {
  Told told;
  reader_->Detach();
  reader_->Read(Tell(told));
  engine_->Settle();
  EXPECT_TRUE(absl::IsCancelled(told.status)) << told.status;
}

TEST_F(TcpEndpointTest, OtherBytesThanThePrefaceGoAsTheyAreAndAreToldOnce) {
  const std::string preface(kHttp2Preface);
  for (const std::string& other : {std::string("\x10 of ALTS"), preface.substr(0, 23) + "?", std::string("x")}) {
    const auto end = std::make_shared<TcpEnd>(engine_);
    connection_ = std::make_unique<FakeTcp>(end, Loopback(1));
    reader_ = std::make_shared<TcpReader>(connection_.get(), engine_);
    int told = 0;
    endpoint_ =
        NewTcpEndpoint(std::move(connection_), std::exchange(reader_, nullptr), SliceBuffer(),
                       /*settings_frames=*/1, ListedPath(),
                       TracedConnection::New(Path::Role::kClient, "", trace::Path::kTcp, 0), [&told] { ++told; });
    Write(other);
    Write(preface);
    EXPECT_EQ(end->sent(), other + preface);
    EXPECT_EQ(told, 1);
  }
}

// A server that acknowledges less than it should would have every read wait for a thread.
TEST_F(TcpReaderTest, WhatAReadBringsIsToldByTheThreadThatBringsIt) {
  std::vector<std::string> order;
  reader_->Read([&](const absl::Status& status) { order.push_back(status.ok() ? "told" : "failed"); });
  engine_->Run([&] {
    tcp_->Send("bytes");
    engine_->Run([&] { order.push_back("behind it"); });
  });
  engine_->Settle();
  EXPECT_EQ(order, (std::vector<std::string>{"told", "behind it"}));
}

}  // namespace
}  // namespace skein::grpc_transport
