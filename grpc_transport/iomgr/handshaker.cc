#include "grpc_transport/iomgr/handshaker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/forked.h"
#include "core/trace/counters.h"
#include "grpc_transport/iomgr/calls/call_endpoint.h"
#include "grpc_transport/iomgr/errors.h"
#include "grpc_transport/iomgr/skein_endpoint.h"
#include "grpc_transport/iomgr/tcp_endpoint.h"

namespace skein::grpc_transport {
namespace {

constexpr uint8_t kCallsFeature = 1;  // of a negotiation: frames of calls beside HTTP/2's

}  // namespace

Handshaker::Handshaker(Path::Role role, absl::StatusOr<Options> options) : role_(role), options_(std::move(options)) {
  BeginUse();
  grpc_slice_buffer_init(&outgoing_);
  GRPC_CLOSURE_INIT(&on_timer_, OnTimer, this, nullptr);
  GRPC_CLOSURE_INIT(&on_read_, OnReadDone, this, nullptr);
  GRPC_CLOSURE_INIT(&on_write_inline_, OnWriteDoneInline, this, nullptr);
  GRPC_CLOSURE_INIT(&on_write_, OnWriteDone, this, nullptr);
}

Handshaker::~Handshaker() { grpc_slice_buffer_destroy(&outgoing_); }

void Handshaker::DoHandshake(grpc_tcp_server_acceptor* /*acceptor*/, grpc_closure* on_done,
                             grpc_core::HandshakerArgs* args) {
  MutexLock lock(&mu_);
  args_ = args;
  on_done_ = on_done;
  UseConnection(args->endpoint);
  if (shut_down_) return Fail(Unavailable("shut down before the negotiation"));
  if (!options_.ok()) {
    const std::string message = absl::StrCat("skein: ", options_.status().message());
    gpr_log(GPR_ERROR, "%s", message.c_str());  // a server has nobody else to tell
    return Fail(Unavailable(message));
  }
  Begin();
}

void Handshaker::Shutdown(grpc_error_handle why) {
  MutexLock lock(&mu_);
  if (std::exchange(shut_down_, true) || finished()) return;
  // What is out fails, and that ends the negotiation.
  if (args_->endpoint != nullptr) grpc_endpoint_shutdown(args_->endpoint, std::move(why));
  OnShutdown();
}

void Handshaker::Read() {
  if (timed_out_) return OnTimeout();
  reading_ = true;
  Ref().release();
  reader_->Read(&on_read_);
}

void Handshaker::Wait() {
  waiting_ = true;
  if (timed_out_ && EndWaiting()) OnTimeout();
}

void Handshaker::OnReadDone(void* arg, grpc_error_handle error) {
  grpc_core::RefCountedPtr<Handshaker> self(static_cast<Handshaker*>(arg));
  MutexLock lock(&self->mu_);
  self->reading_ = false;
  if (self->finished()) return;
  if (!error.ok()) return self->OnLost(error);
  self->reader_->MoveInto(self->args_->read_buffer);
  self->OnBytes();
}

void Handshaker::Write(absl::string_view bytes) {
  Ref().release();
  grpc_slice_buffer_add(&outgoing_, grpc_slice_from_copied_buffer(bytes.data(), bytes.size()));
  grpc_endpoint_write(args_->endpoint, &outgoing_, &on_write_inline_, nullptr, /*max_frame_size=*/INT_MAX);
}

// Called under mu_ when the write ends at once.
void Handshaker::OnWriteDoneInline(void* arg, grpc_error_handle error) {
  grpc_core::ExecCtx::Run(DEBUG_LOCATION, &static_cast<Handshaker*>(arg)->on_write_, std::move(error));
}

void Handshaker::OnWriteDone(void* arg, grpc_error_handle error) {
  grpc_core::RefCountedPtr<Handshaker> self(static_cast<Handshaker*>(arg));
  MutexLock lock(&self->mu_);
  grpc_slice_buffer_reset_and_unref(&self->outgoing_);
  if (self->finished()) return;
  if (!error.ok()) return self->OnLost(error);
  self->OnWritten();
}

void Handshaker::StartTimer() {
  Ref().release();
  timer_runs_ = true;
  const auto duration = grpc_core::Duration::Milliseconds(absl::ToInt64Milliseconds(options_->negotiation_timeout));
  grpc_timer_init(&timer_, grpc_core::Timestamp::Now() + duration, &on_timer_);
}

void Handshaker::OnTimer(void* arg, grpc_error_handle error) {
  grpc_core::RefCountedPtr<Handshaker> self(static_cast<Handshaker*>(arg));
  MutexLock lock(&self->mu_);
  self->timer_runs_ = false;
  if (!error.ok() || self->finished()) return;
  self->timed_out_ = true;
  if (self->EndWaiting()) return self->OnTimeout();
  // Between two steps the next one sees it.
  if (!self->reading_ || !self->reader_->Withdraw()) return;
  self->reading_ = false;
  self->Unref();  // the read's
  self->OnTimeout();
}

std::string Handshaker::received(size_t max_bytes) const {
  const grpc_slice_buffer& buffer = *args_->read_buffer;
  std::string bytes;
  for (size_t i = 0; i < buffer.count && bytes.size() < max_bytes; ++i) {
    const grpc_slice& slice = buffer.slices[i];
    bytes.append(reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)),
                 std::min(GRPC_SLICE_LENGTH(slice), max_bytes - bytes.size()));
  }
  return bytes;
}

void Handshaker::DropReceived(size_t bytes) {
  grpc_slice_buffer dropped;
  grpc_slice_buffer_init(&dropped);
  grpc_slice_buffer_move_first(args_->read_buffer, bytes, &dropped);
  grpc_slice_buffer_destroy(&dropped);
}

Fallback Handshaker::Prevented() {
  if (KnownPollingEngine()) return {};
  const char* name = grpc_get_poll_strategy_name();
  return {FallbackCode::kPollingEngine, name == nullptr ? "none" : name};
}

bool Handshaker::secure() const {
  const auto* connector = args_->args.GetObject<grpc_security_connector>();
  if (connector == nullptr) return false;
  const absl::string_view scheme = connector->url_scheme();
  return !scheme.empty() && scheme != "http";  // insecure and local credentials have none
}

uint8_t Handshaker::features() const { return options_->calls_below_http2 && !secure() ? kCallsFeature : 0; }

ListedPath Handshaker::List(std::string path, std::string why, bool below_http2) {
  return ListPath({role_, std::string(grpc_endpoint_get_local_address(args_->endpoint)),
                   std::string(grpc_endpoint_get_peer(args_->endpoint)), std::move(path), std::move(why), secure(),
                   below_http2});
}

grpc_core::RefCountedPtr<ConnectionTrace> Handshaker::TraceAs(trace::Path path) {
  auto trace = grpc_core::MakeRefCounted<ConnectionTrace>(path);
  args_->args = args_->args.SetObject(trace);
  return trace;
}

void Handshaker::FinishWithStream(stream::Outcome outcome) {
  if (outcome.why.code != FallbackCode::kNone) trace::CountFallback(outcome.why.code);
  const bool below_http2 = (outcome.features & kCallsFeature) != 0;
  std::shared_ptr<stream::Stream> stream = std::move(outcome.stream);
  ListedPath entry =
      List(stream->path(), outcome.why.code == FallbackCode::kNone ? "" : ToString(outcome.why), below_http2);
  std::function<void()> on_lost;
  // The client chooses the path, and who requires Skein has nothing to fall back to meanwhile.
  if (role_ == Path::Role::kClient && options_->mode != Mode::kRequire) {
    on_lost = [fabrics = streams().fabrics, route = route_, kind = stream::FabricKind(stream->path())] {
      fabrics->Failed(route, kind);
    };
  }
  Quota quota = QuotaOf(args_->args, absl::StrCat("skein:", grpc_endpoint_get_peer(args_->endpoint)));
  const bool shm = stream::FabricKind(stream->path()) == trace::PathName(trace::Path::kShm);
  args_->endpoint =
      NewSkeinEndpoint(std::move(stream), args_->endpoint, std::move(reader_), std::move(user_), std::move(entry),
                       TraceAs(shm ? trace::Path::kShm : trace::Path::kRdma), std::move(quota), std::move(on_lost));
  if (below_http2) args_->endpoint = CallEndpoint::Create(args_->endpoint);
  Finish(absl::OkStatus());
}

void Handshaker::FinishWithTcp(const Fallback& why, bool preface_sent) {
  trace::CountFallback(why.code);
  if (options_->mode == Mode::kRequire) {
    return Fail(Unavailable(absl::StrCat("skein.mode is require, and there is only tcp to ",
                                         grpc_endpoint_get_peer(args_->endpoint), ": ", ToString(why))));
  }
  ListedPath entry = List("tcp", ToString(why));
  args_->endpoint =
      NewTcpEndpoint(args_->endpoint, std::move(reader_), preface_sent, std::move(entry), TraceAs(trace::Path::kTcp));
  Finish(absl::OkStatus());
}

void Handshaker::Fail(grpc_error_handle error) {
  gpr_log(GPR_INFO, "skein: a connection failed: %s", grpc_core::StatusToString(error).c_str());
  reader_ = nullptr;
  Abandon(*args_, error);
  Finish(std::move(error));
}

void Handshaker::Finish(grpc_error_handle error) {
  if (timer_runs_) grpc_timer_cancel(&timer_);
  user_ = nullptr;
  grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(on_done_, nullptr), std::move(error));
}

void Handshaker::DropConnection(const grpc_error_handle& why) {
  reader_ = nullptr;
  if (args_->endpoint == nullptr) return;
  grpc_endpoint_shutdown(args_->endpoint, why);
  grpc_endpoint_destroy(std::exchange(args_->endpoint, nullptr));
  grpc_slice_buffer_reset_and_unref(args_->read_buffer);
}

void Handshaker::UseConnection(grpc_endpoint* tcp) {
  args_->endpoint = tcp;
  route_ = stream::RouteOf(grpc_endpoint_get_fd(tcp));
  reader_ = grpc_core::MakeRefCounted<TcpReader>(tcp);
}

}  // namespace skein::grpc_transport
