#include "core/stream/blocking_stream.h"

#include <atomic>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "core/link/link.h"
#include "core/stream/readiness.h"

namespace skein::stream {
namespace {

using Attempt = absl::FunctionRef<std::optional<absl::Status>()>;

}  // namespace

// What threads wait for, and how it ends. Lives as long as somebody may still bring it: the stream's link, a liveness.
class BlockingStream::Waits final : public StreamObserver {
 public:
  explicit Waits(std::shared_ptr<wait::WaitSet> space) : space_(std::move(space)) {}
  ~Waits() override { delete readiness_.load(std::memory_order_relaxed); }

  void OnReadable() override {
    space_->Complete(readable_);
    if (Readiness* const readiness = this->readiness()) readiness->SetReadable(true);
  }
  void OnWritable() override { space_->Complete(writable_); }

  // `attempt` gives nothing as long as it has to be repeated when `waiter` is brought. As poll() looks once more when
  // its time is over, so does this: what came while the whole process stood still is in time.
  absl::Status Await(wait::Waiter& waiter, Deadline deadline, Attempt attempt) {
    for (bool last = false;;) {
      waiter.Begin();
      const std::optional<absl::Status> status = attempt();
      const bool brought = !status.has_value() && !last && space_->Wait(waiter, deadline);
      if (brought || !waiter.Cancel()) waiter.Forget();
      if (status.has_value()) return *status;
      if (last) return absl::DeadlineExceededError("nothing in time");
      last = !brought && deadline != Deadline::max() && Clock::now() >= deadline;
    }
  }
  wait::Waiter& readable() { return readable_; }
  wait::Waiter& writable() { return writable_; }

  void Interrupt() {
    Happen(kInterrupted);
    OnReadable();
  }
  bool interrupted() { return Happened(kInterrupted); }

  // By who has polled all that the peer had sent before it went.
  void PeerIsGone() {
    Happen(kGone);
    OnReadable();
    space_->Complete(writable_);
  }
  bool peer_is_gone() { return Happened(kGone); }

  // Something else has happened that is waited for; then the waiter is brought.
  void Happen(uint32_t what) { happened_.fetch_or(what, std::memory_order_acq_rel); }
  // Asked after the waiter has begun. Each of the two changes the same word, so that one comes after the other: either
  // this sees what has happened, or who brings the waiter sees that it is waited for.
  bool Happened(uint32_t what) { return (happened_.fetch_or(0, std::memory_order_acq_rel) & what) != 0; }

  wait::WaitSet& space() { return *space_; }

  Readiness* readiness() const { return readiness_.load(std::memory_order_acquire); }
  // By the reader, once.
  void Show(std::unique_ptr<Readiness> readiness) { readiness_.store(readiness.release(), std::memory_order_release); }

  static constexpr uint32_t kInterrupted = 1;
  static constexpr uint32_t kGone = 2;

 private:
  const std::shared_ptr<wait::WaitSet> space_;
  wait::Waiter readable_;
  wait::Waiter writable_;
  std::atomic<uint32_t> happened_ = 0;
  // Owned; null until the reader asks for a descriptor. The reader stores it, then asks for what has arrived; whoever
  // brings something has put it where the reader asks, under a lock of the stream's (or in happened_), before it loads
  // this. So either the reader finds what was brought, or the bringer finds the descriptor.
  std::atomic<Readiness*> readiness_ = nullptr;
};

BlockingStream::BlockingStream(std::shared_ptr<Stream> stream, std::shared_ptr<wait::WaitSet> space, int tcp)
    : stream_(std::move(stream)),
      waits_(std::make_shared<Waits>(std::move(space))),
      liveness_(std::make_shared<wait::NegotiationConnection>()) {
  stream_->SetObserver(waits_);
  liveness_->fd = tcp;
  liveness_->on_end = [waits = waits_] { waits->PeerIsGone(); };
  waits_->space().Add(liveness_).IgnoreError();  // if the kernel does not watch it, waiting threads look at it
}

BlockingStream::~BlockingStream() { waits_->space().Remove(liveness_); }

absl::Status BlockingStream::Read(size_t max_bytes, std::vector<Buffer>& out, Deadline deadline) {
  wrote_last_.store(false, std::memory_order_relaxed);
  return waits_->Await(waits_->readable(), deadline, [&] { return TryRead(max_bytes, out); });
}

std::optional<absl::Status> BlockingStream::TryRead(size_t max_bytes, std::vector<Buffer>& out) {
  const size_t before = out.size();
  if (waits_->interrupted()) return absl::CancelledError("interrupted");
  const bool gone = waits_->peer_is_gone();
  if (absl::Status status = stream_->Read(max_bytes, out); !status.ok()) return status;
  if (out.size() > before) return absl::OkStatus();
  if (gone && !stream_->Coming()) return absl::UnavailableError("the peer has gone");
  return std::nullopt;
}

Readiness* BlockingStream::ShowReadiness() {
  if (Readiness* const shown = waits_->readiness()) return shown;
  auto readiness = std::make_unique<Readiness>();
  if (readiness->fd() < 0) return nullptr;
  waits_->Show(std::move(readiness));
  waits_->space().DependOnBackground(liveness_);
  return waits_->readiness();
}

absl::Status BlockingStream::Write(absl::Span<const ConstBytes> buffers, Deadline deadline) {
  absl::InlinedVector<ConstBytes, 4> left(buffers.begin(), buffers.end());
  absl::Span<ConstBytes> rest = absl::MakeSpan(left);
  LookForAClose();
  return waits_->Await(waits_->writable(), deadline, [&]() -> std::optional<absl::Status> {
    absl::StatusOr<size_t> taken = WriteSome(rest);
    if (!taken.ok()) return taken.status();
    while (!rest.empty() && *taken >= rest.front().size()) {
      *taken -= rest.front().size();
      rest.remove_prefix(1);
    }
    if (rest.empty()) return absl::OkStatus();
    rest.front().remove_prefix(*taken);
    return std::nullopt;
  });
}

absl::StatusOr<size_t> BlockingStream::TryWrite(absl::Span<const ConstBytes> buffers) {
  LookForAClose();
  return WriteSome(buffers);
}

absl::StatusOr<size_t> BlockingStream::WriteSome(absl::Span<const ConstBytes> buffers) {
  if (waits_->peer_is_gone()) return absl::UnavailableError("the peer has gone");
  if (stream_->PeerHasClosed()) return absl::UnavailableError("the peer has closed the connection");
  return stream_->Write(buffers);
}

// A caller of oneway calls does not read, and the background thread may look away for 10 ms: so the writer looks for
// itself. A caller that reads between its writes polls there.
void BlockingStream::LookForAClose() {
  if (!wrote_last_.load(std::memory_order_relaxed)) return wrote_last_.store(true, std::memory_order_relaxed);
  waits_->space().PollIfLeftAlone();
}

absl::Status BlockingStream::AwaitReached(Deadline deadline) {
  wait::WaitSet& space = waits_->space();
  if (space.reached()) return absl::OkStatus();
  absl::Status status = AwaitFlushed(deadline);
  if (status.ok()) space.set_reached();
  return status;
}

void BlockingStream::Close(Deadline deadline) {
  stream_->CloseWrite();
  const bool announces = stream_->link()->transport().traits().announces_close;
  (announces ? AwaitReached(deadline) : AwaitFlushed(deadline)).IgnoreError();
}

absl::Status BlockingStream::AwaitFlushed(Deadline deadline) {
  struct Reached {
    std::atomic<uint32_t> told = 0;  // as Waits::happened_
    absl::Status status;
  };
  const auto reached = std::make_shared<Reached>();
  stream_->WhenReached([reached, waits = waits_](const absl::Status& status) {
    reached->status = status;
    reached->told.fetch_or(1, std::memory_order_acq_rel);
    waits->OnWritable();
  });
  return waits_->Await(waits_->writable(), deadline, [&]() -> std::optional<absl::Status> {
    if (reached->told.fetch_or(0, std::memory_order_acq_rel) != 0) return reached->status;
    if (waits_->peer_is_gone()) return absl::UnavailableError("the peer has gone");
    return std::nullopt;
  });
}

void BlockingStream::Interrupt() { waits_->Interrupt(); }

}  // namespace skein::stream
