#include "tests/system/load/grpc_service.h"

#include "tests/system/load/load.grpc.pb.h"
#include "tests/system/load/pattern.h"
#include "tests/system/load/queue_service.h"

namespace skein::load {
namespace {

class SyncService final : public Load::Service {
 public:
  grpc::Status Echo(grpc::ServerContext*, const Payload* request, Payload* reply) override {
    *reply = *request;
    return grpc::Status::OK;
  }
  grpc::Status Chat(grpc::ServerContext*, grpc::ServerReaderWriter<Payload, Payload>* stream) override {
    Payload message;
    while (stream->Read(&message) && stream->Write(message)) {
    }
    return grpc::Status::OK;
  }
  grpc::Status Get(grpc::ServerContext*, const Order* order, grpc::ServerWriter<Payload>* writer) override {
    Payload message;
    for (uint32_t i = 0; i < order->messages(); ++i) {
      message.set_data(Pattern(order->bytes(), order->seed() + i));
      if (!writer->Write(message)) break;
    }
    return grpc::Status::OK;
  }
  grpc::Status Put(grpc::ServerContext*, grpc::ServerReader<Payload>* reader, Order* reply) override {
    Payload message;
    while (reader->Read(&message)) reply->set_bytes(reply->bytes() + message.data().size());
    return grpc::Status::OK;
  }
};

// gRPC's reactors live until it says that they are done.
class ChatReactor final : public grpc::ServerBidiReactor<Payload, Payload> {
 public:
  ChatReactor() { StartRead(&message_); }

 private:
  void OnReadDone(bool ok) override { ok ? StartWrite(&message_) : Finish(grpc::Status::OK); }
  void OnWriteDone(bool ok) override { ok ? StartRead(&message_) : Finish(grpc::Status::OK); }
  void OnDone() override { delete this; }

  Payload message_;
};

class GetReactor final : public grpc::ServerWriteReactor<Payload> {
 public:
  explicit GetReactor(const Order& order) : order_(order) { Go(); }

 private:
  void OnWriteDone(bool ok) override { ok ? Go() : Finish(grpc::Status::OK); }
  void OnDone() override { delete this; }
  void Go() {
    if (written_ == order_.messages()) return Finish(grpc::Status::OK);
    message_.set_data(Pattern(order_.bytes(), order_.seed() + written_++));
    StartWrite(&message_);
  }

  const Order order_;
  uint32_t written_ = 0;
  Payload message_;
};

class PutReactor final : public grpc::ServerReadReactor<Payload> {
 public:
  explicit PutReactor(Order& reply) : reply_(reply) { StartRead(&message_); }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    reply_.set_bytes(reply_.bytes() + message_.data().size());
    StartRead(&message_);
  }
  void OnDone() override { delete this; }

  Order& reply_;
  Payload message_;
};

class CallbackService final : public Load::CallbackService {
 public:
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Payload* request,
                                 Payload* reply) override {
    *reply = *request;
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerBidiReactor<Payload, Payload>* Chat(grpc::CallbackServerContext*) override { return new ChatReactor; }
  grpc::ServerWriteReactor<Payload>* Get(grpc::CallbackServerContext*, const Order* order) override {
    return new GetReactor(*order);
  }
  grpc::ServerReadReactor<Payload>* Put(grpc::CallbackServerContext*, Order* reply) override {
    return new PutReactor(*reply);
  }
};

// Whose methods gRPC calls by itself.
template <typename Service>
class CalledService final : public LoadService {
 public:
  void AddTo(grpc::ServerBuilder& builder) override { builder.RegisterService(&service_); }

 private:
  Service service_;
};

}  // namespace

std::unique_ptr<LoadService> NewLoadService(absl::string_view api) {
  if (api == "sync") return std::make_unique<CalledService<SyncService>>();
  if (api == "callback") return std::make_unique<CalledService<CallbackService>>();
  if (api == "queue") return NewQueueService();
  return nullptr;
}

}  // namespace skein::load
