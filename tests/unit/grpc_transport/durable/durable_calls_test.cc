// Durable calls by unchanged stubs and services, over TCP and over shared memory.
#include <atomic>

#include "tests/unit/grpc_transport/durable/durable_fixture.h"

namespace skein::grpc_transport {
namespace {

TEST_P(DurableCallsTest, AStubsCallsAreAnsweredAsEver) {
  OpenServer();
  durable_->Start(*server_);
  OpenClient();
  AddReply reply;
  for (int i = 1; i <= 20; ++i) {
    const grpc::Status status = Add(i, &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(reply.total(), i * (i + 1) / 2);
  }
  EXPECT_EQ(durable_->unfinished(), 0U);
}

TEST_P(DurableCallsTest, AnErrorIsTheAnswerToo) {
  OpenServer();
  durable_->Start(*server_);
  OpenClient();
  grpc::ClientContext context;
  SetDeadline(context);
  AddRequest request;
  request.set_amount(-1);
  AddReply reply;
  const grpc::Status status = stub_->Add(&context, request, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(status.error_message(), "it only grows");
  EXPECT_EQ(status.error_details(), "details");
  const auto& trailing = context.GetServerTrailingMetadata();
  ASSERT_EQ(trailing.count("served-by"), 1U);
  EXPECT_EQ(trailing.find("served-by")->second, "counter");
}

TEST_P(DurableCallsTest, PersistedIsToldWhileTheHandlerRuns) {
  OpenServer();
  std::promise<void> let_go;
  counter_->gate = let_go.get_future().share();
  durable_->Start(*server_);
  OpenClient();
  Marked call;
  call.Start(*stub_, 7);
  EXPECT_EQ(call.persisted.get_future().get().value(), durable_->level());
  std::future<grpc::Status> ended = call.ended.get_future();
  EXPECT_EQ(ended.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  let_go.set_value();
  EXPECT_TRUE(ended.get().ok());
  EXPECT_EQ(call.reply.total(), 7);
}

TEST_P(DurableCallsTest, AQueuesCallsToo) {
  OpenServer();
  durable_->Start(*server_);
  OpenClient();
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  SetDeadline(context);
  AddRequest request;
  request.set_amount(3);
  AddReply reply;
  grpc::Status status;
  const auto call = stub_->AsyncAdd(&context, request, &queue);
  call->Finish(&reply, &status, &reply);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(tag, &reply);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(reply.total(), 3);
}

TEST_P(DurableCallsTest, WhatTheServerHadNotExecutedItExecutesWhenItIsBack) {
  OpenServer();  // and takes calls, but executes none
  OpenClient({.every_call = true, .level = {}, .metadata = {"tenant"}, .max_calls = 100, .max_bytes = 1 << 20});
  std::vector<std::unique_ptr<Marked>> calls;
  for (int i = 1; i <= 10; ++i) {
    calls.push_back(std::make_unique<Marked>());
    calls.back()->context.AddMetadata("tenant", absl::StrCat("t", i));
    calls.back()->context.AddMetadata("secret", "s");
    calls.back()->Start(*stub_, i);
  }
  for (const auto& call : calls) ASSERT_TRUE(call->persisted.get_future().get().ok());
  EXPECT_EQ(durable_->unfinished(), 10U);
  CloseServer();
  OpenServer();
  durable_->Start(*server_);
  int64_t total = 0;
  for (int i = 1; i <= 10; ++i) {
    const grpc::Status status = calls[i - 1]->ended.get_future().get();
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(calls[i - 1]->reply.total(), total += i);
  }
  std::vector<std::string> expected;
  for (int i = 1; i <= 10; ++i) {
    expected.push_back(absl::StrCat("tenant=t", i));
    expected.push_back(absl::StrCat("skein-durable-sequence=", i));
  }
  EXPECT_EQ(counter_->seen, expected);
}

TEST_P(DurableCallsTest, AtItsDeadlineTheCallerIsToldAndTheCallGoesOn) {
  OpenServer();
  OpenClient();
  Marked call;
  SetDeadline(call.context, 1);
  call.Start(*stub_, 5);
  ASSERT_TRUE(call.persisted.get_future().get().ok());
  EXPECT_EQ(call.ended.get_future().get().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  durable_->Start(*server_);
  AddReply reply;
  ASSERT_TRUE(Add(1, &reply).ok());
  EXPECT_EQ(reply.total(), 6);
}

// Who hears of it may be gone after the reply.
TEST_P(DurableCallsTest, WhatIsNotPersistedAtItsDeadlineIsToldAheadOfTheReplyAndOnlyThen) {
  OpenServer();
  CloseServer();
  OpenClient();
  grpc::ClientContext context;
  SetDeadline(context, 1);
  std::vector<absl::StatusOr<std::string>> told;
  {
    const DurableMark mark(context, [&told](const auto& level) { told.push_back(level); });
    AddRequest request;
    AddReply reply;
    EXPECT_EQ(stub_->Add(&context, request, &reply).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(absl::IsDeadlineExceeded(told[0].status())) << told[0].status();
  OpenServer();
  durable_->Start(*server_);
  AddReply reply;
  EXPECT_TRUE(Add(1, &reply).ok());
  EXPECT_EQ(told.size(), 1U);
}

TEST_P(DurableCallsTest, WhoHearsOfItMayCancelTheCall) {
  OpenServer();
  OpenClient();
  grpc::ClientContext context;
  SetDeadline(context);
  const DurableMark mark(context, [&context](const auto&) { context.TryCancel(); });
  AddRequest request;
  AddReply reply;
  EXPECT_EQ(stub_->Add(&context, request, &reply).error_code(), grpc::StatusCode::CANCELLED);
}

// Who cancels holds gRPC's lock of the call as it does.
TEST_P(DurableCallsTest, SoMayWhoHearsThatItIsCancelled) {
  OpenServer();
  CloseServer();
  OpenClient();
  grpc::ClientContext context;
  AddRequest request;
  AddReply reply;
  std::promise<grpc::Status> ended;
  {
    const DurableMark mark(context, [&context](const auto&) { context.TryCancel(); });
    stub_->async()->Add(&context, &request, &reply,
                        [&ended](grpc::Status status) { ended.set_value(std::move(status)); });
  }
  context.TryCancel();
  EXPECT_EQ(ended.get_future().get().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_P(DurableCallsTest, ACallThatIsCancelledBeforeItBeginsIsNotMade) {
  OpenServer();
  durable_->Start(*server_);
  OpenClient();
  grpc::ClientContext context;
  context.TryCancel();
  AddRequest request;
  request.set_amount(5);
  AddReply reply;
  EXPECT_EQ(stub_->Add(&context, request, &reply).error_code(), grpc::StatusCode::CANCELLED);
  ASSERT_TRUE(Add(1, &reply).ok());  // of one client, one after the other
  EXPECT_EQ(reply.total(), 1);
}

TEST_P(DurableCallsTest, ACancelledCallEndsAtOnce) {
  OpenServer();
  OpenClient();
  Marked call;
  call.Start(*stub_, 5);
  ASSERT_TRUE(call.persisted.get_future().get().ok());
  call.context.TryCancel();
  EXPECT_EQ(call.ended.get_future().get().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_P(DurableCallsTest, OnlyMarkedCallsWhereThatIsAsked) {
  OpenServer();
  durable_->Start(*server_);
  DurableChannelOptions options;
  options.every_call = false;
  OpenClient(options);
  AddReply reply;
  ASSERT_TRUE(Add(1, &reply).ok());
  EXPECT_TRUE(counter_->seen.empty());  // an ordinary call has no sequence
  Marked call;
  call.Start(*stub_, 1);
  EXPECT_TRUE(call.persisted.get_future().get().ok());
  EXPECT_TRUE(call.ended.get_future().get().ok());
  EXPECT_EQ(counter_->seen, std::vector<std::string>{"skein-durable-sequence=1"});
}

TEST_P(DurableCallsTest, AServerWithoutDurableCallsSaysSo) {
  grpc::ServerBuilder builder;
  CounterService counter;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.AddChannelArgument("skein.mode", GetParam());
  builder.RegisterService(&counter);
  const auto server = builder.BuildAndStart();
  OpenClient();
  AddReply reply;
  const grpc::Status status = Add(1, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), testing::HasSubstr("takes no durable calls"));
  stub_.reset();
  server->Shutdown();
}

TEST_P(DurableCallsTest, WhoIsNotAdmittedIsToldSo) {
  options_.admit = [](const grpc::CallbackServerContext&) { return false; };
  OpenServer();
  durable_->Start(*server_);
  OpenClient();
  AddReply reply;
  EXPECT_EQ(Add(1, &reply).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_P(DurableCallsTest, ALevelThatTheLogHasNotIsAnError) {
  // A tmpfs, which keeps nothing without power.
  options_.path = absl::StrCat("/dev/shm/skein-durable-", getpid());
  OpenServer();
  durable_->Start(*server_);
  DurableChannelOptions options;
  options.level = "persistent";
  OpenClient(options);
  AddReply reply;
  const grpc::Status status = Add(1, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << status.error_message();
  EXPECT_FALSE(
      CreateDurableChannel("x", grpc::InsecureChannelCredentials(), arguments_,
                           {.every_call = true, .level = "solid", .metadata = {}, .max_calls = 1, .max_bytes = 1})
          .ok());
}

TEST_P(DurableCallsTest, TooManyAreRefusedAtOnce) {
  OpenServer();
  DurableChannelOptions options;
  options.max_calls = 1;
  OpenClient(options);
  Marked call;
  call.Start(*stub_, 5);
  ASSERT_TRUE(call.persisted.get_future().get().ok());
  AddReply reply;
  EXPECT_EQ(Add(1, &reply).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  durable_->Start(*server_);
  EXPECT_TRUE(call.ended.get_future().get().ok());
}

// Whose end is known before anybody waits for it.
TEST_P(DurableCallsTest, ARefusedCallMayGoAsItEnds) {
  OpenServer();
  DurableChannelOptions options;
  options.max_calls = 0;
  OpenClient(options);
  struct Call {
    grpc::ClientContext context;
    AddRequest request;
    AddReply reply;
  };
  constexpr int kCalls = 2000;
  std::atomic<int> left = kCalls;
  std::promise<void> all_ended;
  for (int i = 0; i < kCalls; ++i) {
    auto* const call = new Call;
    stub_->async()->Add(&call->context, &call->request, &call->reply, [&, call](const grpc::Status& status) {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      delete call;
      if (--left == 0) all_ended.set_value();
    });
  }
  all_ended.get_future().wait();
}

TEST_P(DurableCallsTest, WithTheChannelItsCallsEnd) {
  OpenServer();
  OpenClient();
  Marked call;
  call.Start(*stub_, 5);
  ASSERT_TRUE(call.persisted.get_future().get().ok());
  call.context.TryCancel();
  call.ended.get_future().wait();
  stub_.reset();  // nothing is left that the server would wait for
}

TEST_P(DurableCallsTest, StateThatIsMadeOfRepliesComesBack) {
  std::atomic<int64_t> safe = 0;
  const auto amount = [](const DurableReply& reply) {
    AddReply added;
    EXPECT_TRUE(added.ParseFromString(reply.message));
    EXPECT_EQ(reply.method, "/counter.Counter/Add");
    return added.amount();
  };
  options_.on_reply = [&safe, &amount](const DurableReply& reply) { safe += amount(reply); };
  OpenServer();
  durable_->Start(*server_);
  OpenClient();
  AddReply reply;
  for (int i = 1; i <= 100; ++i) ASSERT_TRUE(Add(i, &reply).ok());
  EXPECT_EQ(safe, 5050);
  CloseServer();
  OpenServer();
  int64_t restored = 0;
  ASSERT_TRUE(durable_->ForEachReply(0, [&](const DurableReply& safe_reply) { restored += amount(safe_reply); }).ok());
  EXPECT_EQ(restored, 5050);
}

INSTANTIATE_TEST_SUITE_P(Modes, DurableCallsTest, testing::Values("off", "require"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace skein::grpc_transport
