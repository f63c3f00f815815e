// The receiving half: messages out of the ring, their items to the ports, the ports' observers called at the end.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/link/link.h"
#include "core/wire/bytes.h"

namespace skein::link {
namespace {

constexpr int kMessagesPerBatch = 64;  // then the ports hear of them

// Copies once; what is looked at is the copy.
std::string CopyOf(absl::Span<const std::byte> payload) {
  return std::string(reinterpret_cast<const char*>(payload.data()), payload.size());
}

absl::StatusOr<uint64_t> Number(const wire::Item& item) {
  const std::string bytes = CopyOf(item.payload);
  wire::FieldReader reader(bytes);
  const auto number = reader.Take<uint64_t>();
  if (!reader.done()) return absl::DataLossError("an item whose payload is not a number");
  return number;
}

}  // namespace

bool Link::TakePolling() {
  Polling free = Polling::kFree;
  return polling_.compare_exchange_strong(free, Polling::kOwned, std::memory_order_acquire);
}

void Link::LeavePolling() {
  Polling owned = Polling::kOwned;
  while (!polling_.compare_exchange_strong(owned, Polling::kFree, std::memory_order_release)) {
    // Somebody is going to sleep, trusting that this thread leaves nothing behind.
    polling_.store(Polling::kOwned, std::memory_order_relaxed);
    while (!ArmOwned()) PollOwned();
    owned = Polling::kOwned;
  }
}

bool Link::Poll() {
  if (finished() || !TakePolling()) return false;
  const bool any = PollOwned();
  LeavePolling();
  return any;
}

bool Link::Drain() {
  if (finished()) return true;
  if (!TakePolling()) return false;
  do {
    while (PollOwned()) {
    }
  } while (!ArmOwned());  // the polls may have acknowledged what another thread sleeps for
  LeavePolling();
  return true;
}

bool Link::Arm() {
  for (;;) {
    if (finished()) return true;
    if (TakePolling()) {
      const bool armed = ArmOwned();
      LeavePolling();
      return armed;
    }
    Polling owned = Polling::kOwned;
    if (polling_.compare_exchange_strong(owned, Polling::kOwnedAndArmWanted, std::memory_order_relaxed) ||
        owned == Polling::kOwnedAndArmWanted) {
      return true;
    }
  }
}

bool Link::ArmOwned() {
  if (finished()) return true;
  if (!queue_->Arm().ok()) {
    // Who cannot sleep must not poll for ever: the link is lost by the next poll.
    queue_pair_->Close();
    absl::MutexLock lock(&queue_mu_);
    queue_pair_failed_ = true;
    return false;
  }
  armed_ = true;
  if (!PollQueue()) return false;
  if (SendsCompletedForSomebody()) return false;
  const absl::StatusOr<std::optional<ring::Message>> next = reader_->Next();
  return next.ok() && !next->has_value();
}

// Completions that another thread, or the look after arming, has taken out of the queue: who waits for them would not
// be woken again.
bool Link::SendsCompletedForSomebody() {
  absl::MutexLock lock(&tx_mu_);
  absl::MutexLock queue(&queue_mu_);
  return sends_completed_ && (!room_waiters_.empty() || !control_.empty() || flush_wanted_);
}

bool Link::PollOwned() {
  if (finished()) return false;
  if (std::exchange(armed_, false)) queue_->AckEvents();
  // Asked before the ring is read: what the peer wrote before it went is still delivered.
  const bool connected = PollQueue();
  {
    absl::MutexLock lock(&queue_mu_);
    sends_completed_ = false;
  }
  if (!connected && !last_head_.has_value()) last_head_ = reader_->head() + ring_bytes_;
  absl::Status status;
  int count = 0;
  for (; status.ok() && count < kMessagesPerBatch; ++count) {
    const absl::StatusOr<std::optional<ring::Message>> next = reader_->Next();
    status = next.status();
    if (!next.ok() || !next->has_value()) break;
    status = Receive(**next);
    reader_->Pop(**next);
    read_head_.store(reader_->head(), std::memory_order_release);
  }
  bool flushed = false;
  {
    absl::MutexLock lock(&tx_mu_);
    FlushControl();
    TellHead();
    flushed = flush_wanted_ && FlushedLocked();
  }
  TouchRoomWaiters();
  const bool lost = !status.ok() || (!connected && (count == 0 || reader_->head() >= *last_head_));
  if (lost) Lose(status.ok() ? queue_pair_->error() : status);
  NotifyTouched();
  if (flushed || lost) TellFlushed();
  return lost || count > 0;
}

void Link::TellFlushed() {
  std::vector<std::function<void(const absl::Status&)>> waiters;
  absl::Status status;
  {
    absl::MutexLock lock(&tx_mu_);
    waiters.swap(flush_waiters_);
    status = tx_error_;
  }
  for (const auto& waiter : waiters) waiter(status);
  if (on_flushed_) on_flushed_();
}

absl::Status Link::Receive(const ring::Message& message) {
  {
    absl::MutexLock lock(&tx_mu_);
    if (writer_ != nullptr) {
      if (absl::Status status = writer_->SetPeerHead(message.header.head); !status.ok()) return status;
    } else if (message.header.head != 0) {
      return absl::DataLossError("a head for a ring that was not given yet");
    }
  }
  for (wire::ItemWalk items = message.items(); !items.done();) {
    const absl::StatusOr<wire::Item> item = items.Next();
    if (!item.ok()) return item.status();
    absl::Status status;
    if (item->header.kind == wire::ItemKind::kHello) {
      status = ReceiveHello(item->payload);
    } else if (passive_ && !greeted_) {
      status = absl::DataLossError("the peer's first item is not a hello");
    } else if (item->header.kind == wire::ItemKind::kBye) {
      status = absl::AbortedError("the peer has left it");
    } else if (item->header.kind != wire::ItemKind::kHead) {
      status = ReceiveForStream(*item);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Link::ReceiveHello(absl::Span<const std::byte> payload) {
  if (!passive_ || std::exchange(greeted_, true)) return absl::DataLossError("an unexpected hello");
  const absl::StatusOr<wire::RingDescriptor> ring = wire::DecodeRingDescriptor(CopyOf(payload));
  if (!ring.ok()) return ring.status();
  absl::StatusOr<std::unique_ptr<ring::RingWriter>> writer =
      ring::RingWriter::Create(*device_, *queue_pair_, *ring, max_mirror_bytes_);
  if (!writer.ok()) return writer.status();
  absl::MutexLock lock(&tx_mu_);
  writer_ = *std::move(writer);
  return absl::OkStatus();
}

absl::Status Link::ReceiveForStream(const wire::Item& item) {
  std::shared_ptr<Port> port;
  {
    absl::MutexLock lock(&ports_mu_);
    const auto found = ports_.find(item.header.stream);
    if (found == ports_.end()) return ReceiveForNobody(item.header);
    port = found->second;
  }
  // An abort may come from a peer that has forgotten the stream already.
  if (item.header.kind != wire::ItemKind::kAbort && item.header.sequence != port->next_in_++) {
    return absl::DataLossError(absl::StrCat("stream ", item.header.stream, " skipped an item"));
  }
  Touch(port);
  return Deliver(*port, item);
}

absl::Status Link::ReceiveForNobody(const wire::ItemHeader& header) {
  const bool ended = header.stream != 0 && header.stream <= highest_stream_;
  // The passive side may give a stream up before the active one has heard of it.
  const bool early_end = !passive_ && header.stream != 0 &&
                         (header.kind == wire::ItemKind::kAbort || header.kind == wire::ItemKind::kCloseWrite);
  if (!ended && !early_end) return absl::DataLossError(absl::StrCat("an item for stream ", header.stream));
  if (passive_ && header.kind == wire::ItemKind::kOpen) {
    // Each is answered; who repeats them and never reads the answers must not fill memory with these.
    if (++refused_opens_ > highest_stream_) return absl::DataLossError("more opens than streams");
    absl::MutexLock lock(&tx_mu_);
    control_.push_back({nullptr, header.stream, wire::ItemKind::kAbort, "the stream has ended"});
  }
  return absl::OkStatus();
}

absl::Status Link::Deliver(Port& port, const wire::Item& item) {
  switch (item.header.kind) {
    case wire::ItemKind::kData:
      return port.OnData(item.payload);
    case wire::ItemKind::kCloseWrite:
      return port.OnCloseWrite();
    case wire::ItemKind::kAbort:
      port.OnAbort(CopyOf(item.payload.subspan(0, wire::kMaxAbortTextBytes)));
      return absl::OkStatus();
    case wire::ItemKind::kOpen:
    case wire::ItemKind::kWindow: {
      const absl::StatusOr<uint64_t> number = Number(item);
      if (!number.ok()) return number.status();
      return item.header.kind == wire::ItemKind::kOpen ? port.OnOpen(*number) : port.OnWindow(*number);
    }
    case wire::ItemKind::kHello:
    case wire::ItemKind::kHead:
    case wire::ItemKind::kBye:
      break;
  }
  return absl::OkStatus();  // the link's own, handled in Receive
}

void Link::TouchRoomWaiters() {
  std::vector<std::weak_ptr<Port>> waiters;
  {
    absl::MutexLock lock(&tx_mu_);
    if (room_waiters_.empty() || writer_ == nullptr || writer_->Room(ring::Reserve::kData) == 0) return;
    waiters.swap(room_waiters_);
    for (const std::weak_ptr<Port>& waiter : waiters) {
      if (const std::shared_ptr<Port> port = waiter.lock()) port->waits_for_room_ = false;
    }
  }
  for (const std::weak_ptr<Port>& waiter : waiters) {
    if (const std::shared_ptr<Port> port = waiter.lock()) {
      port->OnRoom();
      Touch(port);
    }
  }
}

void Link::Touch(const std::shared_ptr<Port>& port) {
  if (!std::exchange(port->touched_, true)) touched_.push_back(port);
}

void Link::NotifyTouched() {
  std::vector<std::shared_ptr<Port>> touched;
  touched.swap(touched_);
  for (const std::shared_ptr<Port>& port : touched) port->touched_ = false;
  for (const std::shared_ptr<Port>& port : touched) port->Notify();
}

void Link::Lose(const absl::Status& why) {
  queue_pair_->Close();
  absl::flat_hash_map<uint32_t, std::shared_ptr<Port>> ports;
  {
    absl::MutexLock lock(&ports_mu_);
    lost_.store(true, std::memory_order_release);
    ports.swap(ports_);
  }
  const absl::StatusCode code = absl::IsAborted(why) ? absl::StatusCode::kAborted : absl::StatusCode::kUnavailable;
  const absl::Status lost(code, absl::StrCat("the link to the peer is lost: ", why.message()));
  {
    absl::MutexLock lock(&tx_mu_);
    tx_error_ = lost;
    control_.clear();
    room_waiters_.clear();
  }
  for (const auto& [stream, port] : ports) {
    port->OnLost(lost);
    Touch(port);
  }
  queue_->Wake();  // who sleeps on it must find out that there is no more to wait for
}

}  // namespace skein::link
