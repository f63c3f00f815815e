// A client's stream of durable calls, at the server.
#ifndef SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_STREAM_H_
#define SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_STREAM_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>

#include "core/durable/calls/call_service.h"
#include "grpc_transport/durable/durable_call.h"
#include "grpc_transport/durable/write_queue.h"

namespace skein::grpc_transport {

// Lives until gRPC is done with it.
class DurableStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // With more than `most_unsent` bytes that the client does not read, it ends: the client may come back for them.
  DurableStream(durable::CallService& service, grpc::CallbackServerContext& context, uint64_t most_unsent)
      : context_(context),
        most_unsent_(most_unsent),
        session_(service.Connect([this](const std::string& message) { Write(message); },
                                 [this] {
                                   writes_.FinishWith({grpc::StatusCode::UNAVAILABLE, "durable calls end here"});
                                 })) {
    StartRead(&arrived_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return End(grpc::Status::OK);  // the client has nothing more to say, or is gone
    const absl::Status status = session_->OnMessage(BytesOf(arrived_));
    if (!status.ok()) return End(GrpcStatusOf(status));
    StartRead(&arrived_);
  }
  void OnWriteDone(bool ok) override { writes_.Written(ok); }
  void OnCancel() override { session_->Disconnected(); }
  void OnDone() override {
    session_->Disconnected();
    delete this;
  }

 private:
  void Write(const std::string& message) {
    const uint64_t unsent = writes_.Put(message);
    if (unsent <= most_unsent_ || unsent <= 2 * (message.size() + kCostOfMessage)) return;
    writes_.Break();
    context_.TryCancel();
  }
  void End(const grpc::Status& status) {
    session_->Disconnected();
    writes_.FinishWith(status);
  }

  grpc::CallbackServerContext& context_;
  const uint64_t most_unsent_;
  grpc::ByteBuffer arrived_;
  WriteQueue<DurableStream> writes_{*this};
  const std::shared_ptr<durable::CallSession> session_;
};

// A stream that is refused.
class RefusedStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_STREAM_H_
