// Tracing by interceptors leaves the program's own alone, and what it says is not seen by the program.
#include <grpcpp/support/client_interceptor.h>
#include <grpcpp/support/server_interceptor.h>
#include <skein/grpc.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/common/two_ends.h"

namespace skein::grpc_transport {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience(20);

// Notes the names of metadata that begin as Skein's do, wherever the program could see them.
class Seen {
 public:
  template <class Metadata>
  void Note(const Metadata* metadata) {
    if (metadata == nullptr) return;
    for (const auto& [name, value] : *metadata) {
      const std::string text(name.data(), name.size());
      const std::lock_guard<std::mutex> lock(mu_);
      if (absl::StartsWith(text, "skein")) names_.push_back(text);
    }
  }
  std::vector<std::string> names() const {
    const std::lock_guard<std::mutex> lock(mu_);
    return names_;
  }
  std::atomic<int> calls = 0;

 private:
  mutable std::mutex mu_;
  std::vector<std::string> names_;
};

class ServersOwn final : public Interceptor {
 public:
  explicit ServersOwn(Seen& seen) : seen_(seen) {}
  void Intercept(InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      ++seen_.calls;
      seen_.Note(batch->GetRecvInitialMetadata());
    }
    batch->Proceed();
  }

 private:
  Seen& seen_;
};

class ServersOwnCreator final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ServersOwnCreator(Seen& seen) : seen_(seen) {}
  Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* /*info*/) override {
    return new ServersOwn(seen_);
  }

 private:
  Seen& seen_;
};

class InterceptorsTest : public TwoEnds {
 protected:
  InterceptorsTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.AddChannelArgument("skein.mode", "require");
    builder.RegisterCallbackGenericService(&intercepted_echo_);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> own;
    own.push_back(std::make_unique<ServersOwnCreator>(at_server_));
    builder.experimental().SetInterceptorCreators(std::move(own));
    intercepted_ = builder.BuildAndStart();
    grpc::ChannelArguments arguments;
    arguments.SetString("skein.mode", "require");
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_), grpc::InsecureChannelCredentials(), arguments));
  }

  // By the callback API. Notes what the program can see.
  grpc::Status CallBack() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const grpc::Slice slice(std::string(100, 'x'));
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer reply;
    std::promise<grpc::Status> ended;
    stub_->UnaryCall(&context, "/test.Echo/Back", grpc::StubOptions(), &request, &reply,
                     [&](grpc::Status status) { ended.set_value(std::move(status)); });
    grpc::Status status = ended.get_future().get();
    at_client_.Note(&context.GetServerInitialMetadata());
    at_client_.Note(&context.GetServerTrailingMetadata());
    return status;
  }

  Seen at_server_;
  Seen at_client_;
  Echo intercepted_echo_;
  std::unique_ptr<grpc::Server> intercepted_;
};

bool KnowsTheServer(const TracedCall& call) {
  for (const TracedInterval& interval : call.intervals) {
    if (call.client && interval.name == "handler") return true;
  }
  return false;
}

TEST_F(InterceptorsTest, NeitherEndSeesWhatTheOtherIsTold) {
  ASSERT_TRUE(CallBack().ok());
  std::atomic<int> told = 0;
  const absl::Cleanup none_later = [] { TraceCalls(0, nullptr).IgnoreError(); };
  ASSERT_TRUE(TraceCalls(1, [&](const TracedCall& call) {
                if (KnowsTheServer(call)) ++told;
              }).ok());
  for (const auto end = steady_clock::now() + kPatience; told < 20 && steady_clock::now() < end;) {
    ASSERT_TRUE(CallBack().ok());
  }
  EXPECT_GE(told, 20) << "the server told its times";
  EXPECT_THAT(at_server_.names(), testing::IsEmpty());
  EXPECT_THAT(at_client_.names(), testing::IsEmpty());
  ASSERT_TRUE(TraceCalls(0, nullptr).ok());
  ASSERT_TRUE(CallBack().ok());
  EXPECT_THAT(at_client_.names(), testing::IsEmpty());
}

TEST_F(InterceptorsTest, AServersOwnSeeEachCall) {
  ASSERT_TRUE(CallBack().ok());
  EXPECT_EQ(at_server_.calls, 1);
  const absl::Cleanup none_later = [] { TraceCalls(0, nullptr).IgnoreError(); };
  ASSERT_TRUE(TraceCalls(1, [](const TracedCall&) {}).ok());
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(CallBack().ok());
  EXPECT_EQ(at_server_.calls, 11);
}

TEST_F(InterceptorsTest, ServerAndClientAreTracedWhenOneCallOfManyIs) {
  ASSERT_TRUE(CallBack().ok());
  std::atomic<int> by_client = 0;
  std::atomic<int> by_server = 0;
  const absl::Cleanup none_later = [] { TraceCalls(0, nullptr).IgnoreError(); };
  ASSERT_TRUE(TraceCalls(10, [&](const TracedCall& call) { ++(call.client ? by_client : by_server); }).ok());
  int calls = 0;
  for (const auto end = steady_clock::now() + kPatience; by_client < 10 && steady_clock::now() < end; ++calls) {
    ASSERT_TRUE(CallBack().ok());
  }
  EXPECT_GE(by_client, 10);
  EXPECT_GT(by_server, 0);
  EXPECT_GT(calls, 40) << "the others were not traced";
  EXPECT_THAT(at_client_.names(), testing::IsEmpty()) << "those of other calls are taken out, too";
}

// Of the process, so this case has one of its own.
class OwnFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  class Own final : public Interceptor {
   public:
    void Intercept(InterceptorBatchMethods* batch) override { batch->Proceed(); }
  };
  Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo* /*info*/) override {
    ++calls;
    return new Own;
  }
  std::atomic<int> calls = 0;
};

TEST_F(InterceptorsTest, AProgramsGlobalInterceptorStaysAndTracingSaysWhyNot) {
  static OwnFactory own;
  grpc::experimental::RegisterGlobalClientInterceptorFactory(&own);
  const absl::Cleanup leaves = [] { grpc::experimental::TestOnlyResetGlobalClientInterceptorFactory(); };
  ASSERT_TRUE(CallBack().ok());
  const absl::Status status = TraceCalls(1, [](const TracedCall&) {});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("global client interceptor of its own"));
  ASSERT_TRUE(CallBack().ok());
  EXPECT_EQ(own.calls, 2);
}

}  // namespace
}  // namespace skein::grpc_transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!skein::grpc_transport::Init().ok()) return 1;
  return RUN_ALL_TESTS();
}
