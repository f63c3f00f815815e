#include "grpc_transport/iomgr/tcp_endpoint.h"

#include <algorithm>
#include <utility>

#include "grpc_transport/common/offer_bytes.h"
#include "grpc_transport/common/slice_bytes.h"

namespace skein::grpc_transport {
namespace {

// Reads and writes never overlap their own kind (the endpoint contract), so the fields of each need no lock.
class TcpEndpoint {
 public:
  TcpEndpoint(grpc_endpoint* tcp, grpc_core::RefCountedPtr<TcpReader> reader, bool preface_sent, ListedPath path,
              grpc_core::RefCountedPtr<ConnectionTrace> trace)
      : tcp_(tcp),
        reader_(std::move(reader)),
        path_(std::move(path)),
        trace_(std::move(trace)),
        preface_left_(preface_sent ? kHttp2Preface.size() : 0) {
    base_.vtable = &kVtable;
    GRPC_CLOSURE_INIT(&on_adopted_, OnAdopted, this, nullptr);
    GRPC_CLOSURE_INIT(&on_traced_, OnTraced, this, nullptr);
  }
  grpc_endpoint* base() { return &base_; }

 private:
  static TcpEndpoint* Of(grpc_endpoint* endpoint) { return reinterpret_cast<TcpEndpoint*>(endpoint); }
  static grpc_endpoint* Tcp(grpc_endpoint* endpoint) { return Of(endpoint)->tcp_; }

  static void Read(grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, bool urgent, int minimum) {
    TcpEndpoint* self = Of(endpoint);
    if (self->reader_ == nullptr || self->reader_->idle()) {
      self->reader_ = nullptr;
      if (trace::Enabled()) {
        self->read_done_ = std::exchange(done, &self->on_traced_);
        self->held_.fetch_add(1, std::memory_order_relaxed);
      }
      return grpc_endpoint_read(self->tcp_, slices, done, urgent, minimum);
    }
    grpc_slice_buffer_reset_and_unref(slices);
    self->read_slices_ = slices;
    self->read_done_ = done;
    self->held_.fetch_add(1, std::memory_order_relaxed);
    self->reader_->Read(&self->on_adopted_);
  }

  static void OnAdopted(void* arg, grpc_error_handle error) {
    auto* self = static_cast<TcpEndpoint*>(arg);
    // Not after Destroy: the transport has let go of its buffer only when this callback has run, so it is still there.
    self->reader_->MoveInto(self->read_slices_);
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(self->read_done_, nullptr), std::move(error));
    self->LetGo();
  }

  static void OnTraced(void* arg, grpc_error_handle error) {
    auto* self = static_cast<TcpEndpoint*>(arg);
    self->trace_->Came({.arrived = trace::Now()});
    grpc_core::Closure::Run(DEBUG_LOCATION, std::exchange(self->read_done_, nullptr), std::move(error));
    self->LetGo();
  }

  static void Write(grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, void* arg, int max_frame) {
    TcpEndpoint* self = Of(endpoint);
    const size_t left_out = std::min(self->preface_left_, slices->length);
    if (left_out > 0) {
      DropFirst(slices, left_out);
      self->preface_left_ -= left_out;
    }
    if (slices->length == 0) return grpc_core::ExecCtx::Run(DEBUG_LOCATION, done, absl::OkStatus());
    if (!self->trace_->Writing()) return grpc_endpoint_write(self->tcp_, slices, done, arg, max_frame);
    const grpc_core::RefCountedPtr<ConnectionTrace> trace = self->trace_;  // the write may be the endpoint's last
    grpc_endpoint_write(self->tcp_, slices, done, arg, max_frame);
    trace->Wrote({.posted = trace::Now(), .degree = 1});
  }

  static void Destroy(grpc_endpoint* endpoint) {
    TcpEndpoint* self = Of(endpoint);
    self->path_ = nullptr;
    grpc_endpoint_destroy(self->tcp_);
    self->LetGo();
  }

  // The owner's hold and that of an adopted read under way.
  void LetGo() {
    if (held_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  static void AddToPollset(grpc_endpoint* e, grpc_pollset* p) { grpc_endpoint_add_to_pollset(Tcp(e), p); }
  static void AddToPollsetSet(grpc_endpoint* e, grpc_pollset_set* p) { grpc_endpoint_add_to_pollset_set(Tcp(e), p); }
  static void DeleteFromPollsetSet(grpc_endpoint* e, grpc_pollset_set* p) {
    grpc_endpoint_delete_from_pollset_set(Tcp(e), p);
  }
  static void Shutdown(grpc_endpoint* e, grpc_error_handle why) { grpc_endpoint_shutdown(Tcp(e), std::move(why)); }
  static absl::string_view Peer(grpc_endpoint* e) { return grpc_endpoint_get_peer(Tcp(e)); }
  static absl::string_view LocalAddress(grpc_endpoint* e) { return grpc_endpoint_get_local_address(Tcp(e)); }
  static int Fd(grpc_endpoint* e) { return grpc_endpoint_get_fd(Tcp(e)); }
  static bool CanTrackErrors(grpc_endpoint* e) { return grpc_endpoint_can_track_err(Tcp(e)); }

  static const grpc_endpoint_vtable kVtable;

  grpc_endpoint base_;  // first: gRPC's pointer to it is a pointer to this
  grpc_endpoint* const tcp_;
  grpc_core::RefCountedPtr<TcpReader> reader_;  // until its read is used up
  ListedPath path_;
  const grpc_core::RefCountedPtr<ConnectionTrace> trace_;
  size_t preface_left_;
  grpc_closure on_adopted_;
  grpc_closure on_traced_;
  grpc_slice_buffer* read_slices_ = nullptr;
  grpc_closure* read_done_ = nullptr;
  std::atomic<int> held_{1};  // last decrement acquires what the others released
};

const grpc_endpoint_vtable TcpEndpoint::kVtable = {
    Read, Write,        AddToPollset, AddToPollsetSet, DeleteFromPollsetSet, Shutdown, Destroy,
    Peer, LocalAddress, Fd,           CanTrackErrors};

}  // namespace

grpc_endpoint* NewTcpEndpoint(grpc_endpoint* tcp, grpc_core::RefCountedPtr<TcpReader> reader, bool preface_sent,
                              ListedPath path, grpc_core::RefCountedPtr<ConnectionTrace> trace) {
  return (new TcpEndpoint(tcp, std::move(reader), preface_sent, std::move(path), std::move(trace)))->base();
}

}  // namespace skein::grpc_transport
