#include "grpc_transport/iomgr/skein_endpoint.h"

#include <sys/socket.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/forked.h"
#include "core/link/link.h"
#include "grpc_transport/common/unsent_bytes.h"
#include "grpc_transport/iomgr/ensure_exec_ctx.h"
#include "grpc_transport/iomgr/errors.h"

namespace skein::grpc_transport {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;  // about, per read callback
constexpr grpc_core::Duration kDrainAgain = grpc_core::Duration::Milliseconds(1);

// The only byte that is ever sent on the silent connection: the link has failed at this end, which therefore ends the
// connection. Without it, the peer would take that for an orderly end.
constexpr char kLinkFailed = '!';

grpc_error_handle ErrorOf(const absl::Status& status) {
  if (absl::IsOutOfRange(status)) return Unavailable("Socket closed");  // the words TCP has for it
  return Unavailable(status.message());
}

grpc_error_handle MadeBeforeFork() { return Unavailable("skein: the channel was made before fork()"); }

// Lock: mu_, under which the stream is called (it calls back only from polling), but for Write. Callbacks of gRPC are
// scheduled, never run inline. Kept alive by the owner, by the stream's observer, by the read that watches TCP and by
// what it has scheduled. Shut down with nothing to send, it gives stream and connection back at once: gRPC 1.51 never
// destroys some of the endpoints that it has shut down.
class SkeinEndpoint : public grpc_core::RefCounted<SkeinEndpoint> {
 public:
  SkeinEndpoint(std::shared_ptr<stream::Stream> stream, grpc_endpoint* tcp, grpc_core::RefCountedPtr<TcpReader> reader,
                std::unique_ptr<Waiter::User> user, ListedPath path, grpc_core::RefCountedPtr<ConnectionTrace> trace,
                Quota quota, std::function<void()> on_lost)
      : reader_(std::move(reader)),
        trace_(std::move(trace)),
        peer_(grpc_endpoint_get_peer(tcp)),
        local_address_(grpc_endpoint_get_local_address(tcp)),
        tcp_(tcp),
        user_(std::move(user)),
        path_(std::move(path)),
        stream_(std::move(stream)),
        busy_(user_->BusyOf(*stream_->link())),
        quota_(std::move(quota)),
        on_lost_(std::move(on_lost)) {
    base_.endpoint.vtable = &kVtable;
    base_.self = this;
    GRPC_CLOSURE_INIT(&on_silence_, OnSilence, this, nullptr);
  }

  grpc_endpoint* Start() {
    stream_->SetObserver(std::make_shared<Observer>(Ref()));
    WatchTcp();
    return &base_.endpoint;
  }

 private:
  class Observer final : public stream::StreamObserver {
   public:
    explicit Observer(grpc_core::RefCountedPtr<SkeinEndpoint> endpoint) : endpoint_(std::move(endpoint)) {}
    void OnReadable() override {
      EnsureExecCtx exec_ctx;
      MutexLock lock(&endpoint_->mu_);
      endpoint_->TryRead();
    }
    void OnWritable() override {
      EnsureExecCtx exec_ctx;
      MutexLock lock(&endpoint_->mu_);
      endpoint_->unsent_.RoomAgain();
      endpoint_->TryWriteSoon();
    }

   private:
    const grpc_core::RefCountedPtr<SkeinEndpoint> endpoint_;
  };

  struct Base {
    grpc_endpoint endpoint;  // first: gRPC's pointer to it is a pointer to this
    SkeinEndpoint* self;
  };
  static SkeinEndpoint* Of(grpc_endpoint* endpoint) { return reinterpret_cast<Base*>(endpoint)->self; }

  static void Read(grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, bool, int) {
    SkeinEndpoint* self = Of(endpoint);
    grpc_slice_buffer_reset_and_unref(slices);
    MutexLock lock(&self->mu_);
    self->read_slices_ = slices;
    self->read_done_ = done;
    self->TryRead();
  }

  static void Write(grpc_endpoint* endpoint, grpc_slice_buffer* slices, grpc_closure* done, void*, int) {
    SkeinEndpoint* self = Of(endpoint);
    MutexLock lock(&self->mu_);
    self->write_done_ = done;
    if (!self->shutdown_.ok()) return self->FinishWrite(self->shutdown_);
    self->unsent_.Add(slices);
    self->TryWrite();
  }

  void TryRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (read_done_ == nullptr) return;
    if (!shutdown_.ok()) return FinishRead(shutdown_);
    if (InForkedChild()) return FinishRead(MadeBeforeFork());
    // Asked first: if it has come by the time of Read, there is something to read.
    const bool coming = stream_->Coming();
    std::vector<stream::Buffer> buffers;
    const absl::Status status = stream_->Read(kReadBytes, buffers);
    if (!status.ok()) return FinishRead(StreamEnded(status));
    if (buffers.empty()) {
      if (!tcp_error_.ok() && !coming) FinishRead(tcp_error_);
      return;
    }
    const link::Arrival arrival = stream_->last_arrival();
    if (arrival.arrived != 0 || trace_->peer_traces()) [[unlikely]]
      trace_->Came(arrival);
    for (stream::Buffer& buffer : buffers) {
      grpc_slice_buffer_add(read_slices_, ReceivedSlice(std::move(buffer), quota_));
    }
    FinishRead(absl::OkStatus());
  }

  // One thread at a time writes to the stream, without mu_: in Write it may wait for the link's other writers, one of
  // which the kernel may have preempted. The poller needs mu_, and must not wait for such writers.
  //
  //                   TryWrite                    back, and no mark: it goes
  //     kNobody  ---------------->  kWrites  ------------------------------------>  kNobody
  //                                  |   ^
  //      TryWrite of other threads,  |   |  back: it writes again, after a look at
  //      TryWriteSoon, Shutdown      v   |  all that may have changed
  //                                 kMarked
  //
  // Other threads change what they have to change under mu_, then leave the mark: gRPC's next write, RoomAgain(),
  // shutdown_, tcp_error_, a silence. The writer sees the mark under mu_ before it goes, so it misses nothing. Only the
  // writer takes bytes out of unsent_, ends the write and lets go of the stream: a shutdown meanwhile sets leaving_.
  //
  // A forked child has no writer, whatever the state says: the writer is a thread of the parent.
  enum class Writer { kNobody, kWrites, kMarked };

  // True: another thread writes, and will see the mark.
  bool MarkWriter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (writer_ == Writer::kNobody || InForkedChild()) return false;
    writer_ = Writer::kMarked;
    return true;
  }

  void TryWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (MarkWriter()) return;
    do {
      writer_ = Writer::kWrites;
      WriteOnce();
    } while (writer_ == Writer::kMarked);
    writer_ = Writer::kNobody;
  }
  // By the poller, which must not wait in Write either: a closure writes, after the poll.
  void TryWriteSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (MarkWriter()) return;
    grpc_closure* write = grpc_core::NewClosure([self = Ref()](grpc_error_handle /*error*/) {
      MutexLock lock(&self->mu_);
      self->TryWrite();
    });
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, write, absl::OkStatus());
  }

  void WriteOnce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (write_done_ == nullptr && unsent_.empty()) return;
    grpc_error_handle error = Send();
    if (!error.ok()) unsent_.Clear();
    if (unsent_.empty() && leaving_) LeaveSoon();
    if (write_done_ != nullptr && unsent_.CountsAsDone()) FinishWrite(std::move(error));
    if (write_done_ != nullptr) AwaitSilence();
    CountKept();
  }

  // If memory is short, gRPC's quota ends connections whose peers do not read the bytes that are kept for them.
  void CountKept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto reserve = [this](size_t bytes) ABSL_NO_THREAD_SAFETY_ANALYSIS {  // called at once
      return std::make_shared<Quota::Reservation>(quota_.MakeReservation(bytes));
    };
    unsent_.CountKept(/*write_under_way=*/write_done_ != nullptr, reserve);
    if (unsent_.kept() == 0 || std::exchange(reclaimable_, true)) return;
    quota_.PostReclaimer(grpc_core::ReclamationPass::kDestructive,
                         [self = Ref()](absl::optional<grpc_core::ReclamationSweep> sweep) {
                           if (sweep.has_value()) self->GiveUpWhatIsKept();
                         });
  }
  void GiveUpWhatIsKept() {
    MutexLock lock(&mu_);
    reclaimable_ = false;
    if (unsent_.kept() > 0) LoseConnection("memory is short, and the peer does not read what is kept for it");
  }

  // What there is room for. Lets go of mu_ while it writes. The stream stays: a shutdown leaves it to the writer.
  grpc_error_handle Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!shutdown_.ok() && write_done_ != nullptr) return shutdown_;
    if (InForkedChild()) return MadeBeforeFork();
    if (!tcp_error_.ok()) return tcp_error_;
    if (unsent_.no_room()) return absl::OkStatus();
    const bool traced = trace_->Writing();
    const std::vector<stream::ConstBytes> parts = unsent_.BeginWrite();
    stream::Stream& stream = *stream_;
    mu_.Unlock();
    const absl::StatusOr<size_t> taken = stream.Write(parts);
    mu_.Lock();
    if (traced) [[unlikely]]
      trace_->Wrote(trace::Enabled() && taken.ok() && *taken > 0 ? link::last_departure : link::Departure{});
    if (busy_ != nullptr) user_->Use(busy_);  // an answer may come
    if (!taken.ok()) return StreamEnded(taken.status());
    unsent_.Taken(*taken);
    return absl::OkStatus();
  }

  // One timer at a time, which is not stopped when the write ends: most writes end soon.
  void AwaitSilence() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (unsent_.empty() || std::exchange(timer_runs_, true)) return;
    unsent_.BeginWatch();
    Ref().release();
    grpc_timer_init(
        &timer_, grpc_core::Timestamp::Now() + grpc_core::Duration::Milliseconds(absl::ToInt64Milliseconds(kSilence)),
        &on_silence_);
  }
  static void OnSilence(void* arg, grpc_error_handle error) {
    grpc_core::RefCountedPtr<SkeinEndpoint> self(static_cast<SkeinEndpoint*>(arg));
    self->PollToLeave();
    MutexLock lock(&self->mu_);
    self->timer_runs_ = false;
    self->unsent_.EndWatch();
    if (self->leaving_ && (!error.ok() || self->unsent_.GivenUp())) return self->NobodyReads();
    if (!error.ok()) return;
    self->TryWrite();
    if (self->leaving_) self->AwaitSilence();
  }
  // After the last channel, nobody else may.
  void PollToLeave() {
    std::shared_ptr<stream::Stream> stream;
    {
      MutexLock lock(&mu_);
      if (leaving_ && !InForkedChild()) stream = stream_;
    }
    if (stream != nullptr) stream->Drain();
  }

  grpc_error_handle StreamEnded(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (absl::IsUnavailable(status) && !tcp_ended_) {
      // If it does not fit into a silent connection, nothing would.
      if (!failure_told_) send(grpc_endpoint_get_fd(tcp_), &kLinkFailed, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
      failure_told_ = true;
      LinkFailed();
    }
    return ErrorOf(status);
  }

  void LinkFailed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (on_lost_) std::exchange(on_lost_, nullptr)();
  }

  void FinishRead(grpc_error_handle error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(read_done_, nullptr), std::move(error));
  }
  void FinishWrite(grpc_error_handle error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, std::exchange(write_done_, nullptr), std::move(error));
  }

  void WatchTcp() {
    reader_->Read(grpc_core::NewClosure([self = Ref()](grpc_error_handle error) {
      self->TcpEnded(error.ok() ? self->PeerWrote() : std::move(error));
    }));
  }

  // One byte may be meant; others are a breach.
  grpc_error_handle PeerWrote() {
    grpc_slice_buffer bytes;
    grpc_slice_buffer_init(&bytes);
    reader_->MoveInto(&bytes);
    const bool failed = bytes.length == 1 && *GRPC_SLICE_START_PTR(bytes.slices[0]) == kLinkFailed;
    grpc_slice_buffer_destroy(&bytes);
    if (!failed) return Unavailable("the peer wrote to a connection that had moved to Skein");
    MutexLock lock(&mu_);
    LinkFailed();
    return Unavailable("the link has failed at the peer's end");
  }

  // Another thread is polling, with that in its hands, and may have lost its processor for a while: so a moment later.
  // (At once, this thread would run nothing else, and perhaps keep the processor that the other one waits for.)
  void WhenPolled(grpc_error_handle error) {
    grpc_closure* again = grpc_core::NewClosure([self = Ref(), error = std::move(error)](grpc_error_handle over) {
      over.ok() ? self->TcpEnded(error) : self->TcpEndedAndDrained(error);
    });
    grpc_timer_init(&drain_timer_, grpc_core::Timestamp::Now() + kDrainAgain, again);
  }

  void TcpEnded(grpc_error_handle error) {
    std::shared_ptr<stream::Stream> stream;
    {
      MutexLock lock(&mu_);
      if (!shutdown_.ok()) return NobodyReads();
      // The memory that the stream is made of is not mapped here.
      if (InForkedChild()) return EndTcp(MadeBeforeFork());
      tcp_ended_ = true;
      stream = stream_;
    }
    // What the peer had written before it ended is delivered first.
    if (!stream->Drain()) return WhenPolled(std::move(error));
    TcpEndedAndDrained(error);
  }
  void TcpEndedAndDrained(const grpc_error_handle& error) {
    MutexLock lock(&mu_);
    shutdown_.ok() ? EndTcp(Unavailable(grpc_core::StatusToString(error))) : NobodyReads();
  }

  void EndTcp(grpc_error_handle error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    tcp_error_ = std::move(error);
    TryRead();
    TryWrite();
  }

  static void Shutdown(grpc_endpoint* endpoint, grpc_error_handle why) {
    SkeinEndpoint* self = Of(endpoint);
    {
      MutexLock lock(&self->mu_);
      if (!self->shutdown_.ok()) return;
      self->shutdown_ = std::move(why);
      if (self->shutdown_.ok()) self->shutdown_ = Unavailable("endpoint shut down");
      self->leaving_ = self->MarkWriter() || (!self->unsent_.empty() && self->write_done_ == nullptr);
      self->TryRead();
      self->TryWrite();
      if (self->leaving_) return self->AwaitSilence();
      if (self->timer_runs_) grpc_timer_cancel(&self->timer_);
    }
    self->End();
  }

  // After its shutdown, and perhaps its destruction, an endpoint goes on until its writer is back and what it has kept
  // is sent, or cannot be, or the peer has not read for long. (gRPC's shutdown ends its timer.)
  void LeaveSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    grpc_closure* leave = grpc_core::NewClosure([self = Ref()](grpc_error_handle /*error*/) {
      {
        MutexLock lock(&self->mu_);
        if (!std::exchange(self->leaving_, false)) return;
      }
      self->End();
    });
    grpc_core::ExecCtx::Run(DEBUG_LOCATION, leave, absl::OkStatus());
  }
  void NobodyReads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!unsent_.empty()) LoseConnection("the connection has ended");
  }
  void LoseConnection(absl::string_view why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    tcp_ended_ = true;
    EndTcp(Unavailable(why));
  }

  // gRPC may still call an endpoint that is shut down; such calls need none of these.
  struct Holdings {
    std::shared_ptr<stream::Stream> stream;
    std::unique_ptr<Waiter::User> user;
    ListedPath path;
    grpc_endpoint* tcp = nullptr;
    Quota quota;
  };

  // Once. The peer reads what was written, then the end, whichever of the two connections tells it first.
  void End() {
    Holdings held;
    bool tcp_ended = false;
    {
      MutexLock lock(&mu_);
      held = {std::move(stream_), std::move(user_), std::move(path_), std::exchange(tcp_, nullptr), std::move(quota_)};
      busy_ = nullptr;
      tcp_ended = !tcp_error_.ok();
    }
    if (InForkedChild()) {
      new std::shared_ptr<stream::Stream>(std::move(held.stream));  // the parent's, for good
    } else {
      held.stream->CloseWrite();
      // Nobody is there to close the other side.
      if (tcp_ended) held.stream->Abort(absl::UnavailableError("the connection has ended"));
    }
    grpc_endpoint_shutdown(held.tcp, GRPC_ERROR_CREATE("the Skein endpoint was shut down"));
    held.stream = nullptr;  // lets go of the observer
    grpc_endpoint_destroy(held.tcp);
  }

  static void Destroy(grpc_endpoint* endpoint) {
    Shutdown(endpoint, GRPC_ERROR_CREATE("endpoint destroyed"));
    Of(endpoint)->Unref();
  }

  // There are streams with the engine epoll1 alone. Every pollset of epoll1 has every descriptor: the TCP connection's,
  // and the link's, which the Waiter watches. gRPC comes here for each call, so these must not wait for a writer's
  // lock.
  static void AddToPollset(grpc_endpoint* /*e*/, grpc_pollset* /*p*/) {}
  static void AddToPollsetSet(grpc_endpoint* /*e*/, grpc_pollset_set* /*p*/) {}
  static void DeleteFromPollsetSet(grpc_endpoint* /*e*/, grpc_pollset_set* /*p*/) {}
  static absl::string_view Peer(grpc_endpoint* e) { return Of(e)->peer_; }
  static absl::string_view LocalAddress(grpc_endpoint* e) { return Of(e)->local_address_; }
  static int Fd(grpc_endpoint* e) {
    SkeinEndpoint* self = Of(e);
    MutexLock lock(&self->mu_);
    return self->tcp_ == nullptr ? -1 : grpc_endpoint_get_fd(self->tcp_);
  }
  static bool CanTrackErrors(grpc_endpoint*) { return false; }

  static const grpc_endpoint_vtable kVtable;

  Base base_;
  const grpc_core::RefCountedPtr<TcpReader> reader_;
  const grpc_core::RefCountedPtr<ConnectionTrace> trace_;
  const std::string peer_;
  const std::string local_address_;

  Mutex mu_;
  // Until End:
  grpc_endpoint* tcp_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Waiter::User> user_ ABSL_GUARDED_BY(mu_);
  ListedPath path_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<stream::Stream> stream_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<Busy> busy_ ABSL_GUARDED_BY(mu_);  // its link; null also if that is not watched
  Quota quota_ ABSL_GUARDED_BY(mu_);                 // of what is read, and kept

  std::function<void()> on_lost_ ABSL_GUARDED_BY(mu_);
  grpc_error_handle shutdown_ ABSL_GUARDED_BY(mu_);
  bool tcp_ended_ ABSL_GUARDED_BY(mu_) = false;
  bool failure_told_ ABSL_GUARDED_BY(mu_) = false;
  grpc_error_handle tcp_error_ ABSL_GUARDED_BY(mu_);  // once the stream has been drained after that
  grpc_slice_buffer* read_slices_ ABSL_GUARDED_BY(mu_) = nullptr;
  grpc_closure* read_done_ ABSL_GUARDED_BY(mu_) = nullptr;
  UnsentBytes unsent_ ABSL_GUARDED_BY(mu_);
  grpc_closure* write_done_ ABSL_GUARDED_BY(mu_) = nullptr;
  Writer writer_ ABSL_GUARDED_BY(mu_) = Writer::kNobody;
  bool timer_runs_ ABSL_GUARDED_BY(mu_) = false;
  bool reclaimable_ ABSL_GUARDED_BY(mu_) = false;  // the quota may ask for what is kept
  bool leaving_ ABSL_GUARDED_BY(mu_) = false;      // shut down with something kept, or while a thread wrote
  grpc_timer timer_;
  grpc_timer drain_timer_;
  grpc_closure on_silence_;
};

const grpc_endpoint_vtable SkeinEndpoint::kVtable = {
    Read, Write,        AddToPollset, AddToPollsetSet, DeleteFromPollsetSet, Shutdown, Destroy,
    Peer, LocalAddress, Fd,           CanTrackErrors};

}  // namespace

grpc_endpoint* NewSkeinEndpoint(std::shared_ptr<stream::Stream> stream, grpc_endpoint* tcp,
                                grpc_core::RefCountedPtr<TcpReader> reader, std::unique_ptr<Waiter::User> user,
                                ListedPath path, grpc_core::RefCountedPtr<ConnectionTrace> trace, Quota quota,
                                std::function<void()> on_lost) {
  auto endpoint =
      grpc_core::MakeRefCounted<SkeinEndpoint>(std::move(stream), tcp, std::move(reader), std::move(user),
                                               std::move(path), std::move(trace), std::move(quota), std::move(on_lost));
  return endpoint.release()->Start();
}

}  // namespace skein::grpc_transport
