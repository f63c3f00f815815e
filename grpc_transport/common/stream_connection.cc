#include "grpc_transport/common/stream_connection.h"

#include <utility>

#include "core/base/forked.h"

namespace skein::grpc_transport {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;  // about, per read callback
constexpr absl::Duration kDrainAgain = absl::Milliseconds(1);

// The only byte that is ever sent on the silent connection: the link has failed at this end, which therefore ends the
// connection. Without it, the peer would take that for an orderly end.
constexpr absl::string_view kLinkFailed = "!";

// UNAVAILABLE: calls that meet it may be retried.
absl::Status UnavailableWith(absl::string_view message) { return absl::UnavailableError(message); }

absl::Status ErrorOf(const absl::Status& status) {
  if (absl::IsOutOfRange(status)) return UnavailableWith("Socket closed");  // the words TCP has for it
  return UnavailableWith(status.message());
}

}  // namespace

class StreamConnection::Observer final : public stream::StreamObserver {
 public:
  explicit Observer(std::shared_ptr<StreamConnection> connection) : connection_(std::move(connection)) {}
  void OnReadable() override { connection_->OnReadable(); }
  void OnWritable() override { connection_->OnWritable(); }

 private:
  const std::shared_ptr<StreamConnection> connection_;
};

StreamConnection::StreamConnection(Parts parts)
    : busy_set_(*parts.busy_set),
      stream_(std::move(parts.stream)),
      busy_(std::move(parts.busy)),
      path_(std::move(parts.path)),
      on_lost_(std::move(parts.on_lost)) {}

void StreamConnection::Start() {
  std::shared_ptr<stream::Stream> stream;
  {
    MutexLock lock(&mu_);
    stream = stream_;
  }
  stream->SetObserver(std::make_shared<Observer>(shared_from_this()));
}

absl::Status StreamConnection::MadeBeforeFork() { return UnavailableWith("skein: the channel was made before fork()"); }

// Reading.

StreamConnection::Result StreamConnection::BeginRead(grpc_slice_buffer* slices) {
  read_slices_ = slices;
  Result result = TryRead();
  reads_ = !result.has_value();
  return result;
}

StreamConnection::Result StreamConnection::TryRead() {
  if (!shutdown_.ok()) return shutdown_;
  // Asked first: if it has come by the time of Read, there is something to read.
  const bool coming = stream_->Coming();
  const absl::Status status = stream_->Read(kReadBytes, arrived_);
  if (!status.ok()) return StreamEnded(status);
  if (arrived_.empty()) {
    if (!tcp_error_.ok() && !coming) return tcp_error_;
    return std::nullopt;
  }
  Came(*stream_);
  for (stream::Buffer& buffer : arrived_) grpc_slice_buffer_add(read_slices_, Received(std::move(buffer)));
  arrived_.clear();
  return absl::OkStatus();
}

void StreamConnection::ReadSoon() {
  if (!reads_) return;
  Result result = TryRead();
  if (!result.has_value()) return;
  reads_ = false;
  FinishRead(*std::move(result));
}

void StreamConnection::OnReadable() {
  MutexLock lock(&mu_);
  ReadSoon();
}

// Writing.

StreamConnection::Result StreamConnection::BeginWrite(grpc_slice_buffer* slices) {
  if (!shutdown_.ok()) return shutdown_;
  writes_ = true;
  unsent_.Add(slices);
  return TryWrite();
}

// True: another thread writes, and will see the mark.
bool StreamConnection::MarkWriter() {
  if (writer_ == Writer::kNobody) return false;
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

// By the poller, which must not wait in Write either: it is done behind the poll.
void StreamConnection::OnWritable() {
  MutexLock lock(&mu_);
  unsent_.SpaceAgain();
  if (MarkWriter()) return;
  RunSoon([self = shared_from_this()] {
    if (self->LeftInChild()) return;
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
  const auto reserve = [this](size_t bytes) ABSL_NO_THREAD_SAFETY_ANALYSIS { return Reserve(bytes); };  // at once
  unsent_.CountKept(/*write_under_way=*/writes_, reserve);
}

// As much as there is space for. Lets go of mu_ while it writes. The stream stays: a shutdown leaves it to the writer.
absl::Status StreamConnection::Send() {
  if (!shutdown_.ok() && writes_) return shutdown_;
  if (!tcp_error_.ok()) return tcp_error_;
  if (unsent_.no_space()) return absl::OkStatus();
  const absl::Span<const stream::ConstBytes> parts = unsent_.BeginWrite();
  stream::Stream& stream = *stream_;
  mu_.Unlock();
  const absl::StatusOr<size_t> taken = WriteTo(stream, parts);
  mu_.Lock();
  if (busy_ != nullptr) busy_set_.Use(busy_);  // an answer may come
  if (!taken.ok()) return StreamEnded(taken.status());
  unsent_.Taken(*taken);
  return absl::OkStatus();
}

// One timer at a time, which is not stopped when the write ends: most writes end soon.
void StreamConnection::AwaitSilence() {
  if (unsent_.empty() || std::exchange(silence_runs_, true)) return;
  unsent_.BeginWatch();
  StartTimer(Timer::kSilence, kSilence);
}

void StreamConnection::OnTimer(Timer timer, bool over) {
  if (LeftInChild()) return;
  if (timer == Timer::kSilence) return OnSilence(over);
  over ? Drained() : DrainStream();
}

void StreamConnection::OnSilence(bool over) {
  PollToLeave();
  MutexLock lock(&mu_);
  silence_runs_ = false;
  unsent_.EndWatch();
  if (leaving_ && (over || unsent_.GivenUp())) return NobodyReads();
  if (over) return;
  WriteSoon();
  if (leaving_) AwaitSilence();
}

// After the last channel, nobody else may.
void StreamConnection::PollToLeave() {
  std::shared_ptr<stream::Stream> stream;
  {
    MutexLock lock(&mu_);
    if (leaving_) stream = stream_;
  }
  if (stream != nullptr) stream->Drain();
}

// The ends.

absl::Status StreamConnection::StreamEnded(const absl::Status& status) {
  if (absl::IsUnavailable(status) && !tcp_ended_) {
    // If it does not fit into a silent connection, nothing would.
    if (!std::exchange(failure_told_, true)) SendOnTcp(kLinkFailed);
    LinkFailed();
  }
  return ErrorOf(status);
}

void StreamConnection::LinkFailed() {
  if (on_lost_) std::exchange(on_lost_, nullptr)();
}

void StreamConnection::OnTcp(const absl::StatusOr<std::string>& bytes) {
  if (LeftInChild()) return;
  {
    MutexLock lock(&mu_);
    why_tcp_ended_ = bytes.ok() ? PeerWrote(*bytes) : UnavailableWith(bytes.status().message());
  }
  DrainStream();
}

// One byte may be meant; others are a protocol error.
absl::Status StreamConnection::PeerWrote(absl::string_view bytes) {
  if (bytes != kLinkFailed) return UnavailableWith("the peer wrote to a connection that had moved to Skein");
  LinkFailed();
  return UnavailableWith("the link has failed at the peer's end");
}

// gRPC first gets all that the peer had written before it ended.
void StreamConnection::DrainStream() {
  std::shared_ptr<stream::Stream> stream;
  {
    MutexLock lock(&mu_);
    if (!shutdown_.ok()) return NobodyReads();
    tcp_ended_ = true;
    stream = stream_;
  }
  if (stream->Drain()) return Drained();
  // Another thread is polling, with that in its hands, and may have lost its processor for a while: so a moment later.
  // (At once, this thread would run nothing else, and perhaps keep the processor that the other one waits for.)
  MutexLock lock(&mu_);
  shutdown_.ok() ? StartTimer(Timer::kDrain, kDrainAgain) : NobodyReads();
}

void StreamConnection::Drained() {
  MutexLock lock(&mu_);
  shutdown_.ok() ? EndTcp(why_tcp_ended_) : NobodyReads();
}

void StreamConnection::EndTcp(absl::Status why) {
  tcp_error_ = std::move(why);
  ReadSoon();
  WriteSoon();
}

void StreamConnection::Shutdown(absl::Status why) {
  if (InForkedChild()) {
    FailInChild();
    return End();
  }
  {
    MutexLock lock(&mu_);
    if (!shutdown_.ok()) return;
    shutdown_ = std::move(why);
    leaving_ = MarkWriter() || (!unsent_.empty() && !writes_);
    ReadSoon();
    WriteSoon();
    if (leaving_) return AwaitSilence();
    if (silence_runs_) StopTimer();
  }
  End();
}

// After its shutdown, and perhaps its destruction, an endpoint's connection goes on until its writer is back and what
// it has kept is sent, or cannot be, or the peer has not read for long.
void StreamConnection::LeaveSoon() {
  RunSoon([self = shared_from_this()] {
    if (self->LeftInChild()) return;
    {
      MutexLock lock(&self->mu_);
      if (!std::exchange(self->leaving_, false)) return;
    }
    self->End();
  });
}

void StreamConnection::NobodyReads() {
  if (!unsent_.empty()) LoseConnection("the connection has ended");
}

void StreamConnection::LoseKept(absl::string_view why) {
  if (unsent_.kept() > 0) LoseConnection(why);
}

void StreamConnection::LoseConnection(absl::string_view why) {
  tcp_ended_ = true;
  EndTcp(UnavailableWith(why));
}

// Once. The peer reads what was written, then the end, whichever of the two connections tells it first. Only the
// taker of ended_ uses these members here: a child needs no lock.
void StreamConnection::End() {
  if (ended_.exchange(true, std::memory_order_relaxed)) return;
  if (InForkedChild()) {
    new std::shared_ptr<stream::Stream>(std::move(stream_));  // the parent's, for good
    path_ = nullptr;
    return LetGo();
  }
  std::shared_ptr<stream::Stream> stream;
  ListedPath path;
  bool tcp_ended = false;
  {
    MutexLock lock(&mu_);
    stream = std::move(stream_);
    path = std::move(path_);
    busy_ = nullptr;
    tcp_ended = !tcp_error_.ok();
  }
  stream->CloseWrite();
  // Nobody is there to close the other side.
  if (tcp_ended) stream->Abort(absl::UnavailableError("the connection has ended"));
  stream = nullptr;  // lets go of the observer
  LetGo();
}

// In a forked child.

bool StreamConnection::LeftInChild() {
  if (!InForkedChild()) return false;
  if (FailInChild()) End();
  return true;
}

// Nobody else asks for mu_ in a child: if it is taken, a thread of the parent had it.
bool StreamConnection::FailInChild() {
  if (failed_in_child_.exchange(true, std::memory_order_relaxed) || !mu_.TryLock()) return false;
  if (std::exchange(reads_, false)) FinishRead(MadeBeforeFork());
  if (std::exchange(writes_, false)) FinishWrite(MadeBeforeFork());
  const bool leaving = leaving_;
  mu_.Unlock();
  return leaving;
}

}  // namespace skein::grpc_transport
