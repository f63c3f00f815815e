// Durable calls that are too large or illegal, clients that are hostile, and servers that go.
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <thread>

#include "core/durable/calls/message.h"
#include "gmock/gmock.h"
#include "grpc_transport/durable/durable_call.h"
#include "grpc_transport/durable/durable_client.h"
#include "tests/support/descriptor_limit.h"
#include "tests/system/probe.grpc.pb.h"
#include "tests/unit/grpc_transport/durable/durable_fixture.h"

namespace skein::grpc_transport {
namespace {

using testing::HasSubstr;

class DurableFailuresTest : public DurableCallsTest {
 protected:
  // A stream of durable calls, whose client says what it likes.
  struct RawStream {
    explicit RawStream(const std::shared_ptr<grpc::Channel>& channel) : stub(channel) {
      SetDeadline(context);
      stream = stub.PrepareCall(&context, kSessionMethod, &queue);
      stream->StartCall(this);
      EXPECT_TRUE(Next());
    }
    ~RawStream() {
      context.TryCancel();
      queue.Shutdown();
      void* tag = nullptr;
      bool ok = false;
      while (queue.Next(&tag, &ok)) {
      }
    }
    bool Next() {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    }
    bool Say(const std::string& message) {
      stream->Write(BufferOf(message), this);
      return Next();
    }
    std::string Hear() {
      grpc::ByteBuffer message;
      stream->Read(&message, this);
      return Next() ? BytesOf(message) : "";
    }
    // How the next of its calls that ends has ended.
    absl::StatusOr<LoggedEnd> HearEnd() {
      for (;;) {
        const std::string message = Hear();
        const absl::StatusOr<durable::ServerMessage> heard = durable::DecodeServerMessage(message);
        if (!heard.ok()) return heard.status();
        if (heard->kind == durable::ServerMessageKind::kReply) return DecodeEnd(heard->bytes);
      }
    }
    // Reads what had come before.
    grpc::Status End() {
      grpc::ByteBuffer more;
      do {
        stream->Read(&more, this);
      } while (Next());
      grpc::Status status;
      stream->Finish(&status, this);
      Next();
      return status;
    }

    grpc::GenericStub stub;
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
  };
  std::shared_ptr<grpc::Channel> Channel() {
    return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port_), grpc::InsecureChannelCredentials(), arguments_);
  }
  static std::string AnAdd(Metadata metadata) {
    AddRequest request;
    request.set_amount(1);
    return Encode(LoggedCall{
        .method = "/counter.Counter/Add", .metadata = std::move(metadata), .message = request.SerializeAsString()});
  }
};

// What is in the log already must not end the server each time it starts.
TEST_P(DurableFailuresTest, IllegalMetadataInTheLogIsAnErrorOfItsCallAlone) {
  OpenServer();  // takes calls, and executes none
  const std::vector<Metadata> illegal = {
      {{"bad key", "v"}}, {{"key", "\x01\xff"}}, {{kDurableSequence, "4711"}}, {{":path", "/x"}}, {{"", ""}}};
  std::optional<RawStream> raw(Channel());
  ASSERT_TRUE(raw->Say(durable::HelloMessage(durable::ClientId{7}, std::nullopt)));
  uint64_t sequence = 0;
  for (const Metadata& metadata : illegal) {
    ASSERT_TRUE(raw->Say(durable::CallMessage(++sequence, 0, durable::MakeRequest(AnAdd(metadata)))));
  }
  ASSERT_TRUE(raw->Say(durable::CallMessage(++sequence, 0, durable::MakeRequest(AnAdd({{"key", "v"}})))));
  while (durable_->unfinished() < sequence) std::this_thread::yield();
  raw.reset();
  CloseServer();
  OpenServer();
  durable_->Start(*server_);
  while (durable_->unfinished() > 0) std::this_thread::yield();
  EXPECT_EQ(counter_->seen, std::vector<std::string>{absl::StrCat("skein-durable-sequence=", sequence)});
  OpenClient();
  AddReply reply;
  EXPECT_TRUE(Add(1, &reply).ok());
}

// Its handler would have one of the service's threads for ever, again after each start.
TEST_P(DurableFailuresTest, AStreamIsNoDurableCall) {
  class Endless final : public probe::Probe::Service {
    grpc::Status Hold(grpc::ServerContext* context, const probe::Payload*,
                      grpc::ServerWriter<probe::Payload>*) override {
      while (!context->IsCancelled()) std::this_thread::yield();
      return grpc::Status::CANCELLED;
    }
  } endless;
  configure_ = [&endless](grpc::ServerBuilder& builder) { builder.RegisterService(&endless); };
  OpenServer();
  durable_->Start(*server_);
  {
    RawStream raw(Channel());
    ASSERT_TRUE(raw.Say(durable::HelloMessage(durable::ClientId{7}, std::nullopt)));
    uint64_t sequence = 0;
    for (const char* method :
         {"/skein.probe.Probe/Hold", kSessionMethod, "/skein.Durable/Presence", "/grpc.health.v1.Health/Watch"}) {
      const std::string call = Encode(LoggedCall{.method = method, .metadata = {}, .message = {}});
      ASSERT_TRUE(raw.Say(durable::CallMessage(++sequence, 0, durable::MakeRequest(call))));
      const absl::StatusOr<LoggedEnd> end = raw.HearEnd();
      ASSERT_TRUE(end.ok()) << end.status();
      EXPECT_EQ(end->status.error_code(), grpc::StatusCode::UNIMPLEMENTED) << method;
    }
    const std::string unary = Encode(LoggedCall{.method = "/skein.probe.Probe/Echo", .metadata = {}, .message = {}});
    ASSERT_TRUE(raw.Say(durable::CallMessage(++sequence, 0, durable::MakeRequest(unary))));
    EXPECT_TRUE(raw.HearEnd().ok());
  }
  OpenClient();
  AddReply reply;
  EXPECT_TRUE(Add(1, &reply).ok());
}

// The stream's end comes by gRPC's threads for callbacks, of which there are few: none of them may wait for it.
TEST_P(DurableFailuresTest, AllCallbackThreadsAtOnceMayLetGoOfTheirChannels) {
  struct Owner {
    std::unique_ptr<counter::Counter::Stub> stub;  // it and the context are all that have the channel
    std::unique_ptr<grpc::ClientContext> context = std::make_unique<grpc::ClientContext>();
    AddRequest request;
    AddReply reply;
    std::promise<void> let_go;
  };
  OpenServer();
  durable_->Start(*server_);
  const size_t threads = std::clamp(std::thread::hardware_concurrency() / 2, 2U, 16U);  // gRPC's
  std::vector<std::unique_ptr<Owner>> owners;
  for (size_t i = 0; i < threads; ++i) {
    auto channel =
        CreateDurableChannel(absl::StrCat("127.0.0.1:", port_), grpc::InsecureChannelCredentials(), arguments_, {});
    owners.push_back(std::make_unique<Owner>());
    owners.back()->stub = counter::Counter::NewStub(*channel);
  }
  std::atomic<size_t> waiting = threads;
  for (const auto& each : owners) {
    Owner* const owner = each.get();
    SetDeadline(*owner->context);
    owner->stub->async()->Add(owner->context.get(), &owner->request, &owner->reply, [owner, &waiting](grpc::Status) {
      --waiting;
      while (waiting > 0) std::this_thread::yield();  // each of them has one of the threads
      owner->context.reset();
      owner->stub.reset();
      owner->let_go.set_value();
    });
  }
  for (const auto& owner : owners) {
    if (owner->let_go.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready) continue;
    std::cerr << "gRPC's threads wait for each other, and this test for them\n";
    std::_Exit(1);
  }
}

TEST_P(DurableFailuresTest, IllegalMetadataOfACallIsItsError) {
  OpenServer();
  durable_->Start(*server_);
  OpenClient({.every_call = true, .level = {}, .metadata = {"tenant"}, .max_calls = 100, .max_bytes = 1 << 20});
  Marked call;
  call.context.AddMetadata("tenant", "\x01");
  call.Start(*stub_, 1);
  EXPECT_TRUE(absl::IsInvalidArgument(call.persisted.get_future().get().status()));
  const grpc::Status status = call.ended.get_future().get();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("tenant"));
  AddReply reply;
  EXPECT_TRUE(Add(1, &reply).ok());
  EXPECT_FALSE(CreateDurableChannel(
                   "x", grpc::InsecureChannelCredentials(), arguments_,
                   {.every_call = true, .level = {}, .metadata = {"grpc-timeout"}, .max_calls = 1, .max_bytes = 1})
                   .ok());
}

TEST_P(DurableFailuresTest, ACallThatIsTooLargeFailsAlone) {
  options_.bytes = 64 << 20;
  OpenServer();
  durable_->Start(*server_);
  OpenClient();
  grpc::ClientContext context;
  SetDeadline(context);
  AddRequest request;
  request.set_amount(1);
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(1000, std::string(5 << 20, 'x'));
  AddReply reply;
  const grpc::Status status = stub_->Add(&context, request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
  EXPECT_TRUE(Add(1, &reply).ok());
  grpc::ClientContext almost;
  SetDeadline(almost);
  request.GetReflection()->MutableUnknownFields(&request)->Clear();
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(
      1000, std::string(options_.max_call_bytes - 200, 'x'));
  EXPECT_TRUE(stub_->Add(&almost, request, &reply).ok());
}

TEST_P(DurableFailuresTest, AClientThatDoesNotReadIsCutOff) {
  OpenServer();
  durable_->Start(*server_);
  RawStream raw(Channel());
  ASSERT_TRUE(raw.Say(durable::HelloMessage(durable::ClientId{7}, std::nullopt)));
  ASSERT_TRUE(raw.Say(durable::CallMessage(1, 0, durable::MakeRequest(AnAdd({})))));
  while (counter_->total == 0 || durable_->unfinished() > 0) std::this_thread::yield();
  int asked = 0;
  while (asked < 200'000 && raw.Say(durable::AskMessage(1))) ++asked;
  EXPECT_LT(asked, 200'000);
  EXPECT_EQ(raw.End().error_code(), grpc::StatusCode::CANCELLED);
  OpenClient();
  AddReply reply;
  EXPECT_TRUE(Add(1, &reply).ok());
}

TEST_P(DurableFailuresTest, WithoutThreadsThereIsNoService) {
  options_.threads = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(DurableService::Open(options_).status()));
}

TEST_P(DurableFailuresTest, AnyBytesEndTheirStreamAlone) {
  OpenServer();
  durable_->Start(*server_);
  OpenClient();
  AddReply reply;
  ASSERT_TRUE(Add(1, &reply).ok());
  for (const std::string& bytes : {std::string("\x7f"), std::string(), std::string(1000, '\xff'),
                                   durable::AskMessage(1), durable::CallMessage(1, 0, "x")}) {
    RawStream raw(Channel());
    raw.Say(bytes);  // false, if the server has ended the stream before this end hears of its write
    EXPECT_EQ(raw.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_TRUE(Add(1, &reply).ok());
}

// Shutdown comes first: what it cuts off is executed by the next server, once more.
TEST_P(DurableFailuresTest, AServerThatIsShutDownBeforeStopLosesNothing) {
  OpenServer();
  counter_->until_cancelled = true;
  OpenClient();
  std::vector<std::unique_ptr<Marked>> calls;
  for (int i = 0; i < 50; ++i) {
    calls.push_back(std::make_unique<Marked>());
    calls.back()->Start(*stub_, 1);
  }
  for (const auto& call : calls) ASSERT_TRUE(call->persisted.get_future().get().ok());
  durable_->Start(*server_);
  while (!counter_->entered) std::this_thread::yield();
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  durable_->Stop();
  EXPECT_GE(durable_->unfinished(), 49u);
  server_.reset();
  durable_.reset();
  OpenServer();
  durable_->Start(*server_);
  for (const auto& call : calls) {
    const grpc::Status status = call->ended.get_future().get();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
}

TEST_P(DurableFailuresTest, WithoutDescriptorsItStartsAndStops) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP();
  OpenServer();
  OpenClient();
  Marked call;
  call.Start(*stub_, 1);
  ASSERT_TRUE(call.persisted.get_future().get().ok());
  {
    const DescriptorLimit none(0);
    durable_->Start(*server_);  // an executor has the call, and no connection to make it by
    durable_->Stop();
  }
  EXPECT_EQ(durable_->unfinished(), 1u);
  CloseServer();
  OpenServer();
  durable_->Start(*server_);
  EXPECT_TRUE(call.ended.get_future().get().ok());
}

TEST_P(DurableFailuresTest, AServerMayStopWhileItIsCalled) {
  OpenServer();
  durable_->Start(*server_);
  OpenClient();
  std::atomic<bool> enough = false;
  std::atomic<int> answered = 0;
  std::vector<std::thread> callers(3);
  for (std::thread& caller : callers) {
    caller = std::thread([&] {
      AddReply reply;
      while (!enough) answered += Add(1, &reply).ok();
    });
  }
  for (int round = 0; round < 5; ++round) {
    const int before = answered;
    while (answered < before + 20) std::this_thread::yield();
    CloseServer();
    OpenServer();
    durable_->Start(*server_);
  }
  enough = true;
  for (std::thread& caller : callers) caller.join();
}

INSTANTIATE_TEST_SUITE_P(Modes, DurableFailuresTest, testing::Values("off", "require"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace skein::grpc_transport
