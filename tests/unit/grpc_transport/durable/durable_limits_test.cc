// Durable calls and replies that one of the limits on their way does not let through: each ends alone. And servers that
// bring nothing forward, which nobody runs after.
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>

#include <atomic>
#include <deque>
#include <thread>

#include "core/durable/calls/message.h"
#include "core/durable/calls/outbox.h"
#include "gmock/gmock.h"
#include "grpc_transport/durable/durable_call.h"
#include "grpc_transport/durable/durable_client.h"
#include "tests/unit/grpc_transport/durable/durable_fixture.h"

namespace skein::grpc_transport {
namespace {

using testing::HasSubstr;

class DurableLimitsTest : public DurableCallsTest {
 protected:
  DurableLimitsTest() { options_.bytes = 64 << 20; }
  void Open() {
    OpenServer();
    durable_->Start(*server_);
    OpenClient();
  }
  void ExpectTooLarge(const grpc::Status& status, const std::string& what) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), HasSubstr(what));
    counter_->reply_bytes = 0;
    AddReply reply;
    const grpc::Status next = Add(1, &reply);
    EXPECT_TRUE(next.ok()) << "what comes behind it goes on; not: " << next.error_message();
  }
};

TEST_P(DurableLimitsTest, ACallBeyondWhatTheChannelSends) {
  arguments_.SetMaxSendMessageSize(1000);
  Open();
  AddReply reply;
  ExpectTooLarge(Add(1, &reply, 5000), "Sent message larger than max (5");
}

// The channel cannot know it when it takes the call: the server is not there yet.
TEST_P(DurableLimitsTest, ACallBeyondWhatTheServerTakesAheadOfOthers) {
  OpenServer();
  CloseServer();
  OpenClient();
  Marked large;
  Marked small;
  Fill(large.request, 5 << 20);
  large.Start(*stub_, 1);
  small.Start(*stub_, 2);
  OpenServer();
  durable_->Start(*server_);
  EXPECT_TRUE(small.ended.get_future().get().ok());
  EXPECT_TRUE(absl::IsResourceExhausted(large.persisted.get_future().get().status()));
  ExpectTooLarge(large.ended.get_future().get(), std::to_string(options_.max_call_bytes - 1));
  EXPECT_EQ(counter_->total, 3);
}

TEST_P(DurableLimitsTest, AReplyBeyondWhatTheChannelReceives) {
  Open();
  AddReply reply;
  counter_->reply_bytes = (4 << 20) - 100;  // as it travels, it is larger than its stream's messages usually are
  const grpc::Status status = Add(1, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  counter_->reply_bytes = 5 << 20;
  ExpectTooLarge(Add(1, &reply), "Received message larger than max (5");
}

TEST_P(DurableLimitsTest, AReplyBeyondWhatTheServerSends) {
  configure_ = [](grpc::ServerBuilder& builder) { builder.SetMaxSendMessageSize(10'000); };
  options_.max_reply_bytes = 10'000 - 1024;
  Open();
  AddReply reply;
  counter_->reply_bytes = 20'000;  // the handler's own call sees that
  ExpectTooLarge(Add(1, &reply), "Sent message larger than max (2");
  counter_->reply_bytes = 10'000 - 20;  // only the stream would
  ExpectTooLarge(Add(1, &reply), "take 8976");
}

// Says how things stand, and that nothing is new, and goes.
class IdleService final : public grpc::Service {
 public:
  IdleService() {
    AddMethod(new grpc::internal::RpcServiceMethod(kSessionMethod, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
    MarkMethodRawCallback(0, new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                                 [this](grpc::CallbackServerContext*) { return new Session(++sessions); }));
  }
  std::atomic<int> sessions = 0;

 private:
  class Session final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    explicit Session(int /*number*/) { StartRead(&message_); }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      Say(durable::StandingMessage(durable::Persistence::kEmulated, 0, 1000, absl::Hours(1)));
    }
    void OnWriteDone(bool ok) override {
      if (!ok || said_nothing_) return Finish({grpc::StatusCode::UNAVAILABLE, "enough"});
      said_nothing_ = true;
      Say(durable::PersistedMessage(0, durable::Persistence::kEmulated, false));
    }
    void OnDone() override { delete this; }

   private:
    void Say(const std::string& message) {
      message_ = BufferOf(message);
      StartWrite(&message_);
    }
    grpc::ByteBuffer message_;
    bool said_nothing_ = false;
  };
};

TEST_P(DurableLimitsTest, AServerThatBringsNothingForwardIsCalledSeldom) {
  IdleService idle;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.AddChannelArgument("skein.mode", GetParam());
  builder.RegisterService(&idle);
  const auto server = builder.BuildAndStart();
  OpenClient();
  Marked call;
  SetDeadline(call.context, 1);
  call.Start(*stub_, 1);
  EXPECT_EQ(call.ended.get_future().get().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_GE(idle.sessions, 3);
  EXPECT_LE(idle.sessions, 12);  // each pause is twice the one before
  stub_.reset();
  server->Shutdown();
}

INSTANTIATE_TEST_SUITE_P(Modes, DurableLimitsTest, testing::Values("off", "require"),
                         [](const auto& info) { return std::string(info.param); });

// A call that was on its way when the server went, to a log that took it.
TEST(OutboxLimitsTest, ACallThatWasSentAndIsTooLargeForTheNextServerLeavesNoGap) {
  durable::Outbox outbox{{}};
  std::vector<std::string> said;
  const auto greet = [&](uint64_t largest) {
    said.clear();
    outbox.Connected([&said](std::string message) { said.push_back(std::move(message)); });
    return outbox.OnMessage(durable::StandingMessage(durable::Persistence::kEmulated, 0, largest, absl::Hours(1)));
  };
  absl::Status large;
  ASSERT_TRUE(outbox.Start(std::string(100, 'x'), nullptr, [&](const auto& reply) { large = reply.status(); }).ok());
  ASSERT_TRUE(outbox.Start("small", nullptr, nullptr).ok());
  ASSERT_TRUE(greet(1000).ok());
  outbox.Disconnected();
  ASSERT_TRUE(greet(50).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(large)) << large;
  ASSERT_EQ(said.size(), 3U);  // Hello, and
  EXPECT_EQ(said[1], durable::CallMessage(1, 0, durable::VoidRequest()));
  EXPECT_EQ(said[2], durable::CallMessage(2, 0, durable::MakeRequest("small")));
}

}  // namespace
}  // namespace skein::grpc_transport
