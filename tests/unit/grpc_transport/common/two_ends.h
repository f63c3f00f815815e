// A gRPC client and server in this process, over shared memory.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_TWO_ENDS_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_TWO_ENDS_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/patient_ends.h"

namespace skein::grpc_transport {

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

// Refuses each call, and keeps the names of its metadata.
class MetadataSeen final : public grpc::CallbackGenericService {
 public:
  explicit MetadataSeen(grpc::StatusCode refusal) : refusal_(refusal) {}
  std::vector<std::string> seen;

 private:
  class Refusal final : public grpc::ServerGenericBidiReactor {
   public:
    explicit Refusal(grpc::StatusCode code) { Finish({code, "seen"}); }
    void OnDone() override { delete this; }
  };
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    for (const auto& [name, value] : context->client_metadata()) seen.emplace_back(name.data(), name.size());
    return new Refusal(refusal_);
  }

  const grpc::StatusCode refusal_;
};

// With `size` bytes, by a queue.
inline grpc::Status CallBy(grpc::GenericStub& stub, const std::string& method,
                           std::chrono::milliseconds patience = std::chrono::seconds(20), size_t size = 100) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  const grpc::Slice slice(std::string(size, 'x'));
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer reply;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, method, request, &queue);
  grpc::Status status;
  call->StartCall();
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return status;
}
inline grpc::Status CallOver(const std::shared_ptr<grpc::Channel>& channel, const std::string& method) {
  grpc::GenericStub stub(channel);
  return CallBy(stub, method);
}

// After Init().
class TwoEnds : public testing::Test {
 protected:
  // `most_calls`: that the server takes at once; 0: as many as there are.
  explicit TwoEnds(int most_calls = 0) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.AddChannelArgument("skein.mode", "require");
    if (most_calls > 0) builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, most_calls);
    builder.RegisterCallbackGenericService(&echo_);
    server_ = builder.BuildAndStart();
    grpc::ChannelArguments arguments;
    arguments.SetString("skein.mode", "require");
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_), grpc::InsecureChannelCredentials(), arguments));
  }

  grpc::Status Call(const std::string& method) { return CallBy(*stub_, method); }

  int port_ = 0;
  Echo echo_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_COMMON_TWO_ENDS_H_
