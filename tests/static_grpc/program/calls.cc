// A server and a client of a gRPC that is linked in, in one process on shared memory: callers poll while they wait,
// calls are traced, and a connection from a descriptor stays gRPC's own. Prints what holds of that.
#include <grpc/grpc.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/callback_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/server_posix.h>
#include <skein/grpc.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <iostream>
#include <memory>
#include <string>

namespace {

constexpr int kCalls = 500;

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

grpc::ByteBuffer Request() {
  const grpc::Slice slice(std::string(64, 'x'));
  return {&slice, 1};
}

void Prepare(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
}

// By grpc_completion_queue_pluck.
bool CallBlocking(grpc::Channel& channel) {
  grpc::ClientContext context;
  Prepare(context);
  grpc::ByteBuffer reply;
  const grpc::internal::RpcMethod method("/test.Echo/Call", grpc::internal::RpcMethod::NORMAL_RPC);
  return grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(&channel, method, &context, Request(),
                                                                               &reply)
      .ok();
}

// By grpc_completion_queue_next.
bool CallByQueue(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  Prepare(context);
  grpc::ByteBuffer reply;
  grpc::Status status;
  grpc::CompletionQueue queue;
  grpc::GenericStub stub(channel);
  const auto call = stub.PrepareUnaryCall(&context, "/test.Echo/Call", Request(), &queue);
  call->StartCall();
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return status.ok();
}

// The callback API's callers wait for what they like, and poll nothing.
bool CallBack(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  Prepare(context);
  const grpc::ByteBuffer request = Request();
  grpc::ByteBuffer reply;
  std::promise<bool> ended;
  grpc::GenericStub stub(channel);
  stub.UnaryCall(&context, "/test.Echo/Call", grpc::StubOptions(), &request, &reply,
                 [&ended](const grpc::Status& status) { ended.set_value(status.ok()); });
  return ended.get_future().get();
}

// Of this thread: how often it has gone to sleep.
int64_t Sleeps() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
}

// Whether the caller of many calls polls while it waits for them, as it always does with SKEIN_WAIT_MODE=poll.
template <class Call>
bool Poll(const char* how, Call call) {
  const int64_t before = Sleeps();
  for (int i = 0; i < kCalls; ++i) {
    if (!call()) return false;
  }
  const int64_t slept = Sleeps() - before;
  std::cout << how << (slept < kCalls / 4 ? ": callers poll" : ": callers sleep") << " (" << slept << " times in "
            << kCalls << " calls)\n";
  return true;
}

bool Trace(grpc::Channel& channel) {
  std::atomic<int> client = 0;
  std::atomic<int> server = 0;
  const absl::Status status =
      skein::grpc_transport::TraceCalls(1, [&](const skein::TracedCall& call) { ++(call.client ? client : server); });
  if (!status.ok()) std::cerr << status << "\n";
  for (int i = 0; i < kCalls && status.ok(); ++i) {
    if (!CallBlocking(channel)) return false;
  }
  skein::grpc_transport::TraceCalls(0, nullptr).IgnoreError();
  if (client > 0 && server > 0) std::cout << "both ends are traced\n";
  return true;
}

bool FromDescriptors(grpc::Server& server) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) return false;
  grpc::AddInsecureChannelFromFd(&server, ends[0]);
  const auto channel = grpc::CreateInsecureChannelFromFd("descriptor", ends[1]);
  if (!CallBlocking(*channel)) return false;
  std::cout << "a connection from descriptors is gRPC's own\n";
  return true;
}

}  // namespace

int main() {
  if (const absl::Status status = skein::grpc_transport::Init(); !status.ok()) {
    std::cerr << status.message() << "\n";
    return 1;
  }
  Echo service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddChannelArgument("skein.mode", "require");
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  grpc::ChannelArguments arguments;
  arguments.SetString("skein.mode", "require");
  const auto channel =
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials(), arguments);
  if (!CallBlocking(*channel)) return 1;
  for (const skein::Path& path : skein::Paths()) {
    if (path.role == skein::Path::Role::kClient) std::cout << "over " << path.path << "\n";
  }
  const bool well = Poll("pluck", [&] { return CallBlocking(*channel); }) &&
                    Poll("next", [&] { return CallByQueue(channel); }) &&
                    Poll("callback", [&] { return CallBack(channel); }) && Trace(*channel) && FromDescriptors(*server);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  return well ? 0 : 1;
}
