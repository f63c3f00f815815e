#include "grpc_transport/iomgr/calls/call_transport.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "grpc_transport/iomgr/calls/metadata.h"
#include "grpc_transport/iomgr/errors.h"

namespace skein::grpc_transport {

using grpc_core::Slice;

namespace {

// Behind this number a channel is told to make another connection. The many that are left are for calls that begin
// before it has.
constexpr uint32_t kLastNumber = UINT32_MAX / 2;

// Tests of gRPC's begin where numbers end.
uint32_t NumberBeforeFirst(const grpc_core::ChannelArgs& args) {
  return static_cast<uint32_t>(std::max(args.GetInt(GRPC_ARG_HTTP2_INITIAL_SEQUENCE_NUMBER).value_or(1), 1)) - 1;
}

// As chttp2 has it.
uint32_t Setting(::grpc_transport* chttp2, grpc_chttp2_setting_set of, grpc_chttp2_setting_id setting) {
  return reinterpret_cast<grpc_chttp2_transport*>(chttp2)->settings[of][setting];
}

std::string UserAgent(const grpc_core::ChannelArgs& args) {
  std::string agent = absl::StrFormat("grpc-c/%s (%s; chttp2)", grpc_version_string(), GPR_PLATFORM_STRING);
  const absl::string_view before = args.GetString(GRPC_ARG_PRIMARY_USER_AGENT_STRING).value_or("");
  const absl::string_view behind = args.GetString(GRPC_ARG_SECONDARY_USER_AGENT_STRING).value_or("");
  if (!before.empty()) agent = absl::StrCat(before, " ", agent);
  if (!behind.empty()) absl::StrAppend(&agent, " ", behind);
  agent.resize(std::min(agent.size(), kMaxUserAgentBytes));
  // A program may have anything in it. A server takes what is legal as metadata.
  std::replace_if(
      agent.begin(), agent.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return agent;
}

}  // namespace

class CallTransport::StateWatcher final : public grpc_core::ConnectivityStateWatcherInterface {
 public:
  explicit StateWatcher(grpc_core::RefCountedPtr<CallTransport> transport) : transport_(std::move(transport)) {}
  void Notify(grpc_connectivity_state state, const absl::Status& /*status*/) override {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) {
      transport_->Drain(Unavailable("the server takes no more calls on this connection"));
    }
  }

 private:
  const grpc_core::RefCountedPtr<CallTransport> transport_;
};

CallTransport::CallTransport(::grpc_transport* transport, CallEndpoint& endpoint, bool is_client,
                             const grpc_core::ChannelArgs& args)
    : chttp2_(transport->vtable),
      transport_(transport),
      endpoint_(endpoint.Ref().release()),
      is_client_(is_client),
      own_agent_(is_client ? UserAgent(args) : ""),
      channelz_(grpc_chttp2_transport_get_socket_node(transport)),
      books_(grpc_core::MakeRefCounted<Books>(transport, *this)),
      // A client has the server's settings before it has a channel. A server does not wait for a client's.
      own_max_metadata_(Setting(transport, GRPC_LOCAL_SETTINGS, GRPC_CHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE)),
      peer_max_metadata_(is_client ? Setting(transport, GRPC_PEER_SETTINGS, GRPC_CHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE)
                                   : uint32_t{kMaxMetadataBytes}),
      own_max_calls_(Setting(transport, GRPC_LOCAL_SETTINGS, GRPC_CHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)),
      peer_max_calls_(is_client ? Setting(transport, GRPC_PEER_SETTINGS, GRPC_CHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
                                : 0),
      last_number_(is_client ? NumberBeforeFirst(args) : 0) {
  table_.functions = {sizeof(Call),    kCallTransportName, InitStream,    nullptr, SetPollset, SetPollsetSet,
                      PerformStreamOp, PerformOp,          DestroyStream, Destroy, GetEndpoint};
  table_.self = this;
  grpc_core::RefCountedPtr<CallTransport> self(static_cast<CallTransport*>(Ref().release()));
  transport->vtable = &table_.functions;
  endpoint_->SetSink(self);
  grpc_transport_op* op = grpc_make_transport_op(nullptr);
  op->start_connectivity_watch = grpc_core::MakeOrphanable<StateWatcher>(self);
  op->start_connectivity_watch_state = GRPC_CHANNEL_READY;
  chttp2_->perform_op(transport, op);
}

// ---- gRPC's table ----

int CallTransport::InitStream(::grpc_transport* transport, grpc_stream* stream, grpc_stream_refcount* refs,
                              const void* server_data, grpc_core::Arena* /*arena*/) {
  CallTransport& self = Of(transport);
  Call* const call = new (stream) Call(self, refs);
  if (server_data == nullptr) return 0;
  auto* const accepted = static_cast<Accepted*>(const_cast<void*>(server_data));
  call->outgoing().Accept(accepted->number);
  GRPC_CLOSURE_INIT(&call->on_sent_all, OnSentAll, call, nullptr);
  call->Ref();
  accepted->call = call;
  MutexLock lock(&self.mu_);
  self.List(*call);
  return 0;
}

void CallTransport::DestroyStream(::grpc_transport* /*transport*/, grpc_stream* stream, grpc_closure* then) {
  CallOf(stream).~Call();
  grpc_core::ExecCtx::Run(DEBUG_LOCATION, then, absl::OkStatus());
}

// What is asked for comes first: once what is sent is done, gRPC may take the batch back.
void CallTransport::PerformStreamOp(::grpc_transport* transport, grpc_stream* stream,
                                    grpc_transport_stream_op_batch* op) {
  CallTransport& self = Of(transport);
  Call& call = CallOf(stream);
  if (op->recv_initial_metadata || op->recv_message || op->recv_trailing_metadata) {
    self.Do(call, call.Receive(*op, self.peer()));
  }
  if (op->cancel_stream) {
    self.Do(call, call.Fail(op->payload->cancel_stream.cancel_error, self.peer()));
  } else if (op->send_initial_metadata || op->send_message || op->send_trailing_metadata) {
    return self.Send(call, *op);
  }
  if (op->on_complete != nullptr) grpc_core::ExecCtx::Run(DEBUG_LOCATION, op->on_complete, absl::OkStatus());
}

void CallTransport::PerformOp(::grpc_transport* transport, grpc_transport_op* op) {
  CallTransport& self = Of(transport);
  if (std::exchange(op->set_accept_stream, false)) {
    MutexLock lock(&self.accept_mu_);
    self.accept_ = op->set_accept_stream_fn;
    self.accept_data_ = op->set_accept_stream_user_data;
  }
  // Before chttp2 hears of it: the placeholder of a connection without calls is closed by then.
  if (!op->goaway_error.ok()) {
    self.Drain(op->goaway_error);
    self.SayDrain();
  }
  self.chttp2_->perform_op(transport, op);
}

// chttp2 may have a write out, and what calls send would reach the client before GOAWAY does. The client then would
// begin another call, which a server that shuts down ends with CANCELLED.
void CallTransport::SayDrain() {
  if (is_client_) return;
  FrameHeader header;
  header.kind = FrameKind::kDrain;
  endpoint_->AddFrame(header);
  endpoint_->Flush();
}

void CallTransport::Destroy(::grpc_transport* transport) {
  CallTransport& self = Of(transport);
  self.OnConnectionEnd(GRPC_ERROR_CREATE("the transport is destroyed"));
  transport->vtable = self.chttp2_;
  self.endpoint_->DropSink();
  self.books_->End();
  transport->vtable->destroy(transport);
  self.Unref();
}

// ---- Sending ----

void CallTransport::Send(Call& call, grpc_transport_stream_op_batch& op) {
  const auto done = [&op](const grpc_error_handle& error) {
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, op.on_complete, error);
  };
  if (op.send_initial_metadata && op.payload->send_initial_metadata.peer_string != nullptr) {
    gpr_atm_rel_store(op.payload->send_initial_metadata.peer_string,
                      reinterpret_cast<gpr_atm>(endpoint_->peer().c_str()));
  }
  Batch batch;
  PutInto(batch, op, !is_client_);
  if (!call.BeginSend(op, batch, peer())) return done(NotSent(op, GRPC_ERROR_CREATE("the call takes no more")));
  if (grpc_error_handle error = CheckSize(batch, op, peer_max_metadata_); !error.ok()) {
    Do(call, call.Fail(error, peer()));
    return done(NotSent(op, error));
  }
  const bool begins = is_client_ && op.send_initial_metadata;
  const bool ends = !is_client_ && op.send_trailing_metadata;
  const bool has_message = op.send_message;
  bool* const sent = op.send_trailing_metadata ? op.payload->send_trailing_metadata.sent : nullptr;
  if (sent != nullptr) *sent = true;
  if (ends) {
    call.Ref();
    batch.on_end = &call.on_sent_all;
  }
  absl::StatusOr<SendQueue::Added> added = SendQueue::Added::kDropped;
  if (begins) {
    MutexLock lock(&mu_);
    if (grpc_error_handle error = Admit(call); !error.ok()) {
      added = error;
    } else {
      added = endpoint_->Add(call.outgoing(), batch, op.on_complete);
    }
  } else {
    added = endpoint_->Add(call.outgoing(), batch, op.on_complete);
  }
  if (!added.ok() || *added == SendQueue::Added::kDropped) {
    if (sent != nullptr) *sent = false;
    if (ends) call.Unref();
    if (added.ok()) return done(NotSent(op, GRPC_ERROR_CREATE("the call has ended meanwhile")));
    const grpc_error_handle why = OrUnavailable(added.status());
    const grpc_error_handle result = NotSent(op, why);
    if (!endpoint_->Announced(call.outgoing())) return Refuse(call, why, op.on_complete, result);
    Do(call, call.Fail(why, peer()));
    return done(result);
  }
  if (ends && *added == SendQueue::Added::kAll) {
    Sent(call);
    call.Unref();
  }
  if (has_message && channelz_ != nullptr) channelz_->RecordMessagesSent(1);
  books_->Sent();
  endpoint_->Flush();
}

grpc_error_handle CallTransport::Admit(Call& call) {
  if (!draining_.ok()) return draining_;
  // From here on the call is listed or waits, and Forget counts its end.
  if (channelz_ != nullptr) channelz_->RecordStreamStartedFromLocal();
  SayHello();
  if (!paused_ && calls_.size() < peer_max_calls_) {
    GiveNumber(call);
  } else {
    call.Ref();
    unstarted_.push_back(&call);
  }
  return absl::OkStatus();
}

void CallTransport::SayHello() {
  if (std::exchange(said_hello_, true)) return;
  FrameHeader header;
  header.kind = FrameKind::kHello;
  header.length = static_cast<uint32_t>(own_agent_.size());
  endpoint_->AddFrame(header, own_agent_);
}

// Numbers rise in the order of the frames that begin calls: both are given under mu_.
void CallTransport::GiveNumber(Call& call) {
  endpoint_->Start(call.outgoing(), ++last_number_);
  if (last_number_ == kLastNumber) books_->EndNewCalls();
  List(call);
}

void CallTransport::Sent(Call& call) {
  call.SentAll(peer());
  Forget(call, /*succeeded=*/true);
}

void CallTransport::OnSentAll(void* arg, grpc_error_handle error) {
  Call& call = *static_cast<Call*>(arg);
  if (error.ok()) call.transport().Sent(call);
  call.Unref();
}

// ---- The calls under way ----

Call* CallTransport::Find(uint32_t number) {
  MutexLock lock(&mu_);
  const auto found = calls_.find(number);
  if (found == calls_.end()) return nullptr;
  found->second->Ref();
  return found->second;
}

bool CallTransport::Known(uint32_t number) {
  MutexLock lock(&mu_);
  return number <= last_number_;
}

void CallTransport::List(Call& call) {
  call.Ref();
  call.listed = true;
  calls_.emplace(call.outgoing().call(), &call);
  books_->CallBegins();
}

void CallTransport::Forget(Call& call, bool succeeded) {
  {
    MutexLock lock(&mu_);
    if (std::exchange(call.listed, false)) {
      calls_.erase(call.outgoing().call());
    } else {
      const auto waits = std::find(unstarted_.begin(), unstarted_.end(), &call);
      if (waits == unstarted_.end()) return;
      unstarted_.erase(waits);
    }
    while (!unstarted_.empty() && calls_.size() < peer_max_calls_ && !paused_ && draining_.ok()) {
      GiveNumber(*unstarted_.front());
      unstarted_.front()->Unref();
      unstarted_.pop_front();
    }
    if (calls_.empty()) books_->LastCallEnds(/*close=*/!draining_.ok());
  }
  if (channelz_ != nullptr) succeeded ? channelz_->RecordStreamSucceeded() : channelz_->RecordStreamFailed();
  call.Unref();
}

void CallTransport::Drain(const grpc_error_handle& why) {
  std::deque<Call*> unstarted;
  {
    MutexLock lock(&mu_);
    if (draining_.ok()) draining_ = why;
    for (Call* call : unstarted_) call->Ref();
    unstarted = unstarted_;
    if (calls_.empty()) books_->LastCallEnds(/*close=*/true);
  }
  for (Call* call : unstarted) {
    Refuse(*call, why);
    call->Unref();
  }
}

// gRPC retries the call at once, and picks this connection until the channel hears of its end. A thread of gRPC's runs
// all its closures before it goes on with a combiner, and the channel hears by chttp2's combiner: refusals by closures
// alone could keep the thread from it for ever. A refusal in the combiner queues behind whatever is there, and so
// leaves the news its turn. (Calls go round so while chttp2 awaits the end of a write before it ends: 100 ms at most.)
// The batch is complete behind the call's failure: gRPC cancels a call whose batch fails first, and does not retry it.
void CallTransport::Refuse(Call& call, const grpc_error_handle& why, grpc_closure* on_complete,
                           const grpc_error_handle& result) {
  Forget(call, /*succeeded=*/false);
  call.Ref();
  const auto fail = [this, &call, why, on_complete, result](const grpc_error_handle& /*error*/) {
    Do(call, call.Fail(why, peer(), grpc_core::GrpcStreamNetworkState::kNotSentOnWire));
    if (on_complete != nullptr) grpc_core::ExecCtx::Run(DEBUG_LOCATION, on_complete, result);
    call.Unref();
  };
  chttp2_->perform_op(transport_, grpc_make_transport_op(grpc_core::NewClosure(fail)));
}

// As chttp2 does: any of them.
void CallTransport::GiveUpACall() {
  Call* call = nullptr;
  {
    MutexLock lock(&mu_);
    if (calls_.empty()) return books_->LastCallEnds(/*close=*/true);
    call = calls_.begin()->second;
    call->Ref();
  }
  const grpc_error_handle error = grpc_error_set_int(
      GRPC_ERROR_CREATE("Buffers full"), grpc_core::StatusIntProperty::kHttp2Error, GRPC_HTTP2_ENHANCE_YOUR_CALM);
  Do(*call, call->Fail(error, peer()));
  call->Unref();
}

void CallTransport::OnConnectionEnd(const grpc_error_handle& why) {
  const grpc_error_handle error = OrUnavailable(why);
  Drain(error);
  std::vector<std::pair<Call*, bool>> calls;  // and whether the server has seen it
  FrameHeader goodbye;
  goodbye.kind = FrameKind::kGoodbye;
  {
    MutexLock lock(&mu_);
    if (!ended_.ok()) return;
    ended_ = error;
    for (const auto& [number, call] : calls_) {
      call->Ref();
      calls.emplace_back(call, number <= goodbye_);
    }
    goodbye.call = last_number_;
  }
  for (const auto& [call, seen] : calls) {
    if (!endpoint_->Announced(call->outgoing())) {
      Refuse(*call, error);
    } else {
      const auto state = seen ? std::nullopt : std::optional(grpc_core::GrpcStreamNetworkState::kNotSeenByServer);
      Call::After after = call->Fail(error, peer(), state);
      const bool tell = after.tell && !is_client_;  // a connection that a server ends still carries what is queued
      after = EndedByPeer(std::move(after));
      after.tell = tell;
      Do(*call, after);
    }
    call->Unref();
  }
  if (!is_client_) endpoint_->AddFrame(goodbye);
}

}  // namespace skein::grpc_transport
