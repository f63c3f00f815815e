#include "grpc_transport/iomgr/calls/call.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc_transport/iomgr/calls/metadata.h"
#include "grpc_transport/iomgr/errors.h"

namespace skein::grpc_transport {
namespace {

grpc_error_handle TooLong(absl::string_view kind) {
  return WithStatus(GRPC_ERROR_CREATE(absl::StrCat("received ", kind, " metadata size exceeds limit")),
                    GRPC_STATUS_RESOURCE_EXHAUSTED);
}

}  // namespace

Call::~Call() {
  SendQueue::Free(outgoing_);
  delete messages_;
}

void Call::Run(grpc_closure*& closure) {
  grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(closure, nullptr), absl::OkStatus());
}

bool Call::BeginSend(const grpc_transport_stream_op_batch& op, const Batch& batch, const Peer& peer) {
  MutexLock lock(&mu_);
  if (failed() || sent_trailing_ || (peer.is_server && has_trailing_)) return false;
  if (op.send_initial_metadata) {
    sent_initial_ = true;
    const auto& metadata = *op.payload->send_initial_metadata.send_initial_metadata;
    deadline_ = metadata.get(grpc_core::GrpcTimeoutMetadata()).value_or(grpc_core::Timestamp::InfFuture());
  }
  if (op.send_trailing_metadata) sent_trailing_ = true;
  if (op.send_message && !op.send_trailing_metadata) streams_ = true;
  stats_.outgoing.framing_bytes += kFrameHeaderBytes;
  stats_.outgoing.header_bytes += batch.initial + batch.trailing;
  stats_.outgoing.data_bytes += batch.message == nullptr ? 0 : batch.message->length;
  return true;
}

Call::After Call::Receive(grpc_transport_stream_op_batch& op, const Peer& peer) {
  MutexLock lock(&mu_);
  if (op.recv_initial_metadata) {
    auto& wanted = op.payload->recv_initial_metadata;
    asked_initial_ = {wanted.recv_initial_metadata_ready, wanted.recv_initial_metadata,
                      wanted.trailing_metadata_available};
    if (wanted.peer_string != nullptr) {
      gpr_atm_rel_store(wanted.peer_string, reinterpret_cast<gpr_atm>(peer.name.c_str()));
    }
  }
  if (op.recv_message) {
    auto& wanted = op.payload->recv_message;
    asked_message_ = {wanted.recv_message_ready, wanted.recv_message, wanted.flags,
                      wanted.call_failed_before_recv_message};
  }
  if (op.recv_trailing_metadata) {
    auto& wanted = op.payload->recv_trailing_metadata;
    asked_trailing_ = {wanted.recv_trailing_metadata_ready, wanted.recv_trailing_metadata, wanted.collect_stats};
  }
  After after;
  const bool had_failed = failed();
  HandOut(peer);
  if (!had_failed && failed()) SetFailed(after, peer);
  after.window = WindowToGive();
  return after;
}

void Call::SetFailed(After& after, const Peer& peer) {
  after.over = true;
  after.failed = true;
  after.error = error_;
  after.tell = peer.is_server ? sent_initial_ && !has_trailing_ : !sent_all_;
  after.as_status = !peer.is_server && !sent_trailing_ && grpc_error_has_clear_grpc_status(error_);
  sent_trailing_ = true;
  // Nobody is to have what has arrived.
  trailing_ = grpc_core::Slice();
  message_ = Message();
  if (messages_ != nullptr) messages_->clear();
}

absl::Status Call::CheckTurn(const FrameHeader& header) const {
  const auto protocol_error = [](absl::string_view what) { return absl::InvalidArgumentError(what); };
  if (has_trailing_) return protocol_error("more of a call after its end");
  if (header.kind == FrameKind::kMore) {
    return header.length <= missing_ ? absl::OkStatus() : protocol_error("more of a message than was announced");
  }
  if (missing_ > 0) return protocol_error("a frame within a message");
  if ((header.flags & kInitial) != 0 && has_initial_) return protocol_error("a call that begins twice");
  if ((header.flags & kMessage) != 0 && (header.flags & kInitial) == 0 && !has_initial_) {
    return protocol_error("a message before the call's metadata");
  }
  return absl::OkStatus();
}

Call::After Call::Arrived(const FrameHeader& header, const grpc_core::Slice& metadata, grpc_core::SliceBuffer& message,
                          const Peer& peer) {
  After after;
  MutexLock lock(&mu_);
  // A client may send on until the status reaches it.
  if (failed() || sent_all_) return after;
  after.protocol_error = CheckTurn(header);
  received_ += WindowTaken(header);
  if (after.protocol_error.ok() && received_ > granted_)
    after.protocol_error = absl::InvalidArgumentError("more than the window");
  if (!after.protocol_error.ok()) return after;
  stats_.incoming.framing_bytes += kFrameHeaderBytes;
  stats_.incoming.header_bytes += metadata.size();
  stats_.incoming.data_bytes += FragmentBytes(header);
  // HTTP/2 counts more than the bytes. Nothing that is certainly too long is kept until it is asked for.
  if (header.initial > peer.max_metadata || header.trailing > peer.max_metadata) {
    error_ = TooLong(header.initial > peer.max_metadata ? "initial" : "trailing");
    SetFailed(after, peer);
    HandOut(peer);
    return after;
  }
  if ((header.flags & kInitial) != 0) {
    has_initial_ = true;
    initial_ = grpc_core::Slice(grpc_slice_sub(metadata.c_slice(), 0, header.initial));
  }
  if ((header.flags & kMessage) != 0 || header.kind == FrameKind::kMore) TakeMessage(header, message);
  if ((header.flags & kTrailing) != 0) {
    has_trailing_ = true;
    trailing_ =
        grpc_core::Slice(grpc_slice_sub(metadata.c_slice(), header.initial, size_t{header.initial} + header.trailing));
    after.over = peer.is_server;
  }
  HandOut(peer);
  if (failed()) SetFailed(after, peer);
  after.window = WindowToGive();
  return after;
}

void Call::TakeMessage(const FrameHeader& header, grpc_core::SliceBuffer& bytes) {
  if (header.kind == FrameKind::kCall) {
    if (std::exchange(whole_, false)) {
      if (messages_ == nullptr) messages_ = new std::deque<Message>;
      messages_->push_back(std::exchange(message_, Message()));
    }
    missing_ = header.number;
    message_.flags = (header.flags & kCompressed) != 0 ? GRPC_WRITE_INTERNAL_COMPRESS : 0;
  }
  missing_ -= static_cast<uint32_t>(bytes.Length());
  grpc_slice_buffer_move_into(bytes.c_slice_buffer(), message_.bytes.c_slice_buffer());
  whole_ = missing_ == 0;
}

Call::After Call::Fail(const grpc_error_handle& why, const Peer& peer, std::optional<NetworkState> state) {
  After after;
  MutexLock lock(&mu_);
  if (failed()) return after;
  // A status that has come and that gRPC has not asked for yet stands.
  if (peer.is_server && has_trailing_ && asked_trailing_.ready == nullptr) return after;
  error_ = why.ok() ? absl::CancelledError() : why;
  // gRPC 1.51 loses messages of a call that it retries while the program goes on sending.
  if (state == grpc_core::GrpcStreamNetworkState::kNotSeenByServer && streams_) state = std::nullopt;
  network_state_ = state;
  SetFailed(after, peer);
  HandOut(peer);
  return after;
}

void Call::SentAll(const Peer& peer) {
  MutexLock lock(&mu_);
  sent_all_ = true;
  // Nothing that the client still sends is looked at.
  has_trailing_ = true;
  HandOut(peer);
}

void Call::HandOut(const Peer& peer) {
  HandOutInitial(peer);
  HandOutMessage(peer);
  HandOutTrailing(peer);
}

void Call::HandOutInitial(const Peer& peer) {
  if (asked_initial_.ready == nullptr || !(has_initial_ || has_trailing_ || failed())) return;
  if (has_initial_) Decode(initial_, *asked_initial_.to, peer, "initial");
  if (!peer.agent.empty()) asked_initial_.to->Set(grpc_core::UserAgentMetadata(), peer.agent.Ref());
  if (!has_initial_ && asked_initial_.trailing_available != nullptr) *asked_initial_.trailing_available = true;
  asked_initial_.to->Set(grpc_core::PeerString(), peer.name);
  initial_handed_out_ = true;
  Run(asked_initial_.ready);
}

void Call::HandOutMessage(const Peer& peer) {
  if (asked_message_.ready == nullptr || !(initial_handed_out_ || failed())) return;
  if (!failed() && HasMessage()) {
    const bool has_older = messages_ != nullptr && !messages_->empty();
    Message& first = has_older ? messages_->front() : message_;
    consumed_ += kMessageCost + static_cast<int64_t>(first.bytes.Length());
    asked_message_.to->emplace(std::move(first.bytes));
    if (asked_message_.flags != nullptr) *asked_message_.flags = first.flags;
    has_older ? messages_->pop_front() : void(whole_ = false);
    return Run(asked_message_.ready);
  }
  if (!has_trailing_ && !failed()) return;
  asked_message_.to->reset();
  // As chttp2: false where a client has said that there are no more.
  if (asked_message_.failed != nullptr) *asked_message_.failed = peer.is_server || failed();
  Run(asked_message_.ready);
}

void Call::HandOutTrailing(const Peer& peer) {
  if (asked_trailing_.ready == nullptr) return;
  const bool messages_left = asked_message_.ready != nullptr || HasMessage();
  const bool over = peer.is_server ? has_trailing_ && initial_handed_out_ && !messages_left : sent_all_;
  if (!over && !failed()) return;
  if (!failed() && peer.is_server) Decode(trailing_, *asked_trailing_.to, peer, "trailing");
  if (failed()) {
    SetStatusOfError(*asked_trailing_.to);
  } else if (peer.is_server) {
    asked_trailing_.to->Set(grpc_core::GrpcStatusFromWire(), true);
  }
  asked_trailing_.to->Set(grpc_core::PeerString(), peer.name);
  if (asked_trailing_.stats != nullptr) grpc_transport_move_stats(&stats_, asked_trailing_.stats);
  Run(asked_trailing_.ready);
}

void Call::SetStatusOfError(grpc_metadata_batch& metadata) const {
  grpc_status_code status = GRPC_STATUS_UNKNOWN;
  std::string message;
  grpc_error_get_status(error_, deadline_, &status, &message, nullptr, nullptr);
  metadata.Set(grpc_core::GrpcStatusMetadata(), status);
  if (!message.empty()) metadata.Set(grpc_core::GrpcMessageMetadata(), grpc_core::Slice::FromCopiedString(message));
  if (network_state_.has_value()) metadata.Set(grpc_core::GrpcStreamNetworkState(), *network_state_);
}

void Call::Decode(const grpc_core::Slice& bytes, grpc_metadata_batch& to, const Peer& peer, absl::string_view kind) {
  if (bytes.empty()) return;
  if (!DecodeMetadata(bytes.c_slice(), to)) {
    error_ = WithStatus(GRPC_ERROR_CREATE("skein: the peer's metadata is malformed"), GRPC_STATUS_INTERNAL);
  } else if (IsLongerThan(peer.max_metadata, to, bytes.size())) {
    error_ = TooLong(kind);
  } else {
    return;
  }
  to.Clear();
}

uint32_t Call::WindowToGive() {
  if (has_trailing_ || failed()) return 0;
  // Who waits for a message takes whatever arrives of it.
  const bool waits = asked_message_.ready != nullptr;
  const int64_t window = waits ? kReadingWindow : kInitialWindow;
  const int64_t more = (waits ? received_ : consumed_) + window - granted_;
  // In pieces worth a frame; and a message that has come whole needs no more.
  if (more < window / 4 || (waits && missing_ == 0 && granted_ - received_ >= kInitialWindow / 2)) return 0;
  granted_ += more;
  return static_cast<uint32_t>(more);
}

}  // namespace skein::grpc_transport
