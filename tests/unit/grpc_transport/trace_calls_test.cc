// A program is told where the time of its calls goes, at both ends.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "gmock/gmock.h"
#include "grpc_transport/skein.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

using ::testing::Contains;

// Answers with what it was sent.
class Echo final : public grpc::CallbackGenericService {
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    Call() { StartRead(&bytes_); }
    void OnReadDone(bool ok) override {
      if (ok) StartWriteAndFinish(&bytes_, {}, grpc::Status::OK);
      if (!ok) Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

   private:
    grpc::ByteBuffer bytes_;
  };
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* /*context*/) override {
    return new Call;
  }
};

class TraceCallsTest : public testing::Test {
 protected:
  TraceCallsTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.AddChannelArgument("skein.mode", "require");
    builder.RegisterCallbackGenericService(&echo_);
    server_ = builder.BuildAndStart();
    grpc::ChannelArguments arguments;
    arguments.SetString("skein.mode", "require");
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_), grpc::InsecureChannelCredentials(), arguments));
  }

  grpc::Status Call(const std::string& method) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    const grpc::Slice slice(std::string(100, 'x'));
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer reply;
    grpc::CompletionQueue queue;
    const auto call = stub_->PrepareUnaryCall(&context, method, request, &queue);
    grpc::Status status;
    call->StartCall();
    call->Finish(&reply, &status, this);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) {
    }
    return status;
  }

  int port_ = 0;
  Echo echo_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

TEST_F(TraceCallsTest, EachEndTellsItsSideOfTheCall) {
  ASSERT_TRUE(Call("/test.Echo/Warm").ok());
  std::mutex mu;
  std::condition_variable both;
  std::map<bool, TracedCall> told;  // by whether it is the client's
  ASSERT_TRUE(TraceCalls(1, [&](const TracedCall& call) {
                const std::lock_guard<std::mutex> lock(mu);
                told[call.client] = call;
                both.notify_one();
              }).ok());
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(Call("/test.Echo/Call").ok());
  {
    // Each end is told when gRPC there has let go of the call.
    std::unique_lock<std::mutex> lock(mu);
    both.wait_for(lock, std::chrono::seconds(20), [&] { return told.size() == 2; });
  }
  const auto end = std::chrono::steady_clock::now();
  ASSERT_TRUE(TraceCalls(0, nullptr).ok());

  ASSERT_TRUE(told.contains(true));
  EXPECT_EQ(told[true].method, "/test.Echo/Call");
  EXPECT_EQ(told[true].path, "shm");
  EXPECT_GE(told[true].bytes, 100);
  EXPECT_GE(told[true].begin, begin);
  const TracedInterval& last = told[true].intervals.back();
  EXPECT_LE(told[true].begin + last.begin + last.length, end);
  EXPECT_EQ(told[true].intervals.front().name, "framework, client");
  EXPECT_THAT(told[true].intervals, Contains(testing::Field(&TracedInterval::work, "wire")));
  EXPECT_EQ(last.name, "return");
  ASSERT_TRUE(told.contains(false));
  EXPECT_EQ(told[false].method, "/test.Echo/Call");
  EXPECT_THAT(told[false].intervals, Contains(testing::Field(&TracedInterval::name, "handler")));
}

}  // namespace
}  // namespace skein::grpc_transport

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!skein::grpc_transport::Init().ok()) return 1;
  return RUN_ALL_TESTS();
}
