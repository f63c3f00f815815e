#include "grpc_transport/event_engine/client_tracing.h"

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_interceptor.h>

#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/trace/tracer.h"
#include "grpc_transport/common/call_times.h"
#include "grpc_transport/common/log.h"
#include "grpc_transport/event_engine/traced_connection.h"

// A program may have gRPC without its C++ library.
namespace grpc::experimental {
[[gnu::weak]] void RegisterGlobalClientInterceptorFactory(ClientInterceptorFactoryInterface* factory);
}  // namespace grpc::experimental
namespace grpc::internal {
[[gnu::weak]] extern experimental::ClientInterceptorFactoryInterface* g_global_client_interceptor_factory;
}  // namespace grpc::internal

namespace skein::grpc_transport {
namespace {

using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using trace::At;
using trace::Stage;

// What the server says of the call's times, if it does; the program does not see it. At POST_RECV_STATUS.
std::optional<ServerTimes> TakeServerTimes(InterceptorBatchMethods& batch) {
  std::multimap<grpc::string_ref, grpc::string_ref>* const trailing = batch.GetRecvTrailingMetadata();
  if (trailing == nullptr) return std::nullopt;
  const auto found = trailing->find(grpc::string_ref(kTraceKey.data(), kTraceKey.size()));
  if (found == trailing->end()) return std::nullopt;
  const std::optional<ServerTimes> times = DecodeTimes({found->second.data(), found->second.size()});
  trailing->erase(found);
  return times;
}

// Of a call that is not traced. One for all calls: gRPC takes each for its own, and destroys none.
class UntracedCall final : public Interceptor {
 public:
  static UntracedCall* OfAll() {
    static auto* const of_all = new UntracedCall;
    return of_all;
  }
  static void operator delete(UntracedCall* /*of_all*/, std::destroying_delete_t /*not*/) {}

  void Intercept(InterceptorBatchMethods* batch) override {
    if (batch->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_STATUS)) TakeServerTimes(*batch);
    batch->Proceed();
  }
};

// Lock: mu_. A stream's reads and writes may come at once.
class TracedClientCall final : public Interceptor {
 public:
  explicit TracedClientCall(ClientRpcInfo& info)
      : context_(*info.client_context()),
        one_request_(info.type() == ClientRpcInfo::Type::UNARY ||
                     info.type() == ClientRpcInfo::Type::SERVER_STREAMING) {
    At(record_.times, Stage::kSubmitted) = trace::Now();
    record_.method = trace::Methods().Intern(info.method());
  }
  // The program has let go of the call.
  ~TracedClientCall() override {
    MutexLock lock(&mu_);
    if (!complete_) return;
    At(record_.times, Stage::kReleased) = trace::Now();
    trace::Push(record_);
  }

  void Intercept(InterceptorBatchMethods* batch) override {
    Look(*batch);
    batch->Proceed();
  }

 private:
  void Look(InterceptorBatchMethods& batch) ABSL_LOCKS_EXCLUDED(mu_) {
    const auto has = [&batch](InterceptionHookPoints point) { return batch.QueryInterceptionHookPoint(point); };
    MutexLock lock(&mu_);
    // What gRPC would do next by itself, and ends the process as well if it fails.
    if (one_request_ && has(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      const grpc::ByteBuffer* const request = batch.GetSerializedSendMessage();
      record_.bytes = request == nullptr ? 0 : static_cast<uint32_t>(request->Length());
    }
    if (has(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      sent_ = trace::Now();
      next_write_.emplace();
    }
    if (has(InterceptionHookPoints::POST_RECV_STATUS)) Ended(batch);
  }

  void Ended(InterceptorBatchMethods& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    At(record_.times, Stage::kDelivered) = trace::Now();
    const std::optional<ServerTimes> server = TakeServerTimes(batch);
    const grpc::Status* const status = batch.GetRecvStatus();
    if (!server.has_value() && (status == nullptr || MayBeThisEnds(status->error_code()))) return;
    const std::shared_ptr<TracedConnection> connection = ConnectionOf();
    if (connection == nullptr) return;
    record_.path = connection->path();
    const ServerTimes times = server.value_or(ServerTimes());
    AddTimes(connection->WrittenSince(sent_), connection->CameSince(times.handler_end), times, *connection, record_);
    complete_ = true;
  }
  // Such a call may have ended without a reply.
  static bool MayBeThisEnds(grpc::StatusCode code) {
    return code == grpc::StatusCode::CANCELLED || code == grpc::StatusCode::DEADLINE_EXCEEDED ||
           code == grpc::StatusCode::UNAVAILABLE;
  }
  // Null: nobody asked for Skein there, or it is one of several.
  std::shared_ptr<TracedConnection> ConnectionOf() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    char* const peer = grpc_call_get_peer(context_.c_call());
    std::vector<std::shared_ptr<TracedConnection>> found = TracedConnection::Find(Path::Role::kClient, peer);
    gpr_free(peer);
    if (found.size() == 1) return found.front();
    for (std::shared_ptr<TracedConnection>& each : found) {
      if (next_write_.has_value() && next_write_->WasOf(*each)) return each;
    }
    return nullptr;
  }

  grpc::ClientContext& context_;
  const bool one_request_;
  Mutex mu_;
  trace::Record record_ ABSL_GUARDED_BY(mu_);
  uint64_t sent_ ABSL_GUARDED_BY(mu_) = 0;  // about: the connection's next write is the call's
  std::optional<TracedConnection::NextWrite> next_write_ ABSL_GUARDED_BY(mu_);
  bool complete_ ABSL_GUARDED_BY(mu_) = false;  // a reply came, with its status
};

class Factory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  static Factory* Get() {
    static auto* const factory = new Factory;
    return factory;
  }
  // Never null: gRPC takes this factory's at its word.
  Interceptor* CreateClientInterceptor(ClientRpcInfo* info) override {
    if (!trace::Sampled()) return UntracedCall::OfAll();
    return new TracedClientCall(*info);
  }
};

// Relaxed: hints; what they lead to is done once.
std::atomic<bool> connection_begun{false};
std::atomic<bool> begun{false};

}  // namespace

absl::Status ClientTracing::Possible() {
  if (&grpc::internal::g_global_client_interceptor_factory == nullptr) {
    return absl::UnimplementedError("calls are traced that a program makes by gRPC's C++ library, and it has none");
  }
  const auto* const set = grpc::internal::g_global_client_interceptor_factory;
  if (set == nullptr || set == Factory::Get()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "the program has a global client interceptor of its own, and gRPC takes no second one: no call of its clients "
      "can "
      "be "
      "traced");
}

void ClientTracing::ConnectionBegins() {
  connection_begun.store(true, std::memory_order_relaxed);
  if (trace::Enabled()) Begin();
}

void ClientTracing::Begin() {
  if (begun.load(std::memory_order_relaxed) || !connection_begun.load(std::memory_order_relaxed)) return;
  static absl::once_flag once;
  absl::call_once(once, [] {
    if (const absl::Status possible = Possible(); !possible.ok()) {
      Log(Severity::kInfo, absl::StrCat("skein: ", possible.message()));
    } else {
      grpc::experimental::RegisterGlobalClientInterceptorFactory(Factory::Get());
    }
    begun.store(true, std::memory_order_relaxed);
  });
}

}  // namespace skein::grpc_transport
