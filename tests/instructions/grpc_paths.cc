// A unary call of gRPC's, client and server on one completion queue and one thread: over Skein and all of gRPC above
// it; and over gRPC's in-process transport, which has no HTTP/2: what gRPC takes whatever is below. gRPC's other
// threads (timers, executors) are not counted: dumps are taken by thread.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <skein/grpc.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/instructions/hot_path.h"

namespace skein::instructions {
namespace {

constexpr char kMethod[] = "/instructions.Echo/Echo";

enum class Over { kSkein, kSkeinTraced, kInProcess };

class OneChannel {
 public:
  explicit OneChannel(Over over) {
    setenv("SKEIN_GRPC", "require", 1);
    // Under valgrind threads lose their processor for long, which would make them sleep at once for a while.
    setenv("SKEIN_WAIT_MODE", "poll", 1);
    Require(grpc_transport::Init().ok(), "Init");
    if (over == Over::kSkeinTraced) Require(grpc_transport::TraceCalls(1, nullptr).ok(), "tracing");
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.AddChannelArgument("grpc.http2.bdp_probe", 0);  // pings by the clock
    builder.RegisterAsyncGenericService(&service_);
    queue_ = builder.AddCompletionQueue();
    server_ = builder.BuildAndStart();
    Require(server_ != nullptr, "a server");
    grpc::ChannelArguments arguments;
    arguments.SetInt("grpc.http2.bdp_probe", 0);
    stub_ = std::make_unique<grpc::GenericStub>(
        over == Over::kInProcess ? server_->InProcessChannel(arguments)
                                 : grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                                             grpc::InsecureChannelCredentials(), arguments));
  }
  ~OneChannel() {
    server_->Shutdown(std::chrono::system_clock::now());
    queue_->Shutdown();
    void* tag = nullptr;
    for (bool ok = false; queue_->Next(&tag, &ok);) {
    }
  }

  void Call() {
    grpc::GenericServerContext serving;
    grpc::GenericServerAsyncReaderWriter stream(&serving);
    service_.RequestCall(&serving, &stream, queue_.get(), queue_.get(), &serving);
    grpc::ClientContext calling;
    grpc::ByteBuffer reply;
    grpc::Status status;
    auto call = stub_->PrepareUnaryCall(&calling, kMethod, request_, queue_.get());
    call->StartCall();
    call->Finish(&reply, &status, &calling);
    Await(&serving);
    grpc::ByteBuffer request;
    stream.Read(&request, &request);
    Await(&request);
    stream.WriteAndFinish(request, {}, grpc::Status::OK, &stream);
    Await(&stream);
    Await(&calling);
    Require(status.ok() && reply.Length() == request_.Length(), "a reply");
  }

 private:
  void Await(const void* tag) {
    if (early_ == tag) {
      early_ = nullptr;
      return;
    }
    for (;;) {
      void* got = nullptr;
      bool ok = false;
      Require(queue_->Next(&got, &ok) && ok, "a step of the call");
      if (got == tag) return;
      Require(early_ == nullptr, "one step comes early at most");
      early_ = got;
    }
  }

  const std::string text_ = std::string(64, 'x');
  const grpc::Slice slice_{text_};
  const grpc::ByteBuffer request_{&slice_, 1};
  grpc::AsyncGenericService service_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<grpc::GenericStub> stub_;
  const void* early_ = nullptr;
};

template <Over over>
Operation UnaryCall() {
  return [channel = std::make_shared<OneChannel>(over)] { channel->Call(); };
}

}  // namespace

std::vector<HotPath> GrpcPaths() {
  return {{"grpc.unary_call", 128, UnaryCall<Over::kSkein>},
          {"grpc.unary_call_traced", 128, UnaryCall<Over::kSkeinTraced>},
          {"grpc.unary_call_in_process", 128, UnaryCall<Over::kInProcess>}};
}

}  // namespace skein::instructions
