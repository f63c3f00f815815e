#include "grpc_transport/iomgr/skein_endpoint.h"

#include <sys/socket.h>

#include <atomic>
#include <string>
#include <utility>

#include "core/base/forked.h"
#include "core/link/link.h"
#include "grpc_transport/common/slice_bytes.h"
#include "grpc_transport/common/stream_connection.h"
#include "grpc_transport/iomgr/ensure_exec_ctx.h"
#include "grpc_transport/iomgr/errors.h"

namespace skein::grpc_transport {
namespace {

// Of the connection's own errors: callers may retry. gRPC's say themselves what they are.
grpc_error_handle ForGrpc(absl::Status status) {
  if (status.ok() || !absl::IsUnavailable(status)) return status;
  return Unavailable(status.message());
}

// Callbacks of gRPC are scheduled, never run inline. Shut down with nothing to send, it gives stream and connection
// back at once: gRPC 1.51 never destroys some of the endpoints that it has shut down.
class SkeinEndpoint final : public StreamConnection {
 public:
  SkeinEndpoint(Parts parts, grpc_endpoint* tcp, grpc_core::RefCountedPtr<TcpReader> reader,
                std::unique_ptr<Waiter::User> user, grpc_core::RefCountedPtr<ConnectionTrace> trace, Quota quota)
      : StreamConnection(std::move(parts)),
        reader_(std::move(reader)),
        trace_(std::move(trace)),
        peer_(grpc_endpoint_get_peer(tcp)),
        local_address_(grpc_endpoint_get_local_address(tcp)),
        fd_(grpc_endpoint_get_fd(tcp)),
        tcp_(tcp),
        user_(std::move(user)),
        quota_(std::move(quota)) {
    base_.endpoint.vtable = &kVtable;
    base_.self = this;
  }

  grpc_endpoint* Begin() {
    owners_ = Self();
    Start();
    reader_->Read(grpc_core::NewClosure([self = Self()](grpc_error_handle error) { self->TcpCame(error); }));
    return &base_.endpoint;
  }

  void OnReadable() override {
    EnsureExecCtx exec_ctx;
    StreamConnection::OnReadable();
  }
  void OnWritable() override {
    EnsureExecCtx exec_ctx;
    StreamConnection::OnWritable();
  }

 private:
  struct Base {
    grpc_endpoint endpoint;  // first: gRPC's pointer to it is a pointer to this
    SkeinEndpoint* self;
  };
  static SkeinEndpoint* Of(grpc_endpoint* endpoint) { return reinterpret_cast<Base*>(endpoint)->self; }
  std::shared_ptr<SkeinEndpoint> Self() { return std::static_pointer_cast<SkeinEndpoint>(shared_from_this()); }

  static void Read(grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, bool, int) {
    SkeinEndpoint* self = Of(endpoint);
    grpc_slice_buffer_reset_and_unref(slices);
    if (InForkedChild()) return Schedule(done, MadeBeforeFork());
    MutexLock lock(&self->mu_);
    self->read_done_ = done;
    if (Result result = self->BeginRead(slices); result.has_value()) self->FinishRead(*std::move(result));
  }

  // LeaveSoon's closure keeps this object: it runs behind this call.
  static void Write(grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, void*, int) {
    SkeinEndpoint* self = Of(endpoint);
    if (InForkedChild()) return Schedule(done, MadeBeforeFork());
    MutexLock lock(&self->mu_);
    self->write_done_ = done;
    if (Result result = self->BeginWrite(slices); result.has_value()) self->FinishWrite(*std::move(result));
  }

  static void Schedule(grpc_closure* done, absl::Status status) {
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, done, ForGrpc(std::move(status)));
  }
  void FinishRead(absl::Status status) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Schedule(std::exchange(read_done_, nullptr), std::move(status));
  }
  void FinishWrite(absl::Status status) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Schedule(std::exchange(write_done_, nullptr), std::move(status));
  }
  void RunSoon(std::function<void()> act) override {
    grpc_closure* closure = grpc_core::NewClosure([act = std::move(act)](grpc_error_handle /*error*/) { act(); });
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, closure, absl::OkStatus());
  }

  // gRPC's shutdown ends its timers.
  void StartTimer(Timer timer, absl::Duration after) override {
    grpc_closure* fired = grpc_core::NewClosure(
        [self = Self(), timer](grpc_error_handle error) { self->OnTimer(timer, /*over=*/!error.ok()); });
    const auto due = grpc_core::Timestamp::Now() + grpc_core::Duration::Milliseconds(absl::ToInt64Milliseconds(after));
    grpc_timer_init(timer == Timer::kSilence ? &silence_ : &drain_, due, fired);
  }
  void StopTimer() override { grpc_timer_cancel(&silence_); }

  grpc_slice Received(stream::Buffer buffer) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return ReceivedSlice(std::move(buffer), quota_);
  }
  // If memory is short, gRPC's quota ends connections whose peers do not read the bytes that are kept for them.
  std::shared_ptr<void> Reserve(size_t bytes) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    auto reserved = std::make_shared<Quota::Reservation>(quota_.MakeReservation(bytes));
    if (!std::exchange(reclaimable_, true)) {
      quota_.PostReclaimer(grpc_core::ReclamationPass::kDestructive,
                           [self = Self()](absl::optional<grpc_core::ReclamationSweep> sweep) {
                             if (sweep.has_value()) self->GiveUpWhatIsKept();
                           });
    }
    return reserved;
  }
  void GiveUpWhatIsKept() {
    if (InForkedChild()) return;
    MutexLock lock(&mu_);
    reclaimable_ = false;
    LoseKept("memory is short, and the peer does not read what is kept for it");
  }

  absl::StatusOr<size_t> WriteTo(stream::Stream& stream, absl::Span<const stream::ConstBytes> parts) override {
    const bool traced = trace_->Writing();
    absl::StatusOr<size_t> taken = stream.Write(parts);
    if (traced) [[unlikely]]
      trace_->Wrote(trace::Enabled() && taken.ok() && *taken > 0 ? link::last_departure : link::Departure{});
    return taken;
  }
  void Came(stream::Stream& stream) override {
    const link::Arrival arrival = stream.last_arrival();
    if (arrival.arrived != 0 || trace_->peer_traces()) [[unlikely]]
      trace_->Came(arrival);
  }

  void SendOnTcp(absl::string_view bytes) override {
    send(fd_.load(std::memory_order_relaxed), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  void TcpCame(const grpc_error_handle& error) {
    if (!error.ok()) return OnTcp(absl::UnavailableError(grpc_core::StatusToString(error)));
    grpc_slice_buffer slices;
    grpc_slice_buffer_init(&slices);
    reader_->MoveInto(&slices);
    const std::string bytes = FirstBytesOf(slices, /*most=*/2);
    grpc_slice_buffer_destroy(&slices);
    OnTcp(bytes);
  }

  // Nothing else uses these any more, so they need no lock.
  void LetGo() override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    fd_.store(-1, std::memory_order_relaxed);
    grpc_endpoint_shutdown(tcp_, GRPC_ERROR_CREATE("the Skein endpoint was shut down"));
    grpc_endpoint_destroy(std::exchange(tcp_, nullptr));
    user_ = nullptr;
    quota_.Reset();
  }

  static void Shutdown(grpc_endpoint* endpoint, grpc_error_handle why) {
    Of(endpoint)->StreamConnection::Shutdown(why.ok() ? absl::UnavailableError("endpoint shut down") : std::move(why));
  }
  static void Destroy(grpc_endpoint* endpoint) {
    Shutdown(endpoint, GRPC_ERROR_CREATE("endpoint destroyed"));
    const std::shared_ptr<SkeinEndpoint> last = std::move(Of(endpoint)->owners_);
  }

  // There are streams with the engine epoll1 alone. Every pollset of epoll1 has every descriptor: the TCP connection's,
  // and the link's, which the Waiter watches. gRPC comes here for each call, so these must not wait for a writer's
  // lock.
  static void AddToPollset(grpc_endpoint* /*e*/, grpc_pollset* /*p*/) {}
  static void AddToPollsetSet(grpc_endpoint* /*e*/, grpc_pollset_set* /*p*/) {}
  static void DeleteFromPollsetSet(grpc_endpoint* /*e*/, grpc_pollset_set* /*p*/) {}
  static absl::string_view Peer(grpc_endpoint* e) { return Of(e)->peer_; }
  static absl::string_view LocalAddress(grpc_endpoint* e) { return Of(e)->local_address_; }
  static int Fd(grpc_endpoint* e) { return Of(e)->fd_.load(std::memory_order_relaxed); }
  static bool CanTrackErrors(grpc_endpoint*) { return false; }

  static const grpc_endpoint_vtable kVtable;

  Base base_;
  const grpc_core::RefCountedPtr<TcpReader> reader_;
  const grpc_core::RefCountedPtr<ConnectionTrace> trace_;
  const std::string peer_;
  const std::string local_address_;

  // Of TCP's socket, until LetGo; relaxed: a number that comes alone.
  std::atomic<int> fd_;
  std::shared_ptr<SkeinEndpoint> owners_;  // gRPC's share, until Destroy

  // Until LetGo:
  grpc_endpoint* tcp_;
  std::unique_ptr<Waiter::User> user_;
  Quota quota_ ABSL_GUARDED_BY(mu_);  // of what is read, and kept

  grpc_closure* read_done_ ABSL_GUARDED_BY(mu_) = nullptr;
  grpc_closure* write_done_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool reclaimable_ ABSL_GUARDED_BY(mu_) = false;  // the quota may ask for what is kept
  grpc_timer silence_;
  grpc_timer drain_;
};

const grpc_endpoint_vtable SkeinEndpoint::kVtable = {
    Read, Write,        AddToPollset, AddToPollsetSet, DeleteFromPollsetSet, Shutdown, Destroy,
    Peer, LocalAddress, Fd,           CanTrackErrors};

}  // namespace

grpc_endpoint* NewSkeinEndpoint(std::shared_ptr<stream::Stream> stream, grpc_endpoint* tcp,
                                grpc_core::RefCountedPtr<TcpReader> reader, std::unique_ptr<Waiter::User> user,
                                ListedPath path, grpc_core::RefCountedPtr<ConnectionTrace> trace, Quota quota,
                                std::function<void()> on_lost) {
  std::shared_ptr<wait::Busy> busy = user->BusyOf(*stream->link());
  StreamConnection::Parts parts{std::move(stream), &user->busy_set(), std::move(busy), std::move(path),
                                std::move(on_lost)};
  return std::make_shared<SkeinEndpoint>(std::move(parts), tcp, std::move(reader), std::move(user), std::move(trace),
                                         std::move(quota))
      ->Begin();
}

}  // namespace skein::grpc_transport
