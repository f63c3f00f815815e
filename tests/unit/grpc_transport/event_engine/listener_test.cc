// What gRPC may expect of a server's listener whose connections are negotiated about.
#include "grpc_transport/event_engine/listener.h"

#include <vector>

#include "grpc_transport/common/offer_bytes.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/event_engine/connecting_engine.h"

namespace skein::grpc_transport {
namespace {

class ListenerTest : public testing::Test {
 protected:
  ~ListenerTest() override {
    accepted_.clear();
    listener_ = nullptr;
    if (listens_) inner_->EndListener();
    inner_->Settle();
    inner_->Stop();
  }

  absl::Status Listen(absl::StatusOr<Options> options = Answering()) {
    auto listener = NewListener(
        inner_, std::move(options),
        [this](std::unique_ptr<EventEngine::Endpoint> endpoint, MemoryAllocator) {
          accepted_.push_back(std::move(endpoint));
          if (on_accepted_) on_accepted_();
        },
        [this](const absl::Status& status) {
          EXPECT_TRUE(status.ok()) << status;
          ++shutdowns_;
        },
        TestConfig(), nullptr);
    if (!listener.ok()) return listener.status();
    listener_ = *std::move(listener);
    listens_ = true;
    return absl::OkStatus();
  }
  static Options Answering() {
    Options options;
    options.mode = Mode::kPrefer;
    options.negotiation_timeout = absl::Seconds(60);
    return options;
  }
  std::shared_ptr<TcpEnd> Accept() {
    auto end = std::make_shared<TcpEnd>(inner_);
    inner_->Accept(std::make_unique<FakeTcp>(end, Loopback(1)), memory_.Allocator());
    return end;
  }
  void EndInner() {
    listens_ = false;
    inner_->EndListener();
  }

  Memory memory_;
  const std::shared_ptr<ConnectingEngine> inner_ = std::make_shared<ConnectingEngine>();
  std::unique_ptr<EventEngine::Listener> listener_;
  std::function<void()> on_accepted_;
  std::vector<std::unique_ptr<EventEngine::Endpoint>> accepted_;
  int shutdowns_ = 0;
  bool listens_ = false;  // the inner listener's callbacks are there
};

TEST_F(ListenerTest, AClientWithoutSkeinIsAcceptedWithItsBytes) {
  ASSERT_TRUE(Listen().ok());
  const auto tcp = Accept();
  EXPECT_TRUE(accepted_.empty()) << "nothing is known of it";
  const std::string bytes = std::string(kHttp2Preface) + std::string("\0\0\0\4\0\0\0\0\0", 9);
  tcp->Send(bytes);
  inner_->Settle();
  ASSERT_EQ(accepted_.size(), 1);
  SliceBuffer read;
  ASSERT_TRUE(accepted_[0]->Read([](const absl::Status&) {}, &read, {}));
  EXPECT_EQ(Bytes(read), bytes);
  SliceBuffer written;
  written.Append(grpc_event_engine::experimental::Slice::FromCopiedString("PRI * is nothing of a server's"));
  EXPECT_TRUE(accepted_[0]->Write([](const absl::Status&) {}, &written, {}));
  EXPECT_EQ(tcp->sent(), "PRI * is nothing of a server's");
}

TEST_F(ListenerTest, ItsEndComesAfterThatOfTheLastConnectionUnderWay) {
  ASSERT_TRUE(Listen().ok());
  const auto tcp = Accept();
  listener_ = nullptr;
  inner_->Settle();
  EXPECT_FALSE(inner_->listens);
  EXPECT_TRUE(tcp->destroyed.HasBeenNotified()) << "the negotiation ends";
  EXPECT_EQ(shutdowns_, 0) << "the inner listener may still accept";
  EndInner();
  EXPECT_EQ(shutdowns_, 1);
  EXPECT_TRUE(accepted_.empty());
  EXPECT_TRUE(memory_.ended);
}

TEST_F(ListenerTest, ItsEndWaitsForAnAcceptUnderWay) {
  ASSERT_TRUE(Listen().ok());
  int shutdowns_then = -1;
  on_accepted_ = [&] {
    listener_ = nullptr;
    inner_->DropListener();
    listens_ = false;
    shutdowns_then = shutdowns_;
  };
  const auto tcp = Accept();
  const auto other = Accept();
  tcp->Send("GET / HTTP/1.1\r\n\r\n");
  inner_->Settle();
  EXPECT_EQ(shutdowns_then, 0) << "inside the accept";
  EXPECT_EQ(shutdowns_, 1);
  EXPECT_EQ(accepted_.size(), 1);
  EXPECT_TRUE(other->destroyed.HasBeenNotified());
}

TEST_F(ListenerTest, NoneIsAcceptedBehindIt) {
  ASSERT_TRUE(Listen().ok());
  listener_ = nullptr;
  const auto late = Accept();
  EXPECT_TRUE(late->destroyed.HasBeenNotified());
  EndInner();
  EXPECT_TRUE(accepted_.empty());
  EXPECT_EQ(shutdowns_, 1);
}

TEST_F(ListenerTest, WhereThereIsNoneNoEndIsTold) {
  inner_->no_listener = absl::ResourceExhaustedError("no descriptors");
  EXPECT_EQ(Listen(), inner_->no_listener);
  inner_->Settle();
  EXPECT_EQ(shutdowns_, 0);
}

TEST_F(ListenerTest, WrongOptionsFailEachConnection) {
  ASSERT_TRUE(Listen(absl::InvalidArgumentError("skein.mode: perhaps")).ok());
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Accept()->destroyed.HasBeenNotified());
  EXPECT_TRUE(accepted_.empty());
}

TEST_F(ListenerTest, RequireAcceptsNoClientWithoutSkein) {
  Options options = Answering();
  options.mode = Mode::kRequire;
  ASSERT_TRUE(Listen(options).ok());
  const auto tcp = Accept();
  tcp->Send("GET / HTTP/1.1\r\n\r\n");
  inner_->Settle();
  EXPECT_TRUE(tcp->destroyed.HasBeenNotified());
  EXPECT_TRUE(accepted_.empty());
}

// After the 10 s that each server waits.
TEST_F(ListenerTest, ASilentClientIsLeftToGrpcAndItsBytesStillCome) {
  Options options = Answering();
  options.negotiation_timeout = absl::Milliseconds(10);
  absl::Notification accepted;
  on_accepted_ = [&] { accepted.Notify(); };
  ASSERT_TRUE(Listen(options).ok());
  const auto tcp = Accept();
  accepted.WaitForNotification();
  inner_->Settle();
  SliceBuffer read;
  absl::Status status = absl::UnknownError("not told");
  ASSERT_FALSE(accepted_.at(0)->Read([&](absl::Status told) { status = std::move(told); }, &read, {}));
  tcp->Send("at last");  // for the read that the negotiation has left
  inner_->Settle();
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(Bytes(read), "at last");
}

}  // namespace
}  // namespace skein::grpc_transport
