// What a negotiation may expect of its connection, beyond what gRPC sees of it (engine_test.cc, listener_test.cc).
#include "grpc_transport/event_engine/negotiated_connection.h"

#include "grpc_transport/event_engine/runtime.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/event_engine/connecting_engine.h"

namespace skein::grpc_transport {
namespace {

// Never reaches its peer.
class UnreachedStream final : public stream::Stream {
 public:
  void SetObserver(std::shared_ptr<stream::StreamObserver> /*observer*/) override {}
  absl::StatusOr<size_t> Write(absl::Span<const stream::ConstBytes> /*buffers*/) override { return 0; }
  absl::Status Read(size_t /*max_bytes*/, std::vector<stream::Buffer>& /*out*/) override { return absl::OkStatus(); }
  bool PeerHasClosed() const override { return false; }
  void CloseWrite() override {}
  void Abort(const absl::Status& /*reason*/) override {}
  void WhenReached(std::function<void(const absl::Status&)> /*then*/) override {}
  std::string path() const override { return "none"; }
  std::shared_ptr<link::Link> link() const override { return nullptr; }
  bool Drain() override { return true; }
  bool Coming() override { return false; }
  link::Arrival last_arrival() override { return {}; }
};

// Tries a stream out from its beginning.
class TryingOut final : public Negotiation {
 public:
  TryingOut(Connection& connection, UnreachedStream& stream)
      : Negotiation(Path::Role::kClient, Options(), connection, Runtime::Get().state()), stream_(stream) {}

 private:
  void Begin() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) { connection_.AwaitReached(stream_); }
  void Written() override {}
  void BytesCame() override {}
  void Lost(const absl::Status& /*why*/) override {}
  void TimedOut() override {}

  UnreachedStream& stream_;
};

TEST(NegotiatedConnectionTest, APeerThatEndsWhileAStreamIsTriedOutIsNoticed) {
  Memory memory;
  UnreachedStream stream;
  const auto engine = std::make_shared<ConnectingEngine>();
  const auto tcp = std::make_shared<TcpEnd>(engine);
  auto negotiated = std::make_shared<NegotiatedConnection>(
      engine, SharedAllocator(memory.Allocator()), [](const auto&) {}, false);
  Connection& connection = *negotiated;
  negotiated->Conduct(std::make_unique<TryingOut>(connection, stream), Path::Role::kClient, 0);
  negotiated->Begin(std::make_unique<FakeTcp>(tcp, Loopback(1)));
  const auto has_ended = [&] {
    MutexLock lock(&connection.mu);
    return connection.HasEnded();
  };
  EXPECT_FALSE(has_ended());
  tcp->End(absl::UnavailableError("killed"));
  engine->Settle();
  EXPECT_TRUE(has_ended()) << "else the path would be blamed for it";
  negotiated->Cancel();
  negotiated = nullptr;
  engine->Settle();
  engine->Stop();
}

}  // namespace
}  // namespace skein::grpc_transport
