#include "grpc_transport/iomgr/handshaker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc_transport/common/client_negotiation.h"
#include "grpc_transport/common/server_negotiation.h"
#include "grpc_transport/common/slice_bytes.h"
#include "grpc_transport/iomgr/calls/call_endpoint.h"
#include "grpc_transport/iomgr/ensure_exec_ctx.h"
#include "grpc_transport/iomgr/errors.h"
#include "grpc_transport/iomgr/polling_engine.h"
#include "grpc_transport/iomgr/skein_endpoint.h"
#include "grpc_transport/iomgr/tcp_endpoint.h"

namespace skein::grpc_transport {

grpc_core::RefCountedPtr<grpc_core::Handshaker> NewClientHandshaker(absl::StatusOr<Options> options,
                                                                    const grpc_core::ChannelArgs& args,
                                                                    grpc_pollset_set* interested_parties) {
  std::string address = args.GetOwnedString(GRPC_ARG_TCP_HANDSHAKER_RESOLVED_ADDRESS).value_or("");
  auto handshaker = grpc_core::MakeRefCounted<Handshaker>(options, address, interested_parties);
  handshaker->Conduct(std::make_unique<ClientNegotiation>(std::move(options), std::move(address),
                                                          args.Contains(GRPC_ARG_HTTP_CONNECT_SERVER),
                                                          handshaker->connection(), Runtime::Get().state()));
  return handshaker;
}

grpc_core::RefCountedPtr<grpc_core::Handshaker> NewServerHandshaker(absl::StatusOr<Options> options) {
  auto handshaker = grpc_core::MakeRefCounted<Handshaker>(options, "", nullptr);
  handshaker->Conduct(
      std::make_unique<ServerNegotiation>(std::move(options), handshaker->connection(), Runtime::Get().state()));
  return handshaker;
}

Handshaker::Handshaker(const absl::StatusOr<Options>& options, std::string address,
                       grpc_pollset_set* interested_parties)
    : wrong_options_(options.status()),
      calls_below_http2_(options.ok() && options->calls_below_http2),
      address_(std::move(address)),
      interested_parties_(interested_parties) {
  BeginUse();
  grpc_slice_buffer_init(&outgoing_);
  GRPC_CLOSURE_INIT(&on_timer_, OnTimer, this, nullptr);
  GRPC_CLOSURE_INIT(&on_read_, OnReadDone, this, nullptr);
  GRPC_CLOSURE_INIT(&on_write_inline_, OnWriteDoneInline, this, nullptr);
  GRPC_CLOSURE_INIT(&on_write_, OnWriteDone, this, nullptr);
  GRPC_CLOSURE_INIT(&on_reconnected_, OnReconnected, this, nullptr);
}

Handshaker::~Handshaker() { grpc_slice_buffer_destroy(&outgoing_); }

void Handshaker::DoHandshake(grpc_tcp_server_acceptor* /*acceptor*/, grpc_closure* on_done,
                             grpc_core::HandshakerArgs* args) {
  if (mu_lost.IsLost()) {
    Abandon(*args, Unavailable("skein: forked before the negotiation"));
    return grpc_core::ExecCtx::Run(DEBUG_LOCATION, on_done, Unavailable("skein: forked before the negotiation"));
  }
  {
    MutexLock lock(&mu);
    args_ = args;
    on_done_ = on_done;
    UseConnection(args->endpoint);
  }
  // A server has nobody else to tell.
  if (!wrong_options_.ok()) gpr_log(GPR_ERROR, "skein: %s", std::string(wrong_options_.message()).c_str());
  negotiation_->Start();
}

void Handshaker::Shutdown(grpc_error_handle why) {
  if (mu_lost.IsLost()) return;
  MutexLock lock(&mu);
  if (!negotiation_->ShutDown() || args_ == nullptr) return;
  // What is out fails, and that ends the negotiation.
  if (args_->endpoint != nullptr) grpc_endpoint_shutdown(args_->endpoint, std::move(why));
  negotiation_->EndWaits();
}

void Handshaker::Read() {
  Ref().release();
  reader_->Read(&on_read_);
}

bool Handshaker::WithdrawRead() {
  if (!reader_->Withdraw()) return false;
  Unref();  // the read's; its caller has another one
  return true;
}

void Handshaker::OnReadDone(void* arg, grpc_error_handle error) {
  grpc_core::RefCountedPtr<Handshaker> self(static_cast<Handshaker*>(arg));
  self->negotiation_->OnRead(error);
}

void Handshaker::TakeRead() { reader_->MoveInto(args_->read_buffer); }

void Handshaker::Write(absl::string_view bytes) {
  Ref().release();
  grpc_slice_buffer_add(&outgoing_, grpc_slice_from_copied_buffer(bytes.data(), bytes.size()));
  grpc_endpoint_write(args_->endpoint, &outgoing_, &on_write_inline_, nullptr, /*max_frame_size=*/INT_MAX);
}

// Called under mu when the write ends at once.
void Handshaker::OnWriteDoneInline(void* arg, grpc_error_handle error) {
  grpc_core::ExecCtx::Run(DEBUG_LOCATION, &static_cast<Handshaker*>(arg)->on_write_, std::move(error));
}

void Handshaker::OnWriteDone(void* arg, grpc_error_handle error) {
  grpc_core::RefCountedPtr<Handshaker> self(static_cast<Handshaker*>(arg));
  grpc_slice_buffer_reset_and_unref(&self->outgoing_);  // one write at a time, and this is its end
  self->negotiation_->OnWritten(error);
}

void Handshaker::StartTimer(absl::Duration duration) {
  Ref().release();
  timer_runs_ = true;
  if (is_client()) lookout_ = grpc_core::MakeRefCounted<Lookout>();
  const auto time = grpc_core::Duration::Milliseconds(absl::ToInt64Milliseconds(duration));
  grpc_timer_init(&timer_, grpc_core::Timestamp::Now() + time, &on_timer_);
}

void Handshaker::OnTimer(void* arg, grpc_error_handle error) {
  grpc_core::RefCountedPtr<Handshaker> self(static_cast<Handshaker*>(arg));
  if (self->mu_lost.IsLost()) return;
  if (error.ok() && self->is_client()) LookAtDescriptorsNow();  // the answer may have come without anybody seeing it
  {
    MutexLock lock(&self->mu);
    self->timer_runs_ = false;
  }
  if (error.ok()) self->negotiation_->OnTimer();
}

void Handshaker::AwaitReached(stream::Stream& stream) {
  stream.WhenReached([self = Ref()](const absl::Status& status) {
    EnsureExecCtx exec_ctx;
    grpc_closure* then = grpc_core::NewClosure([self, status](const grpc_error_handle&) {
      static_cast<Handshaker*>(self.get())->negotiation_->OnReached(status);
    });
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, then, absl::OkStatus());
  });
}

std::string Handshaker::Received(size_t max_bytes) const { return FirstBytesOf(*args_->read_buffer, max_bytes); }
void Handshaker::DropReceived(size_t bytes) { DropFirst(args_->read_buffer, bytes); }

std::string Handshaker::Local() const { return std::string(grpc_endpoint_get_local_address(args_->endpoint)); }
std::string Handshaker::Peer() const { return std::string(grpc_endpoint_get_peer(args_->endpoint)); }

bool Handshaker::Secure() const {
  const auto* connector = args_->args.GetObject<grpc_security_connector>();
  if (connector == nullptr) return false;
  const absl::string_view scheme = connector->url_scheme();
  return !scheme.empty() && scheme != "http";  // insecure and local credentials have none
}

bool Handshaker::IsMade() const { return connect::IsConnected(grpc_endpoint_get_fd(args_->endpoint)); }
bool Handshaker::HasEnded() const { return connect::HasEnded(grpc_endpoint_get_fd(args_->endpoint)); }

// A client asks for each call that it traces. A server's filters see all calls, and answer either kind of client.
uint8_t Handshaker::Features() const {
  const uint8_t times = is_client() ? kAskedTimesFeature : kAskedTimesFeature | kUnaskedTimesFeature;
  return times | (calls_below_http2_ && !Secure() ? kCallsFeature : 0);
}

// A polling engine that links cannot be watched with.
Fallback Handshaker::Prevented() const {
  if (KnownPollingEngine()) return {};
  const char* name = grpc_get_poll_strategy_name();
  return {FallbackCode::kPollingEngine, name == nullptr ? "none" : name};
}

void Handshaker::UseConnection(grpc_endpoint* tcp) {
  args_->endpoint = tcp;
  route_ = connect::RouteOf(grpc_endpoint_get_fd(tcp));
  reader_ = grpc_core::MakeRefCounted<TcpReader>(tcp);
}

absl::Status Handshaker::Reconnect() {
  const grpc_error_handle why = Unavailable("skein: the peer does not take offers");
  reader_ = nullptr;
  grpc_endpoint_shutdown(args_->endpoint, why);
  grpc_endpoint_destroy(std::exchange(args_->endpoint, nullptr));
  grpc_slice_buffer_reset_and_unref(args_->read_buffer);
  const absl::StatusOr<grpc_core::URI> uri = grpc_core::URI::Parse(address_);
  grpc_resolved_address address;
  if (!uri.ok() || !grpc_parse_uri(*uri, &address)) {
    return Failure(absl::StrCat("skein: no address to come back to: ", address_));
  }
  Ref().release();
  connecting_ = grpc_tcp_client_connect(&on_reconnected_, &connected_, interested_parties_,
                                        grpc_event_engine::experimental::ChannelArgsEndpointConfig(args_->args),
                                        &address, args_->deadline);
  return absl::OkStatus();
}

void Handshaker::OnReconnected(void* arg, grpc_error_handle error) {
  grpc_core::RefCountedPtr<Handshaker> self(static_cast<Handshaker*>(arg));
  if (self->mu_lost.IsLost()) return;
  {
    MutexLock lock(&self->mu);
    self->connecting_.reset();
    if (self->connected_ != nullptr) {
      self->UseConnection(std::exchange(self->connected_, nullptr));
      grpc_endpoint_add_to_pollset_set(self->args_->endpoint, self->interested_parties_);
    }
  }
  self->negotiation_->OnReconnected(error);
}

bool Handshaker::CancelReconnect() {
  if (!connecting_.has_value() || !grpc_tcp_client_cancel_connect(*connecting_)) return false;
  connecting_.reset();
  Unref();  // the connection's; gRPC's shutdown has another one
  return true;
}

grpc_core::RefCountedPtr<ConnectionTrace> Handshaker::TraceAs(trace::Path path, uint8_t features) {
  auto trace = grpc_core::MakeRefCounted<ConnectionTrace>(path, features);
  args_->args = args_->args.SetObject(trace);
  return trace;
}

void Handshaker::UseStream(Negotiated end) {
  Quota quota = QuotaOf(args_->args, absl::StrCat("skein:", Peer()));
  const bool shm = connect::FabricKind(end.stream->path()) == trace::PathName(trace::Path::kShm);
  args_->endpoint = NewSkeinEndpoint(
      std::move(end.stream), args_->endpoint, std::move(reader_), std::move(user_), std::move(end.path),
      TraceAs(shm ? trace::Path::kShm : trace::Path::kRdma, end.features), std::move(quota), std::move(end.on_lost));
  if ((end.features & kCallsFeature) != 0) args_->endpoint = CallEndpoint::Create(args_->endpoint);
}

void Handshaker::Finish(Negotiated end) {
  grpc_error_handle error = absl::IsUnavailable(end.failed) ? OrUnavailable(end.failed) : end.failed;
  if (!error.ok()) {
    gpr_log(GPR_INFO, "skein: a connection failed: %s", grpc_core::StatusToString(error).c_str());
    reader_ = nullptr;
    Abandon(*args_, error);
  } else if (end.stream != nullptr) {
    UseStream(std::move(end));
  } else {
    args_->endpoint = NewTcpEndpoint(args_->endpoint, std::move(reader_), /*preface_sent=*/end.settings_frames > 0,
                                     std::move(end.path), TraceAs(trace::Path::kTcp, /*features=*/0));
  }
  if (timer_runs_) grpc_timer_cancel(&timer_);
  if (lookout_ != nullptr) lookout_->End();
  user_ = nullptr;
  grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(on_done_, nullptr), std::move(error));
}

}  // namespace skein::grpc_transport
