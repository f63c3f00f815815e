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
    if (connection_.peer_has_filters()) Ask(*batch->payload->send_initial_metadata.send_initial_metadata);
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
  At(record_.times, Stage::kQueued) = sent_.queued;
  At(record_.times, Stage::kLed) = sent_.departure.led;
  At(record_.times, Stage::kPosted) = sent_.departure.posted;
  At(record_.times, Stage::kReplyArrived) = reply_.arrived;
  record_.degree = sent_.departure.degree;
  if (connection_.one_host()) {
    AddServer(server, reply_.posted);
  } else {
    AddServerOfAnotherHost(server);
  }
  complete_ = true;
}

void ClientCall::AddServer(const ServerTimes& server, uint64_t reply_posted) {
  At(record_.times, Stage::kArrived) = server.arrived;
  At(record_.times, Stage::kDispatched) = server.dispatched;
  At(record_.times, Stage::kHandlerStart) = server.handler_start;
  At(record_.times, Stage::kHandlerEnd) = server.handler_end;
  At(record_.times, Stage::kReplyPosted) = reply_posted;
}

// The latest that is known of before, and the earliest of after: what they span is longer than the network's ways, so
// the error that is stated is larger than it need be, and never smaller.
void ClientCall::AddServerOfAnotherHost(const ServerTimes& server) {
  const uint64_t out = sent_.departure.posted != 0 ? sent_.departure.posted : sent_.queued;
  const uint64_t answered = reply_.posted != 0 ? reply_.posted : server.handler_end;
  if (out != 0 && server.arrived != 0 && answered != 0 && reply_.arrived != 0) {
    connection_.AddSample({out, server.arrived, answered, reply_.arrived});
  }
  const std::optional<trace::ClockEstimate> clock = connection_.PeerClock();
  if (!clock.has_value()) return;
  const auto mine = [&](uint64_t time) { return trace::ToMyClock(time, *clock); };
  AddServer({mine(server.arrived), mine(server.dispatched), mine(server.handler_start), mine(server.handler_end)},
            mine(reply_.posted));
  record_.clock_error_ns = clock->error_ns;
}

}  // namespace skein::grpc_transport
