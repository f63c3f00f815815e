#include "bench/macro/echo_services.h"

namespace skein::bench {
namespace {

class SyncEcho final : public Echo::Service {
  grpc::Status Call(grpc::ServerContext*, const Payload* request, Payload* reply) override {
    reply->set_data(request->data());
    return grpc::Status::OK;
  }
  grpc::Status Chat(grpc::ServerContext*, grpc::ServerReaderWriter<Payload, Payload>* stream) override {
    for (Payload message; stream->Read(&message);) {
      if (!stream->Write(message)) break;
    }
    return grpc::Status::OK;
  }
};

class ChatReactor final : public grpc::ServerBidiReactor<Payload, Payload> {
 public:
  ChatReactor() { StartRead(&message_); }

 private:
  void OnReadDone(bool ok) override { ok ? StartWrite(&message_) : Finish(grpc::Status::OK); }
  void OnWriteDone(bool ok) override { ok ? StartRead(&message_) : Finish(grpc::Status::OK); }
  void OnDone() override { delete this; }

  Payload message_;
};

class CallbackEcho final : public Echo::CallbackService {
  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const Payload* request,
                                 Payload* reply) override {
    reply->set_data(request->data());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerBidiReactor<Payload, Payload>* Chat(grpc::CallbackServerContext*) override { return new ChatReactor; }
};

}  // namespace

std::unique_ptr<grpc::Service> NewEchoService(absl::string_view style) {
  if (style == "callback") return std::make_unique<CallbackEcho>();
  return std::make_unique<SyncEcho>();
}

}  // namespace skein::bench
