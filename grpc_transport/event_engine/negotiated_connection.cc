#include "grpc_transport/event_engine/negotiated_connection.h"

#include <grpc/slice.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/forked.h"
#include "grpc_transport/common/log.h"
#include "grpc_transport/common/slice_bytes.h"
#include "grpc_transport/event_engine/addresses.h"
#include "grpc_transport/event_engine/endpoint.h"
#include "grpc_transport/event_engine/runtime.h"
#include "grpc_transport/event_engine/tcp_endpoint.h"

namespace skein::grpc_transport {
namespace {

constexpr char kFirstOfHttp2 = 'P';

absl::Status Cancelled() { return absl::CancelledError("the connection has been destroyed"); }

}  // namespace

NegotiatedConnection::NegotiatedConnection(std::shared_ptr<EventEngine> inner, SharedAllocator allocator, OnEnd on_end,
                                           std::optional<bool> secure, Fallback prevented)
    : inner_(std::move(inner)),
      allocator_(std::move(allocator)),
      prevented_(std::move(prevented)),
      on_end_(std::move(on_end)),
      secure_(secure) {
  BeginUse();
}

void NegotiatedConnection::Connect(ConnectAgain connect) {
  if (mu_lost.IsLost()) return;
  MutexLock lock(&mu);
  connect_ = std::move(connect);
  StartConnecting();
}

void NegotiatedConnection::StartConnecting() {
  connecting_ = connect_([self = shared_from_this()](absl::StatusOr<std::unique_ptr<EventEngine::Endpoint>> tcp) {
    self->Connected(std::move(tcp));
  });
}

void NegotiatedConnection::Connected(absl::StatusOr<std::unique_ptr<EventEngine::Endpoint>> tcp) {
  if (mu_lost.IsLost()) return;
  Phase phase;
  {
    MutexLock lock(&mu);
    phase = phase_;
    connecting_.reset();
    if (phase == Phase::kOver) return;  // cancelled; `tcp` ends with this call
    if (phase == Phase::kConnecting && !tcp.ok()) return End(tcp.status());
    if (tcp.ok()) UseConnection(*std::move(tcp));
    phase_ = Phase::kNegotiating;
  }
  phase == Phase::kConnecting ? negotiation_->Start() : negotiation_->OnReconnected(tcp.status());
}

void NegotiatedConnection::Begin(std::unique_ptr<EventEngine::Endpoint> tcp) {
  if (mu_lost.IsLost()) return;
  {
    MutexLock lock(&mu);
    if (phase_ == Phase::kOver) return;  // cancelled
    UseConnection(std::move(tcp));
    phase_ = Phase::kNegotiating;
  }
  negotiation_->Start();
}

void NegotiatedConnection::UseConnection(std::unique_ptr<EventEngine::Endpoint> tcp) {
  tcp_ = std::move(tcp);
  route_ = RouteOf(*tcp_);
  local_ = AddressText(tcp_->GetLocalAddress());
  peer_ = AddressText(tcp_->GetPeerAddress());
  reader_ = std::make_shared<TcpReader>(tcp_.get(), inner_);
}

std::unique_ptr<EventEngine::Endpoint> NegotiatedConnection::LetGoOfTcp() {
  if (reader_ != nullptr) reader_->Detach();
  return std::move(tcp_);
}

bool NegotiatedConnection::Cancel() {
  if (mu_lost.IsLost()) return false;
  std::unique_ptr<EventEngine::Endpoint> tcp;  // ends behind the lock
  OnEnd on_end;
  MutexLock lock(&mu);
  if (on_end_ == nullptr) return false;
  on_end = std::exchange(on_end_, nullptr);
  if (phase_ == Phase::kConnecting) {
    if (connecting_.has_value()) inner_->CancelConnect(*connecting_);
    phase_ = Phase::kOver;
    return true;
  }
  tcp = LetGoOfTcp();  // reads and writes that are out fail, which ends the negotiation
  if (negotiation_->ShutDown()) negotiation_->EndWaits();
  return true;
}

void NegotiatedConnection::Read() {
  reader_->Read([self = shared_from_this()](const absl::Status& status) { self->negotiation_->OnRead(status); });
}

void NegotiatedConnection::TakeRead() {
  reader_->MoveInto(received_);
  if (!secure_.has_value()) secure_ = Received(1) != std::string(1, kFirstOfHttp2);
}

void NegotiatedConnection::Write(absl::string_view bytes) {
  auto written = [self = shared_from_this()](const absl::Status& status) { self->negotiation_->OnWritten(status); };
  absl::Status at_once = tcp_ == nullptr ? Cancelled() : absl::OkStatus();
  if (tcp_ != nullptr) {
    outgoing_.Clear();
    grpc_slice_buffer_add(outgoing_.c_slice_buffer(), grpc_slice_from_copied_buffer(bytes.data(), bytes.size()));
    if (!tcp_->Write(written, &outgoing_, {})) return;
  }
  inner_->Run([written, at_once]() { written(at_once); });
}

void NegotiatedConnection::StartTimer(absl::Duration duration) {
  timer_ = inner_->RunAfter(absl::ToChronoNanoseconds(duration),
                            [self = shared_from_this()] { self->negotiation_->OnTimer(); });
}

void NegotiatedConnection::AwaitReached(stream::Stream& stream) {
  reader_->ReadAhead();  // the one way to hear that the peer has ended, meanwhile
  // Told while a link is polled.
  stream.WhenReached([self = shared_from_this()](const absl::Status& status) {
    self->inner_->Run([self, status] { self->negotiation_->OnReached(status); });
  });
}

absl::Status NegotiatedConnection::Reconnect() {
  std::unique_ptr<EventEngine::Endpoint> tcp = LetGoOfTcp();
  inner_->Run([tcp = std::move(tcp)]() mutable { tcp = nullptr; });
  received_.Clear();
  if (connect_ == nullptr) return Failure("skein: no address to come back to");
  phase_ = Phase::kReconnecting;
  StartConnecting();
  return absl::OkStatus();
}

bool NegotiatedConnection::CancelReconnect() {
  return connecting_.has_value() && inner_->CancelConnect(*std::exchange(connecting_, std::nullopt));
}

std::string NegotiatedConnection::Received(size_t max_bytes) const {
  return FirstBytesOf(*const_cast<SliceBuffer&>(received_).c_slice_buffer(), max_bytes);
}
void NegotiatedConnection::DropReceived(size_t bytes) { DropFirst(received_.c_slice_buffer(), bytes); }

void NegotiatedConnection::WatchLinks() { user_ = std::make_unique<LinkPoller::User>(&Runtime::Get().links()); }

std::unique_ptr<EventEngine::Endpoint> NegotiatedConnection::EndpointOf(Negotiated end) {
  if (end.stream == nullptr) {
    return NewTcpEndpoint(std::move(tcp_), std::move(reader_), std::move(received_), end.settings_frames,
                          std::move(end.path), TracedConnection::New(role_, peer_, trace::Path::kTcp, 0),
                          std::move(end.on_other_beginning));
  }
  const bool shm = connect::FabricKind(end.stream->path()) == trace::PathName(trace::Path::kShm);
  const trace::Path path = shm ? trace::Path::kShm : trace::Path::kRdma;
  return NewSkeinEndpoint({.engine = inner_,
                           .stream = std::move(end.stream),
                           .tcp = std::move(tcp_),
                           .reader = std::move(reader_),
                           .user = std::move(user_),
                           .path = std::move(end.path),
                           .allocator = allocator_.Share(),
                           .on_lost = std::move(end.on_lost),
                           .traced = TracedConnection::New(role_, peer_, path, end.features)});
}

void NegotiatedConnection::Finish(Negotiated end) {
  if (timer_.has_value()) inner_->Cancel(*timer_);
  if (end.failed.ok() && tcp_ == nullptr) end.failed = Cancelled();  // cancelled meanwhile
  if (end.failed.ok()) {
    End(EndpointOf(std::move(end)));
  } else {
    Log(Severity::kInfo, absl::StrCat("skein: a connection failed: ", end.failed.ToString()));
    std::unique_ptr<EventEngine::Endpoint> tcp = LetGoOfTcp();
    inner_->Run([tcp = std::move(tcp)]() mutable { tcp = nullptr; });
    End(std::move(end.failed));
  }
  user_ = nullptr;
}

void NegotiatedConnection::End(absl::StatusOr<std::unique_ptr<EventEngine::Endpoint>> result) {
  phase_ = Phase::kOver;
  connect_ = nullptr;
  // Not under the lock. Without `on_end`, which a Cancel has taken, the result ends there.
  inner_->Run([on_end = std::exchange(on_end_, nullptr), result = std::move(result)]() mutable {
    if (on_end != nullptr) on_end(std::move(result));
  });
}

}  // namespace skein::grpc_transport
