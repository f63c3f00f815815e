#include "grpc_transport/iomgr/server_call.h"

#include <string>
#include <utility>

#include "grpc_transport/common/call_times.h"

namespace skein::grpc_transport {

using trace::At;
using trace::Stage;

ServerCall::ServerCall(ConnectionTrace& connection, const grpc_call_element_args& /*args*/) : connection_(connection) {
  record_.side = trace::Side::kServer;
  record_.path = connection.path();
  GRPC_CLOSURE_INIT(&on_initial_, OnInitial, this, nullptr);
  GRPC_CLOSURE_INIT(&on_message_, OnMessage, this, nullptr);
}

ServerCall::~ServerCall() {
  connection_.Forget(&sent_);
  if (!kept_ || sent_.queued == 0) return;
  At(record_.times, Stage::kReplyQueued) = sent_.queued;
  At(record_.times, Stage::kReplyPosted) = sent_.departure.posted;
  record_.degree = sent_.departure.degree;
  trace::Push(record_);
}

void ServerCall::Start(grpc_transport_stream_op_batch* batch) {
  if (batch->recv_initial_metadata) {
    initial_ = batch->payload->recv_initial_metadata.recv_initial_metadata;
    initial_ready_ = std::exchange(batch->payload->recv_initial_metadata.recv_initial_metadata_ready, &on_initial_);
  }
  if (!traced_) return;
  if (batch->recv_message && At(record_.times, Stage::kHandlerStart) == 0) {
    message_ = batch->payload->recv_message.recv_message;
    message_ready_ = std::exchange(batch->payload->recv_message.recv_message_ready, &on_message_);
  }
  const bool replies = batch->send_initial_metadata || batch->send_message || batch->send_trailing_metadata;
  if (replies && At(record_.times, Stage::kHandlerEnd) == 0) At(record_.times, Stage::kHandlerEnd) = trace::Now();
  if (!batch->send_trailing_metadata) return;
  if (wanted_) Tell(*batch->payload->send_trailing_metadata.send_trailing_metadata);
  connection_.Awaits(&sent_);
}

void ServerCall::OnInitial(void* arg, grpc_error_handle error) {
  auto* const self = static_cast<ServerCall*>(arg);
  if (error.ok()) self->Begin();
  grpc_core::Closure::Run(DEBUG_LOCATION, self->initial_ready_, std::move(error));
}

void ServerCall::OnMessage(void* arg, grpc_error_handle error) {
  auto* const self = static_cast<ServerCall*>(arg);
  At(self->record_.times, Stage::kHandlerStart) = trace::Now();
  if (self->message_->has_value()) self->record_.bytes = static_cast<uint32_t>((*self->message_)->Length());
  grpc_core::Closure::Run(DEBUG_LOCATION, self->message_ready_, std::move(error));
}

void ServerCall::Begin() {
  std::string backing;
  const bool asked = initial_->GetStringValue(kTraceKey, &backing).has_value();
  if (asked) initial_->Remove(kTraceKey);  // the program at this end is not to see it
  wanted_ = asked || connection_.wanted_unasked();
  kept_ = trace::Enabled() && (wanted_ || trace::Sampled());
  traced_ = wanted_ || kept_;
  if (!traced_) return;
  const link::Arrival arrival = connection_.arrival();
  At(record_.times, Stage::kArrived) = arrival.arrived;
  At(record_.times, Stage::kDispatched) = trace::Now();
  if (!kept_) return;
  if (connection_.one_host()) At(record_.times, Stage::kPosted) = arrival.posted;
  const grpc_core::Slice* const path = initial_->get_pointer(grpc_core::HttpPathMetadata());
  if (path != nullptr) record_.method = trace::Methods().Intern(path->as_string_view());
}

void ServerCall::Tell(grpc_metadata_batch& trailing) const {
  const ServerTimes times = {At(record_.times, Stage::kArrived), At(record_.times, Stage::kDispatched),
                             At(record_.times, Stage::kHandlerStart), At(record_.times, Stage::kHandlerEnd)};
  trailing.Append(kTraceKey, grpc_core::Slice::FromCopiedString(EncodeTimes(times)),
                  [](absl::string_view, const grpc_core::Slice&) {});
}

}  // namespace skein::grpc_transport
