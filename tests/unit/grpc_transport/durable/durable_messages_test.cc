// Durable calls whose messages are not protobuf's, or no messages.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/client_unary_call.h>

#include <string>

#include "gmock/gmock.h"
#include "grpc_transport/durable/durable_call.h"
#include "tests/unit/grpc_transport/common/two_ends.h"
#include "tests/unit/grpc_transport/durable/durable_fixture.h"

namespace skein::grpc_transport {
namespace {

using testing::HasSubstr;

constexpr char kAdd[] = "/counter.Counter/Add";

class DurableMessagesTest : public DurableCallsTest {
 protected:
  // Methods that the server does not know go to `others`, or are answered with what they were sent.
  void OpenBoth(grpc::CallbackGenericService* others = nullptr) {
    if (others == nullptr) others = &echo_;
    configure_ = [others](grpc::ServerBuilder& builder) { builder.RegisterCallbackGenericService(others); };
    OpenServer();
    durable_->Start(*server_);
    auto channel =
        CreateDurableChannel(absl::StrCat("127.0.0.1:", port_), grpc::InsecureChannelCredentials(), arguments_, {});
    ASSERT_TRUE(channel.ok()) << channel.status();
    channel_ = *std::move(channel);
  }
  ~DurableMessagesTest() override { channel_.reset(); }

  static grpc::ByteBuffer AnAdd(int64_t amount) {
    AddRequest request;
    request.set_amount(amount);
    return BufferOf(request.SerializeAsString());
  }
  static int64_t TotalOf(const grpc::ByteBuffer& reply) {
    AddReply parsed;
    EXPECT_TRUE(parsed.ParseFromString(BytesOf(reply)));
    return parsed.total();
  }
  // By a stub of these types, which gets the reply by a callback.
  template <class Request, class Reply>
  grpc::Status Call(const std::string& method, const Request& request, Reply* reply) {
    grpc::TemplatedGenericStub<Request, Reply> stub(channel_);
    grpc::ClientContext context;
    SetDeadline(context);
    std::promise<grpc::Status> ended;
    stub.UnaryCall(&context, method, {}, &request, reply,
                   [&ended](grpc::Status status) { ended.set_value(std::move(status)); });
    return ended.get_future().get();
  }
  grpc::Status CallByQueue(const grpc::ByteBuffer& request, grpc::ByteBuffer* reply) {
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    SetDeadline(context);
    const auto call = stub.PrepareUnaryCall(&context, kAdd, request, &queue);
    grpc::Status status;
    call->StartCall();
    call->Finish(reply, &status, this);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return status;
  }

  Echo echo_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_P(DurableMessagesTest, AGenericStubGetsItsReplyAsBytes) {
  OpenBoth();
  grpc::ByteBuffer reply;
  grpc::Status status = Call(kAdd, AnAdd(3), &reply);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(TotalOf(reply), 3);
  status = CallByQueue(AnAdd(4), &reply);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(TotalOf(reply), 7);
  EXPECT_EQ(counter_->seen.size(), 2U) << "durable calls have a sequence";
}

TEST_P(DurableMessagesTest, AGenericStubsReactorToo) {
  class Reactor final : public grpc::ClientUnaryReactor {
   public:
    void OnDone(const grpc::Status& status) override { ended.set_value(status); }
    std::promise<grpc::Status> ended;
  } reactor;
  OpenBoth();
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::ByteBuffer request = AnAdd(5);
  grpc::ByteBuffer reply;
  stub.PrepareUnaryCall(&context, kAdd, {}, &request, &reply, &reactor);
  reactor.StartCall();
  const grpc::Status status = reactor.ended.get_future().get();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(TotalOf(reply), 5);
}

TEST_P(DurableMessagesTest, AnErrorLeavesAGenericStubsReplyAlone) {
  OpenBoth();
  grpc::ByteBuffer reply;
  EXPECT_EQ(Call(kAdd, AnAdd(-1), &reply).error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_FALSE(reply.Valid());
}

TEST_P(DurableMessagesTest, AReplyThatIsNoMessageOfItsTypeIsAnError) {
  OpenBoth();
  const grpc::ByteBuffer garbage = BufferOf("\xff\xff\xff");
  grpc::ByteBuffer echoed;
  ASSERT_TRUE(Call("/test.Echo/Call", garbage, &echoed).ok());
  EXPECT_EQ(BytesOf(echoed), "\xff\xff\xff");
  AddReply reply;
  const grpc::Status status = Call<grpc::ByteBuffer, google::protobuf::MessageLite>("/test.Echo/Call", garbage, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), HasSubstr("type"));
}

// By a blocking stub of protobuf, for which gRPC itself has no way out.
TEST_P(DurableMessagesTest, SoItIsForABlockingStub) {
  OpenBoth();
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::ByteBuffer garbage = BufferOf("\xff\xff\xff");
  AddReply reply;
  const grpc::internal::RpcMethod method("/test.Echo/Call", nullptr, grpc::internal::RpcMethod::NORMAL_RPC);
  const grpc::Status status =
      grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, AddReply, grpc::ByteBuffer, google::protobuf::MessageLite>(
          channel_.get(), method, &context, garbage, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
}

TEST_P(DurableMessagesTest, ACallWithoutAMessageIsRefused) {
  OpenBoth();
  grpc::ByteBuffer reply;
  EXPECT_EQ(Call(kAdd, grpc::ByteBuffer(), &reply).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(CallByQueue(grpc::ByteBuffer(), &reply).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_TRUE(Call(kAdd, AnAdd(1), &reply).ok());
}

// A server's handlers would see the mark.
TEST_P(DurableMessagesTest, AStreamsMarkStaysHere) {
  MetadataSeen handlers(grpc::StatusCode::ABORTED);
  class Reactor final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    void OnDone(const grpc::Status& status) override { ended.set_value(status); }
    std::promise<grpc::Status> ended;
  } reactor;
  OpenBoth(&handlers);
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  SetDeadline(context);
  std::promise<absl::Status> told;
  const DurableMark mark(context, [&told](const auto& level) { told.set_value(level.status()); });
  stub.PrepareBidiStreamingCall(&context, "/test.Echo/Call", {}, &reactor);
  reactor.StartCall();
  EXPECT_EQ(reactor.ended.get_future().get().error_code(), grpc::StatusCode::ABORTED);
  EXPECT_TRUE(absl::IsUnimplemented(told.get_future().get()));
  EXPECT_THAT(handlers.seen, testing::Not(testing::Contains(testing::StartsWith("skein-"))));
  CloseServer();  // it has the handlers
}

INSTANTIATE_TEST_SUITE_P(Modes, DurableMessagesTest, testing::Values("off", "require"),
                         [](const auto& mode) { return std::string(mode.param); });

}  // namespace
}  // namespace skein::grpc_transport
