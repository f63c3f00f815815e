#include "grpc_transport/iomgr/client_call.h"

#include <optional>
#include <string>
#include <utility>

#include "grpc_transport/iomgr/call_origin.h"

namespace skein::grpc_transport {

using trace::At;
using trace::Stage;

ClientCall::ClientCall(ConnectionTrace& connection, const grpc_call_element_args& args) : connection_(connection) {
  record_.path = connection.path();
  At(record_.times, Stage::kSubmitted) = OriginOf(args);
  record_.method = trace::Methods().Intern(grpc_core::StringViewFromSlice(args.path));
  GRPC_CLOSURE_INIT(&on_initial_, OnInitial, this, nullptr);
  GRPC_CLOSURE_INIT(&on_trailing_, OnTrailing, this, nullptr);
}

ClientCall::~ClientCall() {
  connection_.Forget(&sent_);
  if (!complete_) return;
  At(record_.times, Stage::kReleased) = trace::Now();
  trace::Push(record_);
}

void ClientCall::Start(grpc_transport_stream_op_batch* batch) {
  if (batch->send_initial_metadata) {
    uint64_t& submitted = At(record_.times, Stage::kSubmitted);
    if (submitted == 0) submitted = trace::Now();
    if (connection_.may_ask()) Ask(*batch->payload->send_initial_metadata.send_initial_metadata);
    connection_.Awaits(&sent_);
  }
  if (batch->send_message) {
    record_.bytes = static_cast<uint32_t>(batch->payload->send_message.send_message->Length());
  }
  if (batch->recv_initial_metadata) {
    initial_ready_ = std::exchange(batch->payload->recv_initial_metadata.recv_initial_metadata_ready, &on_initial_);
  }
  if (batch->recv_trailing_metadata) {
    trailing_ = batch->payload->recv_trailing_metadata.recv_trailing_metadata;
    trailing_ready_ = std::exchange(batch->payload->recv_trailing_metadata.recv_trailing_metadata_ready, &on_trailing_);
  }
}

void ClientCall::Ask(grpc_metadata_batch& initial) {
  initial.Append(kTraceKey, grpc_core::Slice::FromStaticString(kTraceWanted),
                 [](absl::string_view, const grpc_core::Slice&) {});
}

void ClientCall::OnInitial(void* arg, grpc_error_handle error) {
  auto* const self = static_cast<ClientCall*>(arg);
  self->reply_ = self->connection_.arrival();
  grpc_core::Closure::Run(DEBUG_LOCATION, self->initial_ready_, std::move(error));
}

void ClientCall::OnTrailing(void* arg, grpc_error_handle error) {
  auto* const self = static_cast<ClientCall*>(arg);
  At(self->record_.times, Stage::kDelivered) = trace::Now();
  const ServerTimes server = self->TakeServerTimes();
  if (error.ok()) self->Complete(server);
  grpc_core::Closure::Run(DEBUG_LOCATION, self->trailing_ready_, std::move(error));
}

// The program at this end is not to see them.
ServerTimes ClientCall::TakeServerTimes() {
  std::string backing;
  const absl::optional<absl::string_view> text = trailing_->GetStringValue(kTraceKey, &backing);
  if (!text.has_value()) return {};
  const std::optional<ServerTimes> times = DecodeTimes(*text);
  trailing_->Remove(kTraceKey);
  return times.value_or(ServerTimes());
}

void ClientCall::Complete(const ServerTimes& server) {
  connection_.Forget(&sent_);
  AddTimes(sent_, reply_, server, connection_, record_);
  complete_ = true;
}

}  // namespace skein::grpc_transport
