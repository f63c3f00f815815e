// The sending half: items of streams and of the link itself, as many as fit, in one message.
#include <algorithm>
#include <utility>

#include "core/link/link.h"
#include "core/wire/bytes.h"

namespace skein::link {
namespace {

constexpr size_t kMaxControlItems = 64;  // per message

ConstBytes AsBytes(const std::string& text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

// Walks over buffers without copying them.
class Cursor {
 public:
  explicit Cursor(absl::Span<const ConstBytes> buffers) : rest_(buffers) {}
  // The next `size` bytes, as parts, without moving on.
  std::vector<ConstBytes> Peek(size_t size) const {
    std::vector<ConstBytes> parts;
    size_t offset = offset_;
    for (const ConstBytes& buffer : rest_) {
      if (size == 0) break;
      const ConstBytes part = buffer.subspan(offset, size);
      if (!part.empty()) parts.push_back(part);
      size -= part.size();
      offset = 0;
    }
    return parts;
  }
  void Skip(size_t size) {
    while (size > 0) {
      const size_t part = std::min(size, rest_.front().size() - offset_);
      size -= part;
      offset_ += part;
      if (offset_ == rest_.front().size()) {
        rest_.remove_prefix(1);
        offset_ = 0;
      }
    }
  }

 private:
  absl::Span<const ConstBytes> rest_;
  size_t offset_ = 0;
};

size_t TotalBytes(absl::Span<const ConstBytes> parts) {
  size_t total = 0;
  for (const ConstBytes& part : parts) total += part.size();
  return total;
}

}  // namespace

// False: not all of it fits.
bool Link::TakeControl(size_t room, std::vector<ring::OutItem>& items, std::vector<ConstBytes>& parts, size_t& used) {
  parts.reserve(kMaxControlItems);  // items point into it
  for (Control& control : control_) {
    if (control.kind == wire::ItemKind::kWindow) {
      control.payload.clear();
      wire::Put(control.payload, control.port->window_to_return_);
    }
    const size_t bytes = wire::ItemBytes(control.payload.size());
    if (items.size() == kMaxControlItems || used + bytes > room) return false;
    ring::OutItem item;
    item.header.stream = control.stream;
    item.header.kind = control.kind;
    parts.push_back(AsBytes(control.payload));
    item.payload = {&parts.back(), 1};
    items.push_back(item);
    used += bytes;
  }
  return true;
}

absl::Status Link::WriteItems(absl::Span<ring::OutItem> items, ring::Reserve reserve, bool signaled) {
  const uint64_t head = read_head_.load(std::memory_order_acquire);
  absl::Status status = writer_->Write(items, head, reserve, signaled);
  if (absl::IsResourceExhausted(status) && PollQueue()) status = writer_->Write(items, head, reserve, signaled);
  if (status.ok()) told_head_ = head;
  if (!status.ok() && !absl::IsResourceExhausted(status)) SendFailed(status);
  return status;
}

// One message: control that waits, then as much of `data` as there is room for. Gives the bytes of `data` taken.
absl::StatusOr<size_t> Link::SendOne(Port* port, absl::Span<const ConstBytes> data) {
  const ring::Reserve reserve = port != nullptr ? ring::Reserve::kData : ring::Reserve::kControl;
  const size_t room = writer_->Room(reserve);
  std::vector<ring::OutItem> items;
  std::vector<ConstBytes> parts;
  size_t used = 0;
  const bool all_control = TakeControl(room, items, parts, used);
  const size_t controls = items.size();
  size_t taken = 0;
  // Data must not overtake control of its own stream.
  if (port != nullptr && all_control && room > used + sizeof(wire::ItemHeader)) {
    const size_t most = (room - used - sizeof(wire::ItemHeader)) & ~size_t{7};
    taken = std::min(TotalBytes(data), most);
    if (taken > 0) {
      ring::OutItem item;
      item.header.stream = port->stream();
      item.header.kind = wire::ItemKind::kData;
      item.payload = data;
      items.push_back(item);
    }
  }
  if (items.empty()) return absl::ResourceExhaustedError("the peer's ring is full");
  const std::vector<ConstBytes> data_parts = Cursor(data).Peek(taken);
  if (taken > 0) items.back().payload = data_parts;
  // Given now, taken back if the message does not go: sequences have no gaps.
  for (size_t i = 0; i < items.size(); ++i) {
    Port* of = i < controls ? control_[i].port.get() : port;
    if (of != nullptr) items[i].header.sequence = of->next_out_++;
  }
  const absl::Status status = WriteItems(absl::MakeSpan(items), reserve);
  if (!tx_error_.ok()) return status;  // over: nothing waits any more, and sequences do not matter
  if (!status.ok()) {
    for (size_t i = 0; i < items.size(); ++i) {
      Port* of = i < controls ? control_[i].port.get() : port;
      if (of != nullptr) --of->next_out_;
    }
    return status;
  }
  for (size_t i = 0; i < controls; ++i) {
    if (control_.front().kind == wire::ItemKind::kWindow) control_.front().port->window_to_return_ = 0;
    control_.pop_front();
  }
  return taken;
}

void Link::FlushControl() {
  while (writer_ != nullptr && tx_error_.ok() && !control_.empty()) {
    if (!SendOne(nullptr, {}).ok()) return;  // tried again when the peer's head has moved
  }
}

absl::StatusOr<size_t> Link::Send(Port& port, absl::Span<const ConstBytes> buffers, size_t max_bytes) {
  absl::MutexLock lock(&tx_mu_);
  if (!tx_error_.ok()) return tx_error_;
  Cursor cursor(buffers);
  const size_t wanted = std::min(max_bytes, TotalBytes(buffers));
  size_t sent = 0;
  while (sent < wanted && writer_ != nullptr) {
    const absl::StatusOr<size_t> taken = SendOne(&port, cursor.Peek(wanted - sent));
    if (!tx_error_.ok()) return tx_error_;
    if (!taken.ok()) break;
    cursor.Skip(*taken);
    sent += *taken;
  }
  if (sent < wanted) WaitForRoom(port);
  return sent;
}

void Link::SendControl(std::shared_ptr<Port> port, wire::ItemKind kind, std::string payload) {
  absl::MutexLock lock(&tx_mu_);
  if (!tx_error_.ok()) return;
  const uint32_t stream = port->stream();
  control_.push_back({std::move(port), stream, kind, std::move(payload)});
  FlushControl();
}

void Link::ReturnWindow(std::shared_ptr<Port> port, uint64_t bytes) {
  absl::MutexLock lock(&tx_mu_);
  if (!tx_error_.ok()) return;
  const bool queued = std::exchange(port->window_to_return_, port->window_to_return_ + bytes) > 0;
  if (!queued) {
    const uint32_t stream = port->stream();
    control_.push_back({std::move(port), stream, wire::ItemKind::kWindow, {}});
  }
  FlushControl();
}

void Link::WaitForRoom(Port& port) {
  if (std::exchange(port.waits_for_room_, true)) return;
  room_waiters_.push_back(port.weak_from_this());
}

void Link::TellHead() {
  if (writer_ == nullptr || !tx_error_.ok()) return;
  if (read_head_.load(std::memory_order_acquire) - told_head_ < ring_bytes_ / 4) return;
  ring::OutItem item;
  item.header.kind = wire::ItemKind::kHead;
  // Refused only when the peer has not read even the last reserve; it will be told by the next message.
  WriteItems({&item, 1}, ring::Reserve::kHead).IgnoreError();
}

bool Link::Flushed() {
  absl::MutexLock lock(&tx_mu_);
  return FlushedLocked();
}

void Link::WhenFlushed(std::function<void(const absl::Status&)> then) {
  absl::Status status;
  {
    absl::MutexLock lock(&tx_mu_);
    if (!FlushedLocked() && tx_error_.ok()) {
      flush_waiters_.push_back(std::move(then));
      return;
    }
    status = tx_error_;
  }
  then(status);
}

bool Link::FlushedLocked() {
  flush_wanted_ = true;
  if (writer_ != nullptr && tx_error_.ok()) {
    FlushControl();
    if (!control_.empty()) return false;
    // Most requests complete silently: one more, which does not, tells of all before it.
    if (reached_.load(std::memory_order_relaxed) >= flush_mark_ && flush_mark_ != writer_->posted()) {
      ring::OutItem item;
      item.header.kind = wire::ItemKind::kHead;
      if (!WriteItems({&item, 1}, ring::Reserve::kControl, /*signaled=*/true).ok()) return false;
      flush_mark_ = writer_->posted();
      PollQueue();
    }
    if (reached_.load(std::memory_order_relaxed) != writer_->posted()) return false;
  }
  flush_wanted_ = false;
  return true;
}

void Link::SendFailed(const absl::Status& why) {
  tx_error_ = absl::UnavailableError(why.message());
  control_.clear();
  queue_pair_->Close();  // the poller learns it from the queue, and tells the ports
}

}  // namespace skein::link
