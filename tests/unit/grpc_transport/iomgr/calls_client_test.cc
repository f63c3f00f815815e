// A client's end of a connection: what becomes of calls that the server has not looked at.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "grpc_transport/iomgr/calls/call_endpoint.h"
#include "grpc_transport/iomgr/calls/call_transport.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/iomgr/calls_fake_connection.h"
#include "tests/unit/grpc_transport/iomgr/calls_test_stream.h"

namespace skein::grpc_transport {
namespace {

using NetworkState = grpc_core::GrpcStreamNetworkState;
// What gRPC hears, in order: "the channel" that its connection has ended, "the call" that the call is over.
using Heard = std::vector<std::string>;

// A client's call, and what gRPC does with it.
class ClientCall final : public TestStream {
 public:
  ClientCall(::grpc_transport* transport, Heard& heard) : TestStream(transport, nullptr), heard_(heard) {}

  std::function<void()> then = [] {};  // when it is over

  // Begins it, with a message, and asks for its status.
  void Begin(bool half_closes) {
    message_.AppendIndexed(grpc_core::Slice::FromStaticString("message"));
    op_.send_initial_metadata = op_.send_message = op_.recv_trailing_metadata = true;
    op_.send_trailing_metadata = half_closes;
    op_.payload = &payload_;
    op_.on_complete = GRPC_CLOSURE_INIT(&sent_, OnSent, this, nullptr);
    payload_.send_initial_metadata.send_initial_metadata = &initial_;
    payload_.send_message.send_message = &message_;
    payload_.send_trailing_metadata.send_trailing_metadata = &trailing_;
    payload_.recv_trailing_metadata.recv_trailing_metadata = &status_;
    payload_.recv_trailing_metadata.recv_trailing_metadata_ready = GRPC_CLOSURE_INIT(&over_, OnOver, this, nullptr);
    Perform(&op_);
  }
  // Another message, in a batch of its own.
  void SendMore() {
    more_op_.send_message = true;
    more_op_.payload = &more_payload_;
    more_op_.on_complete = GRPC_CLOSURE_INIT(&more_sent_, OnSent, this, nullptr);
    more_payload_.send_message.send_message = &more_;
    Perform(&more_op_);
  }
  void Cancel(const grpc_error_handle& why) {
    auto* const op = grpc_make_transport_stream_op(nullptr);
    op->cancel_stream = true;
    op->payload->cancel_stream.cancel_error = why;
    Perform(op);
  }
  // None: gRPC does not retry the call by itself.
  std::optional<NetworkState::ValueType> network_state() const {
    const auto state = status_.get(NetworkState());
    return state.has_value() ? std::optional(*state) : std::nullopt;
  }

 private:
  // As gRPC's retry filter has it.
  static void OnSent(void* self, grpc_error_handle error) {
    if (!error.ok()) static_cast<ClientCall*>(self)->Cancel(error);
  }
  static void OnOver(void* self, grpc_error_handle /*error*/) {
    static_cast<ClientCall*>(self)->heard_.emplace_back("the call");
    static_cast<ClientCall*>(self)->then();
  }
  Heard& heard_;
  grpc_core::MemoryAllocator allocator_ =
      grpc_core::ResourceQuota::Default()->memory_quota()->CreateMemoryAllocator("test");
  const grpc_core::ScopedArenaPtr arena_ = grpc_core::MakeScopedArena(1024, &allocator_);
  grpc_metadata_batch initial_{arena_.get()};
  grpc_metadata_batch trailing_{arena_.get()};
  grpc_metadata_batch status_{arena_.get()};
  grpc_core::SliceBuffer message_;
  grpc_core::SliceBuffer more_;
  grpc_transport_stream_op_batch op_;
  grpc_transport_stream_op_batch more_op_;
  grpc_transport_stream_op_batch_payload payload_{nullptr};
  grpc_transport_stream_op_batch_payload more_payload_{nullptr};
  grpc_closure sent_;
  grpc_closure more_sent_;
  grpc_closure over_;
};

// Of the channel.
class Watcher final : public grpc_core::ConnectivityStateWatcherInterface {
 public:
  explicit Watcher(Heard& heard) : heard_(heard) {}
  void Notify(grpc_connectivity_state state, const absl::Status& /*status*/) override {
    if (state == GRPC_CHANNEL_SHUTDOWN) heard_.emplace_back("the channel");
  }

 private:
  Heard& heard_;
};

class CallsClientTest : public testing::Test {
 protected:
  explicit CallsClientTest(uint32_t most_calls = UINT32_MAX) {
    const auto args =
        grpc_core::CoreConfiguration::Get().channel_args_preconditioning().PreconditionChannelArgs(nullptr).SetObject(
            grpc_core::ResourceQuota::Default());
    transport_ = grpc_create_chttp2_transport(args, CallEndpoint::Create(connection_.get()), /*is_client=*/true);
    // As if the server had said so.
    auto* const chttp2 = reinterpret_cast<grpc_chttp2_transport*>(transport_);
    chttp2->settings[GRPC_PEER_SETTINGS][GRPC_CHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS] = most_calls;
    new CallTransport(transport_, *CallEndpoint::Of(transport_->vtable->get_endpoint(transport_)), true, args);
    grpc_chttp2_transport_start_reading(transport_, nullptr, nullptr, nullptr);
    exec_ctx_.Flush();
  }
  ~CallsClientTest() override {
    grpc_transport_op* const op = grpc_make_transport_op(nullptr);
    op->disconnect_with_error = GRPC_ERROR_CREATE("the test's end");
    grpc_transport_perform_op(transport_, op);
    exec_ctx_.Flush();
    for (ClientCall* call : calls_) call->Unref();
    exec_ctx_.Flush();
    grpc_transport_destroy(transport_);
    exec_ctx_.Flush();
  }
  // The channel asks to hear of the connection's end.
  void Watch() {
    grpc_transport_op* const op = grpc_make_transport_op(nullptr);
    op->start_connectivity_watch = grpc_core::MakeOrphanable<Watcher>(heard_);
    op->start_connectivity_watch_state = GRPC_CHANNEL_READY;
    grpc_transport_perform_op(transport_, op);
  }
  bool ChannelHasHeard() const { return absl::c_linear_search(heard_, "the channel"); }
  ClientCall& NewCall() { return *calls_.emplace_back(new ClientCall(transport_, heard_)); }
  // A call, and where it is refused another at once, as gRPC retries, until the channel has heard.
  void Insist() {
    ClientCall& call = NewCall();
    call.then = [this, &call] {
      EXPECT_EQ(call.network_state(), NetworkState::kNotSentOnWire);
      if (!ChannelHasHeard() && calls_.size() < kManyCalls) Insist();
    };
    Later([&call] { call.Begin(/*half_closes=*/true); });
  }
  static void Later(std::function<void()> what) {
    const auto run = [what = std::move(what)](const grpc_error_handle& /*error*/) { what(); };
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, grpc_core::NewClosure(run), absl::OkStatus());
  }
  void RefuseByServer(ClientCall& call, bool half_closes) {
    call.Begin(half_closes);
    exec_ctx_.Flush();
    connection_.Deliver(Frame({.call = 1, .kind = FrameKind::kRefused}));
    ASSERT_EQ(heard_, Heard{"the call"});
  }

  static constexpr size_t kManyCalls = 1000;
  struct Grpc {
    Grpc() { grpc_init(); }
    ~Grpc() { grpc_shutdown_blocking(); }
  } grpc_;
  grpc_core::ExecCtx exec_ctx_;
  FakeConnection connection_;
  ::grpc_transport* transport_ = nullptr;
  Heard heard_;
  std::vector<ClientCall*> calls_;
};

// All of it on one thread, which owns chttp2's combiner: gRPC runs all closures before it goes on there.
TEST_F(CallsClientTest, AWatchOfTheConnectionsEndIsAnsweredThoughACallIsRetriedAtOnce) {
  Watch();
  exec_ctx_.Flush();
  connection_.Break();
  Insist();
  exec_ctx_.Flush();
  EXPECT_TRUE(ChannelHasHeard());
  EXPECT_LT(calls_.size(), kManyCalls) << "they kept the news from the channel";
}

// A connection that is lost as soon as it is there.
TEST_F(CallsClientTest, AWatchBehindTheConnectionsEndIsAnsweredThoughACallIsRetriedAtOnce) {
  connection_.Break();
  Insist();
  Later([this] { Later([this] { Watch(); }); });  // when the end is in the combiner already
  exec_ctx_.Flush();
  EXPECT_TRUE(ChannelHasHeard());
  EXPECT_LT(calls_.size(), kManyCalls) << "they kept the question from chttp2";
}

TEST_F(CallsClientTest, GrpcRetriesACallThatTheServerRefuses) {
  ClientCall& call = NewCall();
  RefuseByServer(call, /*half_closes=*/true);
  EXPECT_EQ(call.network_state(), NetworkState::kNotSeenByServer);
}

// gRPC 1.51 loses messages of a call that it retries while the program goes on sending.
TEST_F(CallsClientTest, GrpcDoesNotRetryACallThatTheServerRefusesIfItStreamsItsRequests) {
  ClientCall& call = NewCall();
  RefuseByServer(call, /*half_closes=*/false);
  EXPECT_EQ(call.network_state(), std::nullopt);
}

TEST_F(CallsClientTest, GrpcRetriesACallBehindTheConnectionsEndOfWhichItSendsTwoBatches) {
  connection_.Break();
  exec_ctx_.Flush();
  ClientCall& call = NewCall();
  call.Begin(/*half_closes=*/false);
  call.SendMore();
  exec_ctx_.Flush();
  EXPECT_EQ(call.network_state(), NetworkState::kNotSentOnWire);
}

TEST_F(CallsClientTest, ACallThatIsCancelledWhileItIsRefusedIsOverOnceAndNotRetried) {
  connection_.Break();
  exec_ctx_.Flush();
  ClientCall& call = NewCall();
  call.Begin(/*half_closes=*/true);
  call.Cancel(absl::CancelledError());
  exec_ctx_.Flush();
  EXPECT_EQ(heard_, Heard{"the call"});
  EXPECT_EQ(call.network_state(), std::nullopt);
}

// The server takes one at a time.
class OneCallClientTest : public CallsClientTest {
 protected:
  OneCallClientTest() : CallsClientTest(1) {}
  void BeginBoth() {
    for (ClientCall* call : {&first_, &waiting_}) call->Begin(/*half_closes=*/true);
    exec_ctx_.Flush();
  }

  ClientCall& first_ = NewCall();
  ClientCall& waiting_ = NewCall();
};

TEST_F(OneCallClientTest, GrpcRetriesTheCallThatStillWaitsForItsTurnAtTheConnectionsEnd) {
  BeginBoth();
  connection_.Break();
  exec_ctx_.Flush();
  EXPECT_EQ(first_.network_state(), std::nullopt) << "the server may have it";
  EXPECT_EQ(waiting_.network_state(), NetworkState::kNotSentOnWire);
}

TEST_F(OneCallClientTest, GrpcRetriesTheCallWhoseTurnComesWhenNothingIsWrittenAnyMore) {
  connection_.stuck = true;
  BeginBoth();
  connection_.FinishWrite(GRPC_ERROR_CREATE("broken"));
  Later([this] { first_.Cancel(absl::CancelledError()); });  // before the read hears of it
  exec_ctx_.Flush();
  EXPECT_EQ(waiting_.network_state(), NetworkState::kNotSentOnWire);
}

}  // namespace
}  // namespace skein::grpc_transport
