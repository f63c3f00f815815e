// Servers that are shut down, and disks that fail, while clients go on calling; and clients that come and go.
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "gmock/gmock.h"
#include "tests/unit/grpc_transport/durable/durable_fixture.h"

namespace skein::grpc_transport {
namespace {

using testing::HasSubstr;

class DurableLoadTest : public DurableCallsTest {
 protected:
  static constexpr int kCallers = 4;

  DurableLoadTest() {
    options_.threads = kCallers;
    options_.bytes = 8 << 20;
  }
  // With a connection of its own.
  std::shared_ptr<counter::Counter::Stub> Client(int number) {
    grpc::ChannelArguments arguments = arguments_;
    arguments.SetInt("number", number);
    auto channel = CreateDurableChannel(absl::StrCat("127.0.0.1:", port_), grpc::InsecureChannelCredentials(),
                                        arguments, DurableChannelOptions());
    EXPECT_TRUE(channel.ok()) << channel.status();
    return counter::Counter::NewStub(*channel);
  }
  static grpc::Status AddOne(counter::Counter::Stub& stub) {
    grpc::ClientContext context;
    SetDeadline(context);
    AddRequest request;
    request.set_amount(1);
    AddReply reply;
    return stub.Add(&context, request, &reply);
  }
  // Until StopCallers, or something is no answer.
  void StartCallers() {
    for (int i = 0; i < kCallers; ++i) {
      callers_.emplace_back([this, stub = Client(i)] {
        grpc::Status status;
        while (!enough_ && (status = AddOne(*stub)).ok()) ++answered_;
        const std::lock_guard lock(mu_);
        if (!status.ok()) failures_.push_back(status);
      });
    }
  }
  void AwaitCalls(int count) {
    const int before = answered_;
    while (answered_ < before + count) {
      std::this_thread::yield();
      const std::lock_guard lock(mu_);
      ASSERT_TRUE(failures_.empty()) << failures_[0].error_code() << " " << failures_[0].error_message();
    }
  }
  void StopCallers() {
    enough_ = true;
    for (std::thread& caller : callers_) caller.join();
    callers_.clear();
  }
  void AwaitAllExecuted() {
    while (durable_->unfinished() > 0) std::this_thread::yield();
  }

  std::atomic<bool> enough_ = false;
  std::atomic<int> answered_ = 0;
  std::vector<std::thread> callers_;
  std::mutex mu_;
  std::vector<grpc::Status> failures_;
};

// What the server cut off counts as not executed; nothing calls a server that is gone.
TEST_P(DurableLoadTest, AShutdownAheadOfStopLosesNothing) {
  OpenServer();
  durable_->Start(*server_);
  StartCallers();
  for (int round = 0; round < 8; ++round) {
    AwaitCalls(50);
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(20));
    if (round % 2 == 0) server_.reset();
    durable_->Stop();
    server_.reset();
    durable_.reset();
    OpenServer();
    durable_->Start(*server_);
  }
  AwaitCalls(50);
  StopCallers();
  EXPECT_TRUE(failures_.empty());
}

TEST_P(DurableLoadTest, AHandlersUnavailableIsItsAnswer) {
  OpenServer();
  durable_->Start(*server_);
  OpenClient();
  AddReply reply;
  const grpc::Status status = Add(CounterService::kUnavailable, &reply);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "not now");
  EXPECT_EQ(counter_->seen.size(), 1U);
  EXPECT_TRUE(Add(1, &reply).ok());
}

// Also the one by which it calls itself.
TEST_P(DurableLoadTest, AServerThatLimitsTheAgeOfConnectionsGoesOn) {
  configure_ = [](grpc::ServerBuilder& builder) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, 50);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, 50);
  };
  OpenServer();
  durable_->Start(*server_);
  OpenClient();
  AddReply reply;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  int64_t calls = 0;
  for (; std::chrono::steady_clock::now() < end; ++calls) {
    const grpc::Status status = Add(1, &reply);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_GE(counter_->total, calls);  // what was cut off in the middle is executed again
}

TEST_P(DurableLoadTest, ClientsComeAndGo) {
  OpenServer();
  durable_->Start(*server_);
  std::atomic<int> number = 0;
  for (int i = 0; i < kCallers; ++i) {
    callers_.emplace_back([&] {
      for (int j = 0; j < 15; ++j) {
        const auto stub = Client(++number);
        for (int k = 0; k < 3; ++k) {
          const grpc::Status status = AddOne(*stub);
          EXPECT_TRUE(status.ok()) << status.error_message();
        }
        grpc::ClientContext context;  // and goes without an answer
        AddRequest request;
        AddReply reply;
        context.set_deadline(std::chrono::system_clock::now());
        stub->Add(&context, request, &reply);
      }
    });
  }
  StopCallers();
  EXPECT_EQ(counter_->total, kCallers * 15 * 3);
}

// Writes into files, and so the log's, fail: EFBIG. The log has a file's storage here, not a mapped one's.
TEST_P(DurableLoadTest, ADiskThatFailsLosesNothingThatWasAcknowledged) {
  OpenServer();  // takes calls, and executes none
  OpenClient();
  std::vector<std::unique_ptr<Marked>> calls;
  for (int i = 0; i < 10; ++i) {
    calls.push_back(std::make_unique<Marked>());
    calls.back()->Start(*stub_, 1);
  }
  for (const auto& call : calls) ASSERT_TRUE(call->persisted.get_future().get().ok());
  Marked unsafe;
  {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit nothing{.rlim_cur = 1, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &nothing);
    const absl::Cleanup healthy = [&limit] { setrlimit(RLIMIT_FSIZE, &limit); };
    unsafe.Start(*stub_, 1);
    const absl::Status why = unsafe.persisted.get_future().get().status();
    EXPECT_TRUE(absl::IsResourceExhausted(why)) << why;
    EXPECT_THAT(why.message(), HasSubstr("the server's redo log takes nothing more"));
    EXPECT_EQ(unsafe.ended.get_future().get().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_FALSE(durable_->health().ok());
    AddReply reply;
    EXPECT_EQ(Add(1, &reply).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    durable_->Start(*server_);
    CloseServer();
  }
  OpenServer();
  durable_->Start(*server_);
  for (const auto& call : calls) {
    const grpc::Status status = call->ended.get_future().get();
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  AwaitAllExecuted();
  EXPECT_EQ(counter_->total, 10) << "each once, and none that was not acknowledged";
  AddReply reply;
  EXPECT_TRUE(Add(1, &reply).ok());
}

INSTANTIATE_TEST_SUITE_P(Modes, DurableLoadTest, testing::Values("off", "require"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace skein::grpc_transport
