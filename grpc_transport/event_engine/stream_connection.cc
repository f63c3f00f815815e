#include "grpc_transport/event_engine/stream_connection.h"

#include <utility>
#include <vector>

#include "core/link/link.h"
#include "core/trace/tracer.h"
#include "grpc_transport/event_engine/client_tracing.h"
#include "grpc_transport/event_engine/ready.h"
#include "grpc_transport/event_engine/received_slice.h"

namespace skein::grpc_transport {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;  // about, per read callback
constexpr EventEngine::Duration kDrainAgain = std::chrono::milliseconds(1);

// The only byte that is ever sent on the silent connection: the link has failed at this end, which therefore ends the
// connection. Without it, the peer would take that for an orderly end.
constexpr absl::string_view kLinkFailed = "!";

// UNAVAILABLE: calls that meet it may be retried.
absl::Status Unavailable(absl::string_view message) { return absl::UnavailableError(message); }
absl::Status Destroyed() { return absl::CancelledError("the endpoint was destroyed"); }
absl::Status MadeBeforeFork() { return Unavailable("skein: the channel was made before fork()"); }

absl::Status ErrorOf(const absl::Status& status) {
  if (absl::IsOutOfRange(status)) return Unavailable("Socket closed");  // the words TCP has for it
  return Unavailable(status.message());
}

}  // namespace

class StreamConnection::Observer final : public stream::StreamObserver {
 public:
  explicit Observer(std::shared_ptr<StreamConnection> connection) : connection_(std::move(connection)) {}
  void OnReadable() override {
    MutexLock lock(&connection_->mu_);
    connection_->ReadSoon();
  }
  void OnWritable() override {
    MutexLock lock(&connection_->mu_);
    connection_->unsent_.RoomAgain();
    connection_->WriteAfterPoll();
  }

 private:
  const std::shared_ptr<StreamConnection> connection_;
};

StreamConnection::StreamConnection(EndpointParts parts)
    : engine_(std::move(parts.engine)),
      reader_(std::move(parts.reader)),
      traced_(std::move(parts.traced)),
      tcp_(std::move(parts.tcp)),
      user_(std::move(parts.user)),
      path_(std::move(parts.path)),
      stream_(std::move(parts.stream)),
      busy_(user_->BusyOf(*stream_->link())),
      allocator_(std::move(parts.allocator)),
      on_lost_(std::move(parts.on_lost)) {}

void StreamConnection::Start() {
  std::shared_ptr<stream::Stream> stream;
  {
    MutexLock lock(&mu_);
    stream = stream_;
  }
  stream->SetObserver(std::make_shared<Observer>(shared_from_this()));
  WatchTcp();
}

// Reading.

bool StreamConnection::Read(OnDone on_read, SliceBuffer* buffer) {
  buffer->Clear();
  MutexLock lock(&mu_);
  reads_ = true;
  read_buffer_ = buffer;
  Result result = TryRead();
  if (result.has_value() && result->ok()) {
    reads_ = false;
    return true;
  }
  on_read_ = std::move(on_read);
  if (result.has_value()) FinishRead(*std::move(result));
  return false;
}

StreamConnection::Result StreamConnection::TryRead() {
  if (shut_down_) return Destroyed();
  if (InForkedChild()) return MadeBeforeFork();
  // Asked first: if it has come by the time of Read, there is something to read.
  const bool coming = stream_->Coming();
  std::vector<stream::Buffer> buffers;
  const absl::Status status = stream_->Read(kReadBytes, buffers);
  if (!status.ok()) return StreamEnded(status);
  if (buffers.empty()) {
    if (!tcp_error_.ok() && !coming) return tcp_error_;
    return std::nullopt;
  }
  Came(*stream_);
  for (stream::Buffer& buffer : buffers) {
    grpc_slice_buffer_add(read_buffer_->c_slice_buffer(), ReceivedSlice(std::move(buffer), allocator_));
  }
  return absl::OkStatus();
}

void StreamConnection::ReadSoon() {
  if (!reads_) return;
  if (Result result = TryRead(); result.has_value()) FinishRead(*std::move(result));
}

void StreamConnection::FinishRead(absl::Status status) {
  reads_ = false;
  Ready::RunSoon(engine_, [on_read = std::exchange(on_read_, nullptr), status = std::move(status)]() mutable {
    on_read(std::move(status));
  });
}

// Writing.

bool StreamConnection::Write(OnDone on_written, SliceBuffer* data) {
  OnDone unused;                                                      // outlives the lock
  const std::shared_ptr<StreamConnection> self = shared_from_this();  // the endpoint may end while the stream writes
  MutexLock lock(&mu_);
  on_written_ = std::move(on_written);
  writes_ = true;
  unsent_.Add(data->c_slice_buffer());
  Result result = TryWrite();
  if (!result.has_value()) return false;
  if (!result->ok()) {
    FinishWrite(*std::move(result));
    return false;
  }
  unused = std::exchange(on_written_, nullptr);
  return true;
}

// True: another thread writes, and will see the mark.
bool StreamConnection::MarkWriter() {
  if (writer_ == Writer::kNobody || InForkedChild()) return false;
  writer_ = Writer::kMarked;
  return true;
}

// gRPC begins no write before it knows the result of the last, so there is one at most.
StreamConnection::Result StreamConnection::TryWrite() {
  if (MarkWriter()) return std::nullopt;
  Result result;
  do {
    writer_ = Writer::kWrites;
    if (Result once = WriteOnce(); once.has_value()) result = std::move(once);
  } while (writer_ == Writer::kMarked);
  writer_ = Writer::kNobody;
  return result;
}

void StreamConnection::WriteSoon() {
  if (Result result = TryWrite(); result.has_value()) FinishWrite(*std::move(result));
}

// By the poller, which must not wait in Write either.
void StreamConnection::WriteAfterPoll() {
  if (MarkWriter()) return;
  Ready::RunSoon(engine_, [self = shared_from_this()] {
    MutexLock lock(&self->mu_);
    self->WriteSoon();
  });
}

StreamConnection::Result StreamConnection::WriteOnce() {
  if (!writes_ && unsent_.empty()) return std::nullopt;
  absl::Status status = Send();
  if (!status.ok()) unsent_.Clear();
  if (unsent_.empty() && leaving_) LeaveSoon();
  Result result;
  if (writes_ && unsent_.CountsAsDone()) {
    writes_ = false;
    result = std::move(status);
  }
  if (writes_) AwaitSilence();
  CountKept();
  return result;
}

void StreamConnection::CountKept() {
  const auto reserve = [this](size_t bytes) ABSL_NO_THREAD_SAFETY_ANALYSIS {  // called at once
    return std::make_shared<MemoryAllocator::Reservation>(allocator_.MakeReservation(bytes));
  };
  unsent_.CountKept(/*write_under_way=*/writes_, reserve);
}

// What there is room for. Lets go of mu_ while it writes. The stream stays: a shutdown leaves it to the writer.
absl::Status StreamConnection::Send() {
  if (shut_down_ && writes_) return Destroyed();
  if (InForkedChild()) return MadeBeforeFork();
  if (!tcp_error_.ok()) return tcp_error_;
  if (unsent_.no_room()) return absl::OkStatus();
  const std::vector<stream::ConstBytes> parts = unsent_.BeginWrite();
  stream::Stream& stream = *stream_;
  mu_.Unlock();
  const absl::StatusOr<size_t> taken = WriteTo(stream, parts);
  mu_.Lock();
  if (busy_ != nullptr) user_->Use(busy_);  // an answer may come
  if (!taken.ok()) return StreamEnded(taken.status());
  unsent_.Taken(*taken);
  return absl::OkStatus();
}

absl::StatusOr<size_t> StreamConnection::WriteTo(stream::Stream& stream, absl::Span<const stream::ConstBytes> parts) {
  if (!trace::Enabled()) return stream.Write(parts);
  ClientTracing::Begin();
  SentTimes sent{.queued = trace::Now(), .departure = {}};
  absl::StatusOr<size_t> taken = stream.Write(parts);
  if (taken.ok() && *taken > 0) sent.departure = link::last_departure;
  traced_->Wrote(sent);
  return taken;
}

void StreamConnection::Came(stream::Stream& stream) {
  const link::Arrival arrival = stream.last_arrival();
  if (arrival.arrived != 0 || traced_->peer_traces()) [[unlikely]]
    traced_->Read(arrival);
}

void StreamConnection::FinishWrite(absl::Status status) {
  Ready::RunSoon(engine_, [on_written = std::exchange(on_written_, nullptr), status = std::move(status)]() mutable {
    on_written(std::move(status));
  });
}

// One timer at a time, which is not stopped when the write ends: most writes end soon.
void StreamConnection::AwaitSilence() {
  if (unsent_.empty() || silence_.has_value()) return;
  unsent_.BeginWatch();
  silence_ = engine_->RunAfter(absl::ToChronoNanoseconds(kSilence), [self = shared_from_this()] { self->OnSilence(); });
}

void StreamConnection::OnSilence() {
  PollToLeave();
  MutexLock lock(&mu_);
  silence_.reset();
  unsent_.EndWatch();
  if (leaving_ && unsent_.GivenUp()) return NobodyReads();
  WriteSoon();
  if (leaving_) AwaitSilence();
}

// After the last channel, nobody else may.
void StreamConnection::PollToLeave() {
  std::shared_ptr<stream::Stream> stream;
  {
    MutexLock lock(&mu_);
    if (leaving_ && !InForkedChild()) stream = stream_;
  }
  if (stream != nullptr) stream->Drain();
}

// The ends.

absl::Status StreamConnection::StreamEnded(const absl::Status& status) {
  if (absl::IsUnavailable(status) && !tcp_ended_) {
    if (!std::exchange(failure_told_, true)) TellFailure();
    LinkFailed();
  }
  return ErrorOf(status);
}

// If it does not fit into a silent connection, nothing would.
void StreamConnection::TellFailure() {
  auto byte = std::make_shared<SliceBuffer>();
  byte->Append(grpc_event_engine::experimental::Slice::FromCopiedBuffer(kLinkFailed.data(), kLinkFailed.size()));
  tcp_->Write([byte](const absl::Status& /*status*/) {}, byte.get(), {});
}

void StreamConnection::LinkFailed() {
  if (on_lost_) std::exchange(on_lost_, nullptr)();
}

void StreamConnection::WatchTcp() {
  reader_->Read([self = shared_from_this()](absl::Status status) {
    self->TcpEnded(status.ok() ? self->PeerWrote() : std::move(status));
  });
}

// One byte may be meant; others are a breach.
absl::Status StreamConnection::PeerWrote() {
  SliceBuffer bytes;
  reader_->MoveInto(bytes);
  const bool failed = bytes.Length() == 1 && bytes[0].as_string_view() == kLinkFailed;
  if (!failed) return Unavailable("the peer wrote to a connection that had moved to Skein");
  MutexLock lock(&mu_);
  LinkFailed();
  return Unavailable("the link has failed at the peer's end");
}

void StreamConnection::TcpEnded(absl::Status why) {
  std::shared_ptr<stream::Stream> stream;
  {
    MutexLock lock(&mu_);
    if (shut_down_) return NobodyReads();
    // The memory that the stream is made of is not mapped here.
    if (InForkedChild()) return EndTcp(MadeBeforeFork());
    tcp_ended_ = true;
    stream = stream_;
  }
  // What the peer had written before it ended is delivered first.
  if (stream->Drain()) return TcpEndedAndDrained(why);
  // Another thread is polling, with that in its hands, and may have lost its processor for a while: so a moment later.
  engine_->RunAfter(kDrainAgain, [self = shared_from_this(), why = std::move(why)] { self->TcpEnded(why); });
}

void StreamConnection::TcpEndedAndDrained(const absl::Status& why) {
  MutexLock lock(&mu_);
  shut_down_ ? NobodyReads() : EndTcp(Unavailable(why.message()));
}

void StreamConnection::EndTcp(absl::Status why) {
  tcp_error_ = std::move(why);
  ReadSoon();
  WriteSoon();
}

void StreamConnection::Shutdown() {
  std::optional<EventEngine::TaskHandle> timer;
  {
    MutexLock lock(&mu_);
    shut_down_ = true;
    leaving_ = MarkWriter() || (!unsent_.empty() && !writes_);
    ReadSoon();
    WriteSoon();
    if (leaving_) return AwaitSilence();
    timer = std::exchange(silence_, std::nullopt);
  }
  if (timer.has_value()) engine_->Cancel(*timer);
  End();
}

// After its end, an endpoint's connection goes on until its writer is back and what it has kept is sent, or cannot be,
// or the peer has not read for long.
void StreamConnection::LeaveSoon() {
  Ready::RunSoon(engine_, [self = shared_from_this()] {
    {
      MutexLock lock(&self->mu_);
      if (!std::exchange(self->leaving_, false)) return;
    }
    self->End();
  });
}

void StreamConnection::NobodyReads() {
  if (unsent_.empty()) return;
  tcp_ended_ = true;
  EndTcp(Unavailable("the connection has ended"));
}

// Once. The peer reads what was written, then the end, whichever of the two connections tells it first.
void StreamConnection::End() {
  std::shared_ptr<stream::Stream> stream;
  std::unique_ptr<LinkPoller::User> user;
  ListedPath path;
  std::unique_ptr<EventEngine::Endpoint> tcp;
  MemoryAllocator allocator;
  bool tcp_ended = false;
  {
    MutexLock lock(&mu_);
    stream = std::move(stream_);
    user = std::move(user_);
    path = std::move(path_);
    tcp = std::move(tcp_);
    allocator = std::move(allocator_);
    busy_ = nullptr;
    tcp_ended = !tcp_error_.ok();
  }
  if (InForkedChild()) {
    new std::shared_ptr<stream::Stream>(std::move(stream));  // the parent's, for good
  } else {
    stream->CloseWrite();
    // Nobody is there to close the other side.
    if (tcp_ended) stream->Abort(absl::UnavailableError("the connection has ended"));
  }
  stream = nullptr;  // lets go of the observer
  reader_->Detach();
  tcp = nullptr;
}

}  // namespace skein::grpc_transport
