#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/support/client_callback.h>

#include <future>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "core/durable/storage/open_storage.h"
#include "grpc_transport/durable/durable_client.h"
#include "grpc_transport/durable/durable_stream.h"
#include "grpc_transport/durable/skein_durable.h"

namespace skein::grpc_transport {
namespace {

// Of calls that failed, and void ones, there is no reply.
void Tell(const durable::DurableOutcome& outcome, absl::FunctionRef<void(const DurableReply& reply)> tell) {
  const absl::StatusOr<LoggedEnd> end = DecodeEnd(outcome.reply);
  if (!end.ok() || !end->status.ok()) return;
  tell({.position = outcome.position,
        .client = std::string(outcome.client.begin(), outcome.client.end()),
        .sequence = outcome.sequence,
        .method = end->method,
        .message = end->message});
}

durable::CallServiceOptions OptionsOf(const DurableServiceOptions& options) {
  durable::CallServiceOptions result;
  result.threads = options.threads;
  result.ledger.slow_requests = options.slow_calls;
  result.ledger.kept_outcomes = options.kept_replies;
  result.ledger.kept_for = absl::FromChrono(options.kept_for);
  result.ledger.clients = options.clients;
  result.ledger.hold_outcomes = options.on_reply != nullptr;
  if (options.on_reply) {
    result.on_outcome = [tell = options.on_reply](const durable::DurableOutcome& outcome) { Tell(outcome, tell); };
  }
  return result;
}

Metadata Copy(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  Metadata copy;
  for (const auto& [name, value] : metadata) {
    copy.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  return copy;
}

}  // namespace

class DurableService::Impl final : public grpc::Service {
 public:
  explicit Impl(const DurableServiceOptions& options) : admit_(options.admit) {
    AddMethod(new grpc::internal::RpcServiceMethod(kSessionMethod, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
    MarkMethodRawCallback(0, new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                                 [this](grpc::CallbackServerContext* context) { return Accept(*context); }));
  }
  ~Impl() override { Stop(); }

  absl::Status Open(const DurableServiceOptions& options) {
    absl::StatusOr<std::unique_ptr<durable::Storage>> storage = durable::OpenStorage(options.path, options.bytes);
    if (!storage.ok()) return storage.status();
    auto calls = durable::CallService::Open(*std::move(storage), OptionsOf(options),
                                            [this](const durable::DurableCall& call) { return Execute(call); });
    if (!calls.ok()) return calls.status();
    calls_ = *std::move(calls);
    return absl::OkStatus();
  }
  void Start(grpc::Server& server) {
    stub_.emplace(server.InProcessChannel(grpc::ChannelArguments()));
    calls_->Start();
  }
  void Stop() {
    if (calls_ != nullptr) calls_->Stop();
  }
  durable::CallService& calls() const { return *calls_; }

 private:
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Accept(const grpc::CallbackServerContext& context) {
    if (admit_ && !admit_(context))
      return new RefusedStream({grpc::StatusCode::PERMISSION_DENIED, "no durable calls for this client"});
    return new DurableStream(*calls_);
  }

  // By one of the service's threads, which waits for the handler.
  std::string Execute(const durable::DurableCall& call) {
    const absl::StatusOr<LoggedCall> logged = DecodeCall(call.request);
    LoggedEnd end;
    if (logged.ok()) {
      end = CallHandler(call, *logged);
    } else {
      end.status = GrpcStatusOf(logged.status());
    }
    return Encode(end);
  }
  LoggedEnd CallHandler(const durable::DurableCall& call, const LoggedCall& logged) {
    grpc::ClientContext context;
    for (const auto& [name, value] : logged.metadata) context.AddMetadata(name, value);
    context.AddMetadata(kDurableClient, std::string(call.client.begin(), call.client.end()));
    context.AddMetadata(kDurableSequence, absl::StrCat(call.sequence));
    const grpc::ByteBuffer request = BufferOf(logged.message);
    grpc::ByteBuffer reply;
    std::promise<grpc::Status> ended;
    stub_->UnaryCall(&context, logged.method, grpc::StubOptions(), &request, &reply,
                     [&ended](grpc::Status status) { ended.set_value(std::move(status)); });
    LoggedEnd end{.method = logged.method, .status = ended.get_future().get(), .trailing = {}, .message = {}};
    end.trailing = Copy(context.GetServerTrailingMetadata());
    if (end.status.ok()) end.message = BytesOf(reply);
    return end;
  }

  const std::function<bool(const grpc::CallbackServerContext&)> admit_;
  std::optional<grpc::GenericStub> stub_;
  std::unique_ptr<durable::CallService> calls_;
};

DurableService::DurableService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DurableService::~DurableService() = default;

absl::StatusOr<std::unique_ptr<DurableService>> DurableService::Open(const DurableServiceOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  if (absl::Status status = impl->Open(options); !status.ok()) return status;
  return std::unique_ptr<DurableService>(new DurableService(std::move(impl)));
}

absl::Status DurableService::ForEachReply(uint64_t position, const std::function<void(const DurableReply&)>& visit) {
  return impl_->calls().ForEachOutcome(position,
                                       [&visit](const durable::DurableOutcome& outcome) { Tell(outcome, visit); });
}
void DurableService::Checkpoint(uint64_t position) { impl_->calls().Checkpoint(position); }

grpc::Service* DurableService::service() { return impl_.get(); }
void DurableService::Start(grpc::Server& server) { impl_->Start(server); }
void DurableService::Stop() { impl_->Stop(); }
std::string DurableService::level() const {
  return std::string(durable::PersistenceName(impl_->calls().persistence()));
}
absl::Status DurableService::health() const { return impl_->calls().health(); }
uint64_t DurableService::unfinished() const { return impl_->calls().load().unfinished; }

}  // namespace skein::grpc_transport
