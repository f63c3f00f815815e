// A server whose calls may be durable, and a client of it, over TCP and over shared memory.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_DURABLE_DURABLE_FIXTURE_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_DURABLE_DURABLE_FIXTURE_H_

#include <grpcpp/grpcpp.h>
#include <skein/grpc_durable.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "examples/counter/counter.grpc.pb.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {

using counter::AddReply;
using counter::AddRequest;

// Adds so many bytes of a field that nobody knows, and a few.
inline void Fill(google::protobuf::Message& message, size_t bytes) {
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(1000, std::string(bytes, 'x'));
}

// Adds up. A negative amount is an error, and kUnavailable gRPC's own; as long as the gate is shut, nothing is
// answered.
class CounterService final : public counter::Counter::Service {
 public:
  grpc::Status Add(grpc::ServerContext* context, const AddRequest* request, AddReply* reply) override {
    entered = true;
    if (gate.valid()) gate.wait();
    while (until_cancelled && !context->IsCancelled()) std::this_thread::yield();
    const std::lock_guard lock(mu);
    for (const char* name : {"tenant", "secret", kDurableSequence}) {
      const auto found = context->client_metadata().find(name);
      if (found == context->client_metadata().end()) continue;
      seen.push_back(absl::StrCat(name, "=", absl::string_view(found->second.data(), found->second.size())));
    }
    context->AddTrailingMetadata("served-by", "counter");
    if (request->amount() == kUnavailable) return {grpc::StatusCode::UNAVAILABLE, "not now"};
    if (request->amount() < 0) return {grpc::StatusCode::OUT_OF_RANGE, "it only grows", "details"};
    total += request->amount();
    reply->set_amount(request->amount());
    reply->set_total(total);
    if (reply_bytes > 0) Fill(*reply, reply_bytes);
    return grpc::Status::OK;
  }
  static constexpr int64_t kUnavailable = -14;
  std::shared_future<void> gate;
  std::atomic<bool> until_cancelled = false;  // each call lasts
  std::atomic<bool> entered = false;
  size_t reply_bytes = 0;  // and more, of a reply
  std::mutex mu;
  std::vector<std::string> seen;  // of what one thread executes
  int64_t total = 0;
};

// By the mode of Skein: "off" is TCP.
class DurableCallsTest : public testing::TestWithParam<const char*> {
 protected:
  static constexpr int kPatienceMs = 20'000;

  DurableCallsTest() {
    char folder[] = "/tmp/skein-durable-XXXXXX";
    folder_ = mkdtemp(folder);
    options_.path = folder_ + "/log";
    options_.bytes = 1 << 20;
    options_.threads = 1;
    arguments_.SetString("skein.mode", GetParam());
    arguments_.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
    // Of one attempt, and of the negotiation within it: a machine may stand still for seconds.
    arguments_.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kPatienceMs);
    arguments_.SetInt("skein.negotiation_timeout", kPatienceMs);
    arguments_.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 50);
  }
  ~DurableCallsTest() override {
    stub_.reset();
    CloseServer();
    unlink(options_.path.c_str());
    rmdir(folder_.c_str());
  }

  void OpenServer() {
    auto durable = DurableService::Open(options_);
    ASSERT_TRUE(durable.ok()) << durable.status();
    durable_ = *std::move(durable);
    counter_ = std::make_unique<CounterService>();
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat("127.0.0.1:", port_), grpc::InsecureServerCredentials(), &port_);
    builder.AddChannelArgument("skein.mode", GetParam());
    builder.AddChannelArgument("skein.negotiation_timeout", kPatienceMs);
    builder.RegisterService(counter_.get());
    builder.RegisterService(durable_->service());
    if (configure_) configure_(builder);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void CloseServer() {
    if (server_ == nullptr) return;
    durable_->Stop();
    server_->Shutdown();
    server_.reset();
    durable_.reset();
  }
  void OpenClient(const DurableChannelOptions& options = {}) {
    auto channel = CreateDurableChannel(absl::StrCat("127.0.0.1:", port_), grpc::InsecureChannelCredentials(),
                                        arguments_, options);
    ASSERT_TRUE(channel.ok()) << channel.status();
    stub_ = counter::Counter::NewStub(*channel);
  }
  static void SetDeadline(grpc::ClientContext& context, int seconds = 20) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(seconds));
  }
  grpc::Status Add(int64_t amount, AddReply* reply, size_t filled = 0) {
    grpc::ClientContext context;
    SetDeadline(context);
    AddRequest request;
    request.set_amount(amount);
    if (filled > 0) Fill(request, filled);
    return stub_->Add(&context, request, reply);
  }

  std::string folder_;
  DurableServiceOptions options_;
  std::function<void(grpc::ServerBuilder& builder)> configure_;
  grpc::ChannelArguments arguments_;
  int port_ = 0;
  std::unique_ptr<CounterService> counter_;
  std::unique_ptr<DurableService> durable_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<counter::Counter::Stub> stub_;
};

// A call under way, and what is told of it.
struct Marked {
  grpc::ClientContext context;
  AddRequest request;
  AddReply reply;
  std::promise<absl::StatusOr<std::string>> persisted;
  std::promise<grpc::Status> ended;

  void Start(counter::Counter::Stub& stub, int64_t amount) {
    request.set_amount(amount);
    const DurableMark mark(context, [this](const auto& level) { persisted.set_value(level); });
    stub.async()->Add(&context, &request, &reply, [this](grpc::Status status) { ended.set_value(std::move(status)); });
  }
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_DURABLE_DURABLE_FIXTURE_H_
