// CallTransport's receiving half.
#include <algorithm>
#include <optional>
#include <utility>

#include "grpc_transport/iomgr/calls/call_transport.h"
#include "grpc_transport/iomgr/calls/metadata.h"
#include "grpc_transport/iomgr/errors.h"

namespace skein::grpc_transport {

using grpc_core::Slice;

absl::Status CallTransport::OnCallFrame(const FrameHeader& header, const Slice& metadata,
                                        grpc_core::SliceBuffer& message) {
  if (header.call == 0 || header.kind == FrameKind::kGoodbye) return OnConnectionFrame(header, metadata);
  books_->Received();
  Call* call = nullptr;
  if (!is_client_ && header.kind == FrameKind::kCall && (header.flags & kInitial) != 0) {
    absl::StatusOr<Call*> accepted = Accept(header);
    if (!accepted.ok() || *accepted == nullptr) return accepted.status();
    call = *accepted;
  } else {
    call = Find(header.call);
    if (call == nullptr) return Known(header.call) ? absl::OkStatus() : absl::InvalidArgumentError("an unknown call");
  }
  absl::Status status = OnFrameOf(*call, header, metadata, message);
  call->Unref();
  return status;
}

absl::Status CallTransport::OnConnectionFrame(const FrameHeader& header, const Slice& metadata) {
  MutexLock lock(&mu_);
  if (header.kind == FrameKind::kHello && !is_client_ && !std::exchange(said_hello_, true)) {
    if (!grpc_header_nonbin_value_is_legal(metadata.c_slice())) return absl::InvalidArgumentError("its user agent");
    agent_ = metadata.Ref();
    return absl::OkStatus();
  }
  if (header.kind == FrameKind::kDrain && is_client_) {
    paused_ = true;
    return absl::OkStatus();
  }
  if (header.kind == FrameKind::kGoodbye && is_client_) {
    goodbye_ = header.call;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("a frame out of place");
}

absl::StatusOr<Call*> CallTransport::Accept(const FrameHeader& header) {
  {
    MutexLock lock(&mu_);
    if (absl::Status status = CheckNewCall(header.call); !status.ok()) return status;
    last_number_ = header.call;
    if (!ended_.ok()) return nullptr;
  }
  Accepted accepted{header.call};
  {
    MutexLock lock(&accept_mu_);
    if (accept_ != nullptr) accept_(accept_data_, transport_, &accepted);
  }
  if (accepted.call == nullptr) {
    FrameHeader refused;
    refused.kind = FrameKind::kRefused;
    refused.call = header.call;
    endpoint_->AddFrame(refused);
    endpoint_->Flush();
    return nullptr;
  }
  if (channelz_ != nullptr) channelz_->RecordStreamStartedFromRemote();
  grpc_error_handle ended;
  {
    MutexLock lock(&mu_);
    ended = ended_;
  }
  // OnConnectionEnd fails the calls that are listed by then.
  if (!ended.ok()) Do(*accepted.call, accepted.call->Fail(ended, peer()));
  return accepted.call;
}

absl::Status CallTransport::CheckNewCall(uint32_t number) {
  // agent_ is read without a lock once there are calls.
  if (!said_hello_) return absl::InvalidArgumentError("a call before the first frame");
  if (number <= last_number_) return absl::InvalidArgumentError("a call's number that has been used");
  if (calls_.size() < own_max_calls_) return absl::OkStatus();
  // The client may have a status already while another thread here has yet to forget that call.
  const auto ended = [this](const auto& listed) { return endpoint_->Ended(listed.second->outgoing()); };
  const auto over = static_cast<size_t>(std::count_if(calls_.begin(), calls_.end(), ended));
  if (calls_.size() - over < own_max_calls_) return absl::OkStatus();
  return absl::InvalidArgumentError("more calls than this end takes");
}

absl::Status CallTransport::OnFrameOf(Call& call, const FrameHeader& header, const Slice& metadata,
                                      grpc_core::SliceBuffer& message) {
  Call::After after;
  switch (header.kind) {
    case FrameKind::kWindow:
      if (!endpoint_->Grant(call.outgoing(), header.number)) return absl::InvalidArgumentError("too large a window");
      endpoint_->Flush();
      return absl::OkStatus();
    case FrameKind::kEnd:
      after = EndedByPeer(call.Fail(ErrorOfEnd(header.number), peer()));
      break;
    case FrameKind::kRefused:
      if (!is_client_) return absl::InvalidArgumentError("a refusal by a client");
      after = EndedByPeer(call.Fail(Unavailable("the server has not looked at the call"), peer(),
                                    grpc_core::GrpcStreamNetworkState::kNotSeenByServer));
      break;
    default:
      if (channelz_ != nullptr && header.kind == FrameKind::kCall && (header.flags & kMessage) != 0) {
        channelz_->RecordMessageReceived();
      }
      after = call.Arrived(header, metadata, message, peer());
  }
  Do(call, after);
  return after.protocol_error;
}

Call::After CallTransport::EndedByPeer(Call::After after) {
  after.tell = false;
  after.over = true;
  return after;
}

grpc_error_handle CallTransport::ErrorOfEnd(uint32_t status) {
  grpc_error_handle error = GRPC_ERROR_CREATE("the peer has ended the call");
  // What HTTP/2 says of a call that is cancelled behind its deadline depends on the clock here.
  if (status == GRPC_STATUS_CANCELLED) {
    return grpc_error_set_int(error, grpc_core::StatusIntProperty::kHttp2Error, GRPC_HTTP2_CANCEL);
  }
  return WithStatus(error, status == GRPC_STATUS_OK ? GRPC_STATUS_INTERNAL : static_cast<grpc_status_code>(status));
}

void CallTransport::Do(Call& call, const Call::After& after) {
  if (after.window > 0) {
    FrameHeader header;
    header.kind = FrameKind::kWindow;
    header.call = call.outgoing().call();
    header.number = after.window;
    endpoint_->AddFrame(header);
  }
  if (after.failed) {
    Tell(call, after);
  } else if (after.over) {
    // What gRPC has not sent when the status comes is done, as chttp2 has it: an error would be the call's instead.
    endpoint_->Drop(call.outgoing(), absl::OkStatus());
  }
  if (after.over) Forget(call, /*succeeded=*/!after.failed);
  if (after.over || after.window > 0) endpoint_->Flush();
}

// By its status if it has one and the call's end can be said in order, as a server does; else that it has ended.
void CallTransport::Tell(Call& call, const Call::After& after) {
  const SendQueue::PeerAwaits awaits = endpoint_->Drop(call.outgoing(), after.error);
  if (!after.tell || awaits == SendQueue::PeerAwaits::kNothing) return;
  grpc_status_code status = GRPC_STATUS_UNKNOWN;
  std::string text;
  grpc_error_get_status(after.error, grpc_core::Timestamp::InfFuture(), &status, &text, nullptr, nullptr);
  FrameHeader header;
  header.call = call.outgoing().call();
  if (!after.as_status || awaits == SendQueue::PeerAwaits::kEnd) {
    header.kind = FrameKind::kEnd;
    header.number = status;
    return endpoint_->AddFrame(header);
  }
  grpc_core::ScopedArenaPtr arena;  // known metadata needs none
  grpc_metadata_batch trailers(arena.get());
  trailers.Set(grpc_core::GrpcStatusMetadata(), status);
  trailers.Set(grpc_core::GrpcMessageMetadata(), Slice::FromCopiedString(text));
  BytesBuilder body;
  EncodeMetadata(trailers, body);
  header.kind = FrameKind::kCall;
  header.flags = kTrailing;
  header.trailing = header.length = static_cast<uint32_t>(body.size());
  endpoint_->AddFrame(header, {body.data(), body.size()});
}

}  // namespace skein::grpc_transport
