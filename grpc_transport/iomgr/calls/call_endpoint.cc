#include "grpc_transport/iomgr/calls/call_endpoint.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc_transport/iomgr/errors.h"

namespace skein::grpc_transport {
namespace {

// chttp2 reads nearly always. A peer sends little while it does not.
constexpr size_t kMaxUnreadHttp2Bytes = size_t{1} << 20;

}  // namespace

grpc_endpoint* CallEndpoint::Create(grpc_endpoint* connection) {
  return &(new CallEndpoint(connection))->base_.endpoint;
}

CallEndpoint* CallEndpoint::Of(grpc_endpoint* endpoint) {
  return endpoint != nullptr && endpoint->vtable == &kVtable ? Self(endpoint) : nullptr;
}

CallEndpoint::CallEndpoint(grpc_endpoint* connection)
    : connection_(connection),
      peer_(grpc_endpoint_get_peer(connection)),
      local_address_(grpc_endpoint_get_local_address(connection)) {
  base_.endpoint.vtable = &kVtable;
  base_.self = this;
  grpc_slice_buffer_init(&arrived_);
  GRPC_CLOSURE_INIT(&on_read_, OnRead, this, nullptr);
  GRPC_CLOSURE_INIT(&on_written_, OnWritten, this, nullptr);
}

CallEndpoint::~CallEndpoint() {
  grpc_slice_buffer_destroy(&arrived_);
  grpc_endpoint_destroy(connection_);
}

void CallEndpoint::SetSink(grpc_core::RefCountedPtr<CallSink> sink) {
  MutexLock lock(&mu_);
  sink_ = std::move(sink);
}

void CallEndpoint::DropSink() {
  grpc_core::RefCountedPtr<CallSink> dropped;
  MutexLock lock(&mu_);
  dropped = std::move(sink_);
}

grpc_core::RefCountedPtr<CallSink> CallEndpoint::sink() {
  MutexLock lock(&mu_);
  return sink_;
}

// ---- Reading ----

void CallEndpoint::Read(grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, bool /*urgent*/,
                        int /*at_least*/) {
  CallEndpoint* const self = Self(endpoint);
  grpc_slice_buffer_reset_and_unref(slices);
  {
    MutexLock lock(&self->mu_);
    self->read_slices_ = slices;
    self->read_done_ = done;
    if (self->http2_.Length() > 0) {
      grpc_slice_buffer_move_into(self->http2_.c_slice_buffer(), slices);
      return self->FinishRead(absl::OkStatus());
    }
    if (!self->shutdown_.ok()) return self->FinishRead(self->shutdown_);
    if (!self->read_error_.ok()) return self->FinishRead(self->read_error_);
    if (std::exchange(self->reading_, true)) return;
  }
  self->Ref().release();
  self->ReadMore();
}

void CallEndpoint::ReadMore() {
  grpc_endpoint_read(connection_, &arrived_, &on_read_, /*urgent=*/false, /*min_progress_size=*/1);
}

void CallEndpoint::OnRead(void* arg, grpc_error_handle error) {
  auto* const self = static_cast<CallEndpoint*>(arg);
  if (error.ok()) {
    const absl::Status status = self->reader_.Read(self->arrived_, *self);
    if (status.ok()) return self->ReadMore();
    gpr_log(GPR_ERROR, "skein: the peer %s: %s", self->peer_.c_str(), std::string(status.message()).c_str());
    error = Unavailable(absl::StrCat("skein: the peer's calls: ", status.message()));
  }
  self->EndReading(error);
  self->Unref();
}

void CallEndpoint::EndReading(const grpc_error_handle& why) {
  {
    MutexLock lock(&mu_);
    read_error_ = why;
    if (read_done_ != nullptr) FinishRead(why);
  }
  reading_sink_ = nullptr;
  if (const auto sink = this->sink(); sink != nullptr) sink->OnConnectionEnd(why);
}

void CallEndpoint::FinishRead(grpc_error_handle error) {
  grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(read_done_, nullptr), std::move(error));
}

absl::Status CallEndpoint::OnHttp2(grpc_core::Slice bytes) {
  MutexLock lock(&mu_);
  if (read_done_ != nullptr) {
    grpc_slice_buffer_add_indexed(read_slices_, bytes.TakeCSlice());
    FinishRead(absl::OkStatus());
    return absl::OkStatus();
  }
  http2_.AppendIndexed(std::move(bytes));
  if (http2_.Length() <= kMaxUnreadHttp2Bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError("too much HTTP/2 beside calls");
}

absl::Status CallEndpoint::OnFrame(const FrameHeader& header, const grpc_core::Slice& metadata,
                                   grpc_core::SliceBuffer& message) {
  if (reading_sink_ == nullptr) reading_sink_ = sink();
  return reading_sink_ == nullptr ? absl::OkStatus() : reading_sink_->OnCallFrame(header, metadata, message);
}

// ---- Writing ----

void CallEndpoint::Write(grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, void* /*arg*/,
                         int /*max_frame*/) {
  CallEndpoint* const self = Self(endpoint);
  {
    MutexLock lock(&self->mu_);
    self->write_done_ = done;
    if (!self->shutdown_.ok()) return self->FinishWrite(self->shutdown_);
    self->queue_.AddHttp2(*slices);
    self->http2_queued_ = true;
  }
  self->Flush();
}

absl::StatusOr<SendQueue::Added> CallEndpoint::Add(Outgoing& call, Batch& batch, grpc_closure* done) {
  MutexLock lock(&mu_);
  if (!shutdown_.ok()) return shutdown_;
  return queue_.Add(call, batch, done);
}

void CallEndpoint::Start(Outgoing& call, uint32_t number) {
  MutexLock lock(&mu_);
  queue_.Start(call, number);
}

bool CallEndpoint::Grant(Outgoing& call, uint32_t bytes) {
  MutexLock lock(&mu_);
  return queue_.Grant(call, bytes);
}

SendQueue::PeerAwaits CallEndpoint::Drop(Outgoing& call, const grpc_error_handle& why) {
  MutexLock lock(&mu_);
  return queue_.Drop(call, why);
}

bool CallEndpoint::Ended(const Outgoing& call) {
  MutexLock lock(&mu_);
  return SendQueue::Ended(call);
}

bool CallEndpoint::Announced(const Outgoing& call) {
  MutexLock lock(&mu_);
  return SendQueue::Announced(call);
}

void CallEndpoint::AddFrame(const FrameHeader& header, absl::string_view body) {
  MutexLock lock(&mu_);
  queue_.AddFrame(header, body);
}

// One write is out at a time. A thread that finds one out leaves the queue to that write's end.
void CallEndpoint::Flush() {
  grpc_error_handle end;
  {
    MutexLock lock(&mu_);
    if (writing_ || queue_.closed()) return;
    if (!queue_.empty()) queue_.Take(writing_bytes_);
    writing_ = writing_bytes_.Length() > 0;
    http2_writing_ = std::exchange(http2_queued_, false);
    if (!writing_) {
      // Calls that wait for their peer's window keep the queue's turns, but no bytes.
      if (shutdown_.ok()) return;
      queue_.Close();
      end = shutdown_;
    }
  }
  if (!end.ok()) return grpc_endpoint_shutdown(connection_, end);
  Ref().release();
  grpc_endpoint_write(connection_, writing_bytes_.c_slice_buffer(), &on_written_, nullptr, /*max_frame_size=*/INT_MAX);
}

void CallEndpoint::OnWritten(void* arg, grpc_error_handle error) {
  grpc_core::RefCountedPtr<CallEndpoint> self(static_cast<CallEndpoint*>(arg));
  {
    MutexLock lock(&self->mu_);
    self->writing_ = false;
    self->writing_bytes_.Clear();
    if (std::exchange(self->http2_writing_, false)) self->FinishWrite(error);
    if (!error.ok() && self->shutdown_.ok()) self->shutdown_ = error;  // the read fails, too, and tells chttp2
  }
  self->Flush();
}

void CallEndpoint::FinishWrite(grpc_error_handle error) {
  grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(write_done_, nullptr), std::move(error));
}

// ---- The end ----

void CallEndpoint::Shutdown(grpc_endpoint* endpoint, grpc_error_handle why) {
  CallEndpoint* const self = Self(endpoint);
  if (why.ok()) why = Unavailable("endpoint shut down");
  if (const auto sink = self->sink(); sink != nullptr) sink->OnConnectionEnd(why);
  {
    MutexLock lock(&self->mu_);
    if (self->shutdown_.ok()) self->shutdown_ = why;
    if (self->read_done_ != nullptr) self->FinishRead(why);
  }
  self->Flush();
}

void CallEndpoint::Destroy(grpc_endpoint* endpoint) {
  Shutdown(endpoint, GRPC_ERROR_CREATE("endpoint destroyed"));
  Self(endpoint)->Unref();
}

const grpc_endpoint_vtable CallEndpoint::kVtable = {
    Read, Write,        AddToPollset, AddToPollsetSet, DeleteFromPollsetSet, Shutdown, Destroy,
    Peer, LocalAddress, Fd,           CanTrackErrors};

}  // namespace skein::grpc_transport
