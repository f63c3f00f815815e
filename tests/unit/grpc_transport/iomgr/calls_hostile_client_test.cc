// A server's end of a connection, and a client that keeps to no rule.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpc_transport/iomgr/calls/call_endpoint.h"
#include "grpc_transport/iomgr/calls/call_transport.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/iomgr/calls_fake_connection.h"
#include "tests/unit/grpc_transport/iomgr/calls_test_stream.h"

namespace skein::grpc_transport {
namespace {

class HostileClientTest : public testing::Test {
 protected:
  HostileClientTest() {
    auto args = grpc_core::CoreConfiguration::Get().channel_args_preconditioning().PreconditionChannelArgs(nullptr);
    args = args.SetObject(quota_);
    transport_ = grpc_create_chttp2_transport(args, CallEndpoint::Create(connection_.get()), /*is_client=*/false);
    new CallTransport(transport_, *CallEndpoint::Of(transport_->vtable->get_endpoint(transport_)), false, args);
    grpc_transport_op* op = grpc_make_transport_op(nullptr);
    op->set_accept_stream = true;
    op->set_accept_stream_user_data = this;
    op->set_accept_stream_fn = [](void* self, ::grpc_transport* transport, const void* data) {
      static_cast<HostileClientTest*>(self)->calls_.push_back(new TestStream(transport, data));
    };
    grpc_transport_perform_op(transport_, op);
    grpc_chttp2_transport_start_reading(transport_, nullptr, nullptr, nullptr);
    exec_ctx_.Flush();
  }
  ~HostileClientTest() override {
    Disconnect();
    connection_.stuck = false;
    connection_.FinishWrite();
    exec_ctx_.Flush();
    for (TestStream* call : calls_) call->Unref();
    exec_ctx_.Flush();
    grpc_transport_destroy(transport_);
    exec_ctx_.Flush();
  }

  void Disconnect() {
    grpc_transport_op* op = grpc_make_transport_op(nullptr);
    op->disconnect_with_error = GRPC_ERROR_CREATE("the test's end");
    grpc_transport_perform_op(transport_, op);
    exec_ctx_.Flush();
  }
  static std::string Hello() { return Frame({.kind = FrameKind::kHello}, "agent"); }
  static std::string Begin(uint32_t call) { return Frame({.call = call, .kind = FrameKind::kCall, .flags = kInitial}); }
  bool HasEnded() const { return connection_.is_shut_down(); }

  struct Grpc {
    Grpc() { grpc_init(); }
    ~Grpc() { grpc_shutdown_blocking(); }
  } grpc_;
  grpc_core::ExecCtx exec_ctx_;
  const grpc_core::RefCountedPtr<grpc_core::ResourceQuota> quota_ =
      grpc_core::MakeRefCounted<grpc_core::ResourceQuota>("test");
  FakeConnection connection_;
  ::grpc_transport* transport_ = nullptr;
  std::vector<TestStream*> calls_;
};

TEST_F(HostileClientTest, ACallIsAccepted) {
  connection_.Deliver(Hello() + Begin(1));
  EXPECT_EQ(calls_.size(), 1);
  EXPECT_FALSE(HasEnded());
}

TEST_F(HostileClientTest, ACallBeforeTheUserAgentIsAProtocolError) {
  connection_.Deliver(Begin(1));
  EXPECT_EQ(calls_.size(), 0);
  EXPECT_TRUE(HasEnded());
}

TEST_F(HostileClientTest, ACallThatArrivesWhileTheConnectionEndsIsNotAccepted) {
  connection_.Deliver(Hello());
  connection_.stuck = true;
  Disconnect();
  connection_.FinishWrite();  // of GOAWAY; what follows is the last that calls say
  exec_ctx_.Flush();
  ASSERT_FALSE(HasEnded());
  connection_.Deliver(Begin(1));
  EXPECT_EQ(calls_.size(), 0) << "nobody would tell it that the connection has ended";
}

TEST_F(HostileClientTest, EmptyMessagesAreBounded) {
  std::string messages;
  const FrameHeader empty{.call = 1, .kind = FrameKind::kCall, .flags = kMessage};
  for (int64_t i = 0; i < kInitialWindow / kMessageCost; ++i) messages += Frame(empty);
  connection_.Deliver(Hello() + Begin(1) + messages);
  EXPECT_FALSE(HasEnded());
  connection_.Deliver(Frame(empty));
  EXPECT_TRUE(HasEnded());
}

TEST_F(HostileClientTest, AWindowIsBounded) {
  connection_.Deliver(Hello() + Begin(1));
  connection_.Deliver(Frame({.call = 1, .kind = FrameKind::kWindow, .number = UINT32_MAX - kInitialWindow}));
  EXPECT_FALSE(HasEnded());
  connection_.Deliver(Frame({.call = 1, .kind = FrameKind::kWindow, .number = 1}));
  EXPECT_TRUE(HasEnded());
}

TEST_F(HostileClientTest, MetadataThatIsCertainlyTooLongIsNotKept) {
  connection_.Deliver(Hello() + Frame({.call = 1, .kind = FrameKind::kCall, .flags = kInitial, .initial = 1 << 20},
                                      std::string(1 << 20, 'x')));
  const std::vector<FrameHeader> answer = connection_.Written();
  ASSERT_EQ(answer.size(), 1) << "before gRPC has asked for the metadata";
  EXPECT_EQ(answer[0].call, 1);
  EXPECT_EQ(answer[0].flags, kTrailing);
  EXPECT_FALSE(HasEnded());
}

TEST_F(HostileClientTest, ThePlaceholderMayBeResetByThePeer) {
  // What HTTP/2 begins with, and RST_STREAM.
  std::string http2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  http2 += std::string("\0\0\0\4\0\0\0\0\0", 9);
  connection_.Deliver(Hello() + Begin(1) + Frame({}, http2));
  const std::string reset("\0\0\4\3\0\x7f\xff\xff\xfe\0\0\0\0", 13);
  connection_.Deliver(Frame({}, reset));
  absl::SleepFor(absl::Milliseconds(20));  // so that the next call has chttp2's books looked at
  exec_ctx_.InvalidateNow();
  connection_.Deliver(Begin(2));
  EXPECT_EQ(calls_.size(), 2);
  EXPECT_FALSE(HasEnded());
}

TEST_F(HostileClientTest, CallsAreGivenUpWhereMemoryRunsOut) {
  connection_.Deliver(Hello() + Begin(1) + Begin(2));
  connection_.Written();
  quota_->memory_quota()->SetSize(1 << 20);
  grpc_core::MemoryOwner hog = quota_->memory_quota()->CreateMemoryOwner("hog");
  const grpc_core::MemoryAllocator::Reservation much = hog.MakeReservation(grpc_core::MemoryRequest(2 << 20));
  std::vector<FrameHeader> ends;
  for (const absl::Time end = absl::Now() + absl::Seconds(10); ends.size() < 2 && absl::Now() < end;) {
    exec_ctx_.Flush();
    for (const FrameHeader& frame : connection_.Written()) ends.push_back(frame);
  }
  ASSERT_GE(ends.size(), 2) << "what follows is the end of a connection without calls";
  EXPECT_EQ(ends[0].call + ends[1].call, 3);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(ends[i].kind, FrameKind::kEnd);
    EXPECT_EQ(ends[i].number, uint32_t{GRPC_STATUS_RESOURCE_EXHAUSTED});
  }
}

}  // namespace
}  // namespace skein::grpc_transport
