#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <skein/grpc_durable.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/durable/replicas/open_replicated.h"
#include "grpc_transport/durable/durable_client.h"
#include "grpc_transport/durable/durable_stream.h"
#include "grpc_transport/durable/loopback_client.h"

namespace skein::grpc_transport {
namespace {

// Of an end's encoding, beside its message; with some trailing metadata.
constexpr uint64_t kEndOverhead = 256;
constexpr uint64_t kLeastUnsent = uint64_t{1} << 20;

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

// gRPC's own service, which it serves without protobuf.
constexpr absl::string_view kHealthWatch = "/grpc.health.v1.Health/Watch";

// Whether a call of "/package.Service/Method" ends with its one reply: a stream, which a client may name, need not end
// at all. Of services that protobuf does not know, nobody can tell.
bool IsUnary(absl::string_view method) {
  if (absl::StartsWith(method, kOwnService) || method == kHealthWatch) return false;
  std::string name(absl::StripPrefix(method, "/"));
  std::replace(name.begin(), name.end(), '/', '.');
  const auto* const known = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name);
  return known == nullptr || (!known->client_streaming() && !known->server_streaming());
}

durable::CallServiceOptions OptionsOf(const DurableServiceOptions& options) {
  durable::CallServiceOptions result;
  result.threads = options.threads;
  result.largest_request = options.max_call_bytes;
  result.ledger.outcome_room = options.reserved_reply_bytes + kEndOverhead;
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

}  // namespace

class DurableService::Impl final : public grpc::Service {
 public:
  explicit Impl(const DurableServiceOptions& options)
      : admit_(options.admit),
        max_reply_bytes_(options.max_reply_bytes),
        max_unsent_(options.bytes / 4 + kLeastUnsent) {
    AddMethod(new grpc::internal::RpcServiceMethod(kSessionMethod, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
    MarkMethodRawCallback(0, new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                                 [this](grpc::CallbackServerContext* context) { return Accept(*context); }));
    AddMethod(new grpc::internal::RpcServiceMethod(kPresenceMethod, grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRawCallback(
        1, new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
               [this](grpc::CallbackServerContext* context, const grpc::ByteBuffer* said, grpc::ByteBuffer* answer) {
                 return loopback_client_.OnPresence(*context, *said, *answer);
               }));
  }
  ~Impl() override { Stop(); }

  absl::Status Open(const DurableServiceOptions& options) {
    if (options.threads < 1) return absl::InvalidArgumentError("durable calls need a thread that executes them");
    absl::StatusOr<std::unique_ptr<durable::Storage>> storage =
        durable::OpenReplicatedStorage(options.path, options.bytes,
                                       {.replicas = options.replicas,
                                        .acknowledge = options.acknowledge,
                                        .patience = absl::FromChrono(options.replica_patience)});
    if (!storage.ok()) return storage.status();
    auto calls = durable::CallService::Open(*std::move(storage), OptionsOf(options),
                                            [this](const durable::DurableCall& call) { return Execute(call); });
    if (!calls.ok()) return calls.status();
    calls_ = *std::move(calls);
    return absl::OkStatus();
  }
  void Start(grpc::Server& server) {
    loopback_client_.Open(server);
    calls_->Start();
  }
  void Stop() {
    loopback_client_.BeginClose();  // who waits for a connection waits no more
    if (calls_ != nullptr) calls_->Stop();
    loopback_client_.Close();
  }
  durable::CallService& calls() const { return *calls_; }

 private:
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Accept(grpc::CallbackServerContext& context) {
    if (admit_ && !admit_(context))
      return new RefusedStream({grpc::StatusCode::PERMISSION_DENIED, "no durable calls for this client"});
    return new DurableStream(*calls_, context, max_unsent_);
  }

  // By one of the service's threads, which waits for the handler.
  std::optional<std::string> Execute(const durable::DurableCall& call) {
    absl::StatusOr<LoggedCall> logged = DecodeCall(call.request);
    if (!logged.ok()) return Encode(LoggedEnd{.status = GrpcStatusOf(logged.status())});
    if (!IsUnary(logged->method)) {
      return Encode(
          LoggedEnd{.method = logged->method, .status = {grpc::StatusCode::UNIMPLEMENTED, "durable calls are unary"}});
    }
    logged->metadata.emplace_back(kDurableClient, std::string(call.client.begin(), call.client.end()));
    logged->metadata.emplace_back(kDurableSequence, absl::StrCat(call.sequence));
    const std::optional<LoggedEnd> end = loopback_client_.Call(*logged);
    return end.has_value() ? std::optional(Outcome(*end)) : std::nullopt;
  }
  // Its stream would end with a reply that is too large, and with each that comes after it.
  std::string Outcome(const LoggedEnd& end) const {
    std::string outcome = Encode(end);
    if (outcome.size() <= max_reply_bytes_) return outcome;
    return Encode(
        LoggedEnd{.method = end.method,
                  .status = {grpc::StatusCode::RESOURCE_EXHAUSTED,
                             absl::StrCat("executed; but its reply is ", outcome.size(),
                                          " bytes, of which the server's durable calls take ", max_reply_bytes_)}});
  }

  const std::function<bool(const grpc::CallbackServerContext&)> admit_;
  const uint64_t max_reply_bytes_;
  const uint64_t max_unsent_;
  LoopbackClient loopback_client_;
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
