#include "core/stream/stream_port.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"

namespace skein::stream {
namespace {

using Parts = absl::InlinedVector<ConstBytes, 4>;

// Without the first `size` bytes.
Parts Behind(absl::Span<const ConstBytes> buffers, size_t size) {
  while (!buffers.empty() && size >= buffers.front().size()) {
    size -= buffers.front().size();
    buffers.remove_prefix(1);
  }
  Parts behind(buffers.begin(), buffers.end());
  if (!behind.empty()) behind.front().remove_prefix(size);
  return behind;
}

std::atomic<uint32_t> next_home = 0;

}  // namespace

StreamPort::StreamPort(connect::Place place, size_t receive_window, size_t large_payload)
    : Port(place.stream),
      link_(std::move(place.link)),
      receive_window_(receive_window),
      large_payload_(large_payload),
      on_end_(std::move(place.on_end)),
      on_abandoned_(std::move(place.on_abandoned)),
      window_(place.send_window),
      home_(next_home.fetch_add(1, std::memory_order_relaxed)),
      may_arrive_(receive_window),
      opened_(place.opened) {}

void StreamPort::SetObserver(std::shared_ptr<StreamObserver> observer) {
  MutexLock lock(&mu_);
  observer_ = std::move(observer);
}

absl::StatusOr<size_t> StreamPort::Write(absl::Span<const ConstBytes> buffers) {
  const size_t total = link::SizeOf(buffers);
  size_t sent = 0;
  for (bool again = true; again;) {
    const std::optional<uint64_t> window = window_.Begin();
    if (!window.has_value()) return WhyStopped();
    const uint64_t most = std::min<uint64_t>(*window, total - sent);
    const absl::StatusOr<size_t> taken = most == 0   ? absl::StatusOr<size_t>(0)
                                         : sent == 0 ? GiveToLink(buffers, most)
                                                     : GiveToLink(Behind(buffers, sent), most);
    again = EndWrite(taken.value_or(0), !taken.ok() || *taken == total - sent);
    if (!taken.ok()) return taken.status();
    sent += *taken;
  }
  return sent;
}

absl::Status StreamPort::WhyStopped() {
  MutexLock lock(&mu_);
  return error_.ok() ? absl::FailedPreconditionError("write after CloseWrite") : error_;
}

// True: the writer must try again. The link took less than all; meanwhile the poller has heard of more space, or of the
// stream's end, found nobody who waited for that, and will not tell it again.
bool StreamPort::EndWrite(size_t taken, bool all) {
  const SendWindow::Ended ended = window_.End(taken, all);
  return ended == SendWindow::Ended::kStopped ? EndStoppedWrite(taken, all) : ended == SendWindow::Ended::kAgain;
}

bool StreamPort::EndStoppedWrite(size_t taken, bool all) {
  bool again = false;
  bool ended = false;
  {
    MutexLock lock(&mu_);
    again = window_.EndStopped(taken, all);
    if (write_closed_) TellClosed();
    ended = EndedLocked();
  }
  if (ended) LeaveIfEnded();
  return again;
}

absl::Status StreamPort::Read(size_t max_bytes, std::vector<Buffer>& out) {
  MutexLock lock(&mu_);
  size_t taken = 0;
  while (!arrived_.empty() && (taken == 0 || taken + arrived_.front().size <= max_bytes)) {
    taken += arrived_.front().size;
    out.push_back(std::move(arrived_.front()));
    arrived_.pop_front();
  }
  if (taken == 0) {
    const bool at_end = read_closed_ && behind_.empty();
    if (at_end && !absl::IsAborted(error_)) return absl::OutOfRangeError("the peer has closed its side");
    if (!error_.ok()) return error_;
    wants_to_read_.store(true, std::memory_order_relaxed);
    return absl::OkStatus();
  }
  CountAsRead(taken);
  return absl::OkStatus();
}

void StreamPort::CountAsRead(uint64_t bytes) {
  read_ += bytes;
  if (read_ < receive_window_ / 2 || read_closed_ || !error_.ok()) return;
  may_arrive_ += read_;
  link_->ReturnWindow(Self(), std::exchange(read_, 0));
}

void StreamPort::CloseWrite() {
  {
    MutexLock lock(&mu_);
    if (std::exchange(write_closed_, true)) return;
    window_.Close();
    TellClosed();
  }
  LeaveIfEnded();
}

// Tells the peer once, after the last byte. Three actors may come last: the caller of CloseWrite, a writer that was
// under way then, or the poller with the peer's open.
void StreamPort::TellClosed() {
  if (opened_ && !window_.writing() && error_.ok()) link_->SendControl(Self(), wire::ItemKind::kCloseWrite);
}

void StreamPort::Abort(const absl::Status& reason) {
  {
    MutexLock lock(&mu_);
    if (EndedLocked()) return DropArrived();
    DropArrived();
    Fail(absl::AbortedError(absl::StrCat("aborted by this end: ", reason.message())));
    link_->SendControl(Self(), wire::ItemKind::kAbort,
                       std::string(absl::string_view(reason.message()).substr(0, wire::kMaxAbortTextBytes)));
  }
  LeaveIfEnded();
}

void StreamPort::Abandon() {
  std::shared_ptr<StreamObserver> observer;  // destroyed without the lock
  bool closed = false;
  {
    MutexLock lock(&mu_);
    observer = std::move(observer_);
    set_abandoned();
    closed = write_closed_;
    uint64_t unread = 0;
    for (const Chunks* chunks : {&arrived_, &behind_}) {
      for (const Buffer& chunk : *chunks) unread += chunk.size;
    }
    DropArrived();
    CountAsRead(unread);
  }
  const bool waits = link_->ports().Abandoned(*this);
  if (!closed || !waits) Abort(absl::CancelledError("the stream was destroyed"));
  LeaveIfEnded();
  if (on_abandoned_) on_abandoned_();
}

void StreamPort::LeaveIfEnded() {
  {
    MutexLock lock(&mu_);
    if (window_.writing() || !EndedLocked() || std::exchange(left_, true)) return;
  }
  link_->ports().Remove(stream());
  on_end_();
}

bool StreamPort::Coming() {
  MutexLock lock(&mu_);
  return !behind_.empty();
}

absl::Status StreamPort::TakeIn(size_t bytes) {
  if (read_closed_) return absl::DataLossError("data after its end");
  if (bytes > may_arrive_) return absl::DataLossError("more data than the window allows");
  may_arrive_ -= bytes;
  return absl::OkStatus();
}

void StreamPort::NoteArrival() {
  if (arrival().arrived == last_arrival_.arrived) [[likely]]
    return;
  last_arrival_ = arrival();
  traced_.store(last_arrival_.arrived != 0, std::memory_order_relaxed);
}

link::Arrival StreamPort::LastArrival() const {
  MutexLock lock(&mu_);
  return last_arrival_;
}

absl::StatusOr<bool> StreamPort::OnBlock(size_t size) {
  MutexLock lock(&mu_);
  if (absl::Status status = TakeIn(size); !status.ok()) return status;
  if (!error_.ok()) return false;
  if (abandoned()) {
    CountAsRead(size);
    return false;
  }
  behind_.push_back({nullptr, size});
  NoteArrival();
  return true;
}

// The oldest that was coming, unless all that had arrived has been dropped meanwhile.
void StreamPort::OnPulled(ReceivedBytes bytes, size_t size) {
  MutexLock lock(&mu_);
  if (behind_.empty()) return;
  behind_.pop_front();
  Append({std::move(bytes), size}, arrived_);
  for (; !behind_.empty() && behind_.front().data != nullptr; behind_.pop_front()) {
    Append(std::move(behind_.front()), arrived_);
  }
}

absl::Status StreamPort::OnData(absl::Span<const std::byte> payload) {
  MutexLock lock(&mu_);
  if (payload.empty()) return absl::DataLossError("an empty data item");
  if (absl::Status status = TakeIn(payload.size()); !status.ok()) return status;
  if (!error_.ok()) return absl::OkStatus();
  if (abandoned()) {
    CountAsRead(payload.size());
  } else {
    Append(payload, behind_.empty() ? arrived_ : behind_);
    NoteArrival();
  }
  return absl::OkStatus();
}

// Into the space of the last chunk first.
void StreamPort::Append(absl::Span<const std::byte> payload, Chunks& to) {
  if (!to.empty() && to.back().data != nullptr) {
    Buffer& last = to.back();
    const size_t fits = std::min(payload.size(), CapacityOf(last.data) - last.size);
    std::memcpy(last.data.get() + last.size, payload.data(), fits);
    last.size += fits;
    payload.remove_prefix(fits);
    if (payload.empty()) return;
  }
  to.push_back({NewReceivedBytes(payload.size(), home_), payload.size()});
  std::memcpy(to.back().data.get(), payload.data(), payload.size());
}

void StreamPort::Append(Buffer chunk, Chunks& to) {
  if (chunk.size < kSmallPiece) return Append({chunk.data.get(), chunk.size}, to);
  to.push_back(std::move(chunk));
}

absl::Status StreamPort::AddToSendWindow(uint64_t bytes) {
  if (window_.Add(bytes)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("a window larger by ", bytes, " bytes"));
}

absl::Status StreamPort::OnOpen(uint64_t window) {
  MutexLock lock(&mu_);
  if (std::exchange(opened_, true)) return absl::DataLossError("a stream opened twice");
  if (write_closed_) TellClosed();
  return AddToSendWindow(window);
}

absl::Status StreamPort::OnWindow(uint64_t bytes) { return AddToSendWindow(bytes); }

absl::Status StreamPort::OnCloseWrite() {
  MutexLock lock(&mu_);
  if (std::exchange(read_closed_, true)) return absl::DataLossError("a stream closed twice");
  peer_has_closed_.store(true, std::memory_order_relaxed);
  return absl::OkStatus();
}

void StreamPort::OnAbort(std::string text) {
  MutexLock lock(&mu_);
  if (!error_.ok()) return;
  Fail(absl::AbortedError(absl::StrCat("aborted by the peer: ", Printable(std::move(text)))));
  DropArrived();
}

void StreamPort::OnSpace() { window_.Again(); }

void StreamPort::OnLost(const absl::Status& why) {
  MutexLock lock(&mu_);
  if (error_.ok()) Fail(why);
  if (behind_.empty()) return;
  // What was still coming never comes, so that the end behind it is not reached.
  behind_.clear();
  read_closed_ = false;
}

// Most of what comes is nobody's news: no lock then.
void StreamPort::Notify() {
  const bool writable = window_.TakeWaiter();
  if (!writable && !wants_to_read_.load(std::memory_order_relaxed) && !window_.stopped()) return;
  std::shared_ptr<StreamObserver> observer;
  bool readable = false;
  bool ended = false;
  {
    MutexLock lock(&mu_);
    ended = EndedLocked();
    if (wants_to_read_.load(std::memory_order_relaxed) &&
        (!error_.ok() || !arrived_.empty() || (read_closed_ && behind_.empty()))) {
      readable = true;
      wants_to_read_.store(false, std::memory_order_relaxed);
    }
    if (readable || writable) observer = observer_;
  }
  if (ended) LeaveIfEnded();
  if (observer == nullptr) return;
  if (readable) observer->OnReadable();
  if (writable) observer->OnWritable();
}

}  // namespace skein::stream
