#include "grpc_transport/event_engine/server_tracing.h"

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>
#include <grpcpp/impl/server_builder_plugin.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "core/trace/tracer.h"
#include "grpc_transport/common/call_times.h"
#include "grpc_transport/common/negotiation.h"
#include "grpc_transport/event_engine/traced_connection.h"

namespace skein::grpc_transport {

// ServerBuilder::InternalAddPluginFactory, as libstdc++ has unique_ptr. A program may have gRPC without its C++
// library, or with another standard library's: then its servers' calls are not seen.
using NewPlugin = std::unique_ptr<grpc::ServerBuilderPlugin> (*)();
[[gnu::weak]] void AddPluginFactory(NewPlugin factory) __asm__(
    "_ZN4grpc13ServerBuilder24InternalAddPluginFactoryEPFSt10unique_ptrINS_19ServerBuilderPluginESt14default_deleteIS2_"
    "EEvE");

namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerInterceptorFactoryInterface;
using grpc::experimental::ServerRpcInfo;
using trace::At;
using trace::Stage;

// The interceptors that a program has set. ServerBuilder's setter replaces all of them, so Skein's has to be added to
// the member, which an explicit instantiation may name.
using Creators = std::vector<std::unique_ptr<ServerInterceptorFactoryInterface>>;
template <Creators grpc::ServerBuilder::*kMember>
struct Named {
  friend Creators& CreatorsOf(grpc::ServerBuilder& builder) { return builder.*kMember; }
};
Creators& CreatorsOf(grpc::ServerBuilder& builder);
template struct Named<&grpc::ServerBuilder::interceptor_creators_>;

// Lock: mu_. A stream's reads and writes may come at once.
class TracedServerCall final : public Interceptor {
 public:
  explicit TracedServerCall(ServerRpcInfo& info) : context_(*info.server_context()), method_(info.method()) {
    record_.side = trace::Side::kServer;
    At(record_.times, Stage::kDispatched) = trace::Now();
  }
  // The call is over: its reply has been written, if it ever will be.
  ~TracedServerCall() override {
    MutexLock lock(&mu_);
    if (!kept_ || At(record_.times, Stage::kHandlerEnd) == 0) return;
    const SentTimes sent = connection_->WrittenSince(At(record_.times, Stage::kHandlerEnd));
    if (sent.queued == 0) return;
    At(record_.times, Stage::kReplyQueued) = sent.queued;
    At(record_.times, Stage::kReplyPosted) = sent.departure.posted;
    record_.degree = sent.departure.degree;
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
    if (has(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) Began(batch);
    if (!kept_ && !wanted_) return;
    if (has(InterceptionHookPoints::POST_RECV_MESSAGE)) SetOnce(Stage::kHandlerStart);
    const bool ends = has(InterceptionHookPoints::PRE_SEND_STATUS);
    if (ends || has(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA) ||
        has(InterceptionHookPoints::PRE_SEND_MESSAGE)) {
      SetOnce(Stage::kHandlerEnd);
    }
    if (ends && wanted_) Tell(batch);
  }

  void Began(InterceptorBatchMethods& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    bool asked = false;
    if (auto* const initial = batch.GetRecvInitialMetadata(); initial != nullptr) {
      // The program at this end is not to see it.
      asked = initial->erase(grpc::string_ref(kTraceKey.data(), kTraceKey.size())) > 0;
    }
    char* const peer = grpc_call_get_peer(context_.c_call());
    std::vector<std::shared_ptr<TracedConnection>> found = TracedConnection::Find(Path::Role::kServer, peer);
    gpr_free(peer);
    wanted_ = asked;
    if (found.size() != 1) return;  // nobody asked for Skein there; or clients that share an address
    connection_ = std::move(found.front());
    wanted_ = asked || connection_->wanted_unasked();
    kept_ = trace::Enabled() && (wanted_ || trace::Sampled());
    if (!kept_ && !wanted_) return;
    const link::Arrival arrival = connection_->arrival();
    At(record_.times, Stage::kArrived) = arrival.arrived;
    if (!kept_) return;
    if (connection_->one_host()) At(record_.times, Stage::kPosted) = arrival.posted;
    record_.path = connection_->path();
    record_.method = trace::Methods().Intern(method_);
  }
  void SetOnce(Stage stage) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (At(record_.times, stage) == 0) At(record_.times, stage) = trace::Now();
  }
  void Tell(InterceptorBatchMethods& batch) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    auto* const trailing = batch.GetSendTrailingMetadata();
    if (trailing == nullptr) return;
    const ServerTimes times = {At(record_.times, Stage::kArrived), At(record_.times, Stage::kDispatched),
                               At(record_.times, Stage::kHandlerStart), At(record_.times, Stage::kHandlerEnd)};
    trailing->emplace(kTraceKey, EncodeTimes(times));
  }

  grpc::ServerContextBase& context_;
  const char* const method_;
  Mutex mu_;
  bool wanted_ ABSL_GUARDED_BY(mu_) = false;  // by the client, who is to be told
  bool kept_ ABSL_GUARDED_BY(mu_) = false;    // a record here, too
  std::shared_ptr<TracedConnection> connection_ ABSL_GUARDED_BY(mu_);
  trace::Record record_ ABSL_GUARDED_BY(mu_);
};

class Creator final : public ServerInterceptorFactoryInterface {
 public:
  Interceptor* CreateServerInterceptor(ServerRpcInfo* info) override {
    if (!trace::Enabled() && !TracedConnection::ClientsTrace()) return nullptr;
    return new TracedServerCall(*info);
  }
};

// The server that this thread builds has Skein's interceptor.
thread_local bool builds = false;

// A builder's. gRPC calls it in BuildAndStart, in the order of its functions; listeners are made between the first and
// the last of them.
class Plugin final : public grpc::ServerBuilderPlugin {
 public:
  static std::unique_ptr<grpc::ServerBuilderPlugin> New() { return std::make_unique<Plugin>(); }
  ~Plugin() override { builds = false; }
  void UpdateServerBuilder(grpc::ServerBuilder* builder) override {
    // Behind all others: it sees first what comes.
    CreatorsOf(*builder).push_back(std::make_unique<Creator>());
    builds = true;
  }
  void InitServer(grpc::ServerInitializer* /*server*/) override {}
  void Finish(grpc::ServerInitializer* /*server*/) override { builds = false; }
  void ChangeArguments(const std::string& /*name*/, void* /*value*/) override {}
  std::string name() override { return "skein"; }
};

}  // namespace

void ServerTracing::Begin() {
  if (AddPluginFactory != nullptr) AddPluginFactory(Plugin::New);
}

uint8_t ServerTracing::FeaturesOfNewListener() { return builds ? kAskedTimesFeature | kUnaskedTimesFeature : 0; }

}  // namespace skein::grpc_transport
