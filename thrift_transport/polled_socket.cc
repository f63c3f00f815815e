#include "thrift_transport/polled_socket.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "core/base/forked.h"
#include "core/base/mutex.h"
#include "core/base/unique_fd.h"
#include "core/link/link.h"

namespace skein::thrift_transport {

using apache::thrift::transport::TTransportException;

// The eventfd, as the stream's observer sets it. Lives as long as somebody may still do so.
class PolledSocket::Readiness final : public stream::StreamObserver {
 public:
  Readiness() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  int fd() const { return event_.get(); }
  void OnReadable() override { SetReadable(true); }
  void OnWritable() override { SetBlocked(false); }

  bool SetReadable(bool readable) {
    MutexLock lock(&mu_);
    const bool was = std::exchange(readable_, readable);
    Show();
    return was;
  }
  void SetBlocked(bool blocked) {
    MutexLock lock(&mu_);
    blocked_ = blocked;
    Show();
  }

  // By who has polled all that the peer had sent before it went.
  void PeerIsGone() {
    gone_.store(true, std::memory_order_release);
    SetReadable(true);
    SetBlocked(false);
  }
  bool peer_is_gone() const { return gone_.load(std::memory_order_acquire); }

 private:
  static constexpr uint64_t kBlocked = UINT64_MAX - 1;  // the next write of one would wait

  void Show() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const uint64_t value = blocked_ ? kBlocked : readable_ ? 1 : 0;
    if (value == shown_) return;
    eventfd_t ignored = 0;
    if (std::exchange(shown_, value) != 0) eventfd_read(event_.get(), &ignored);
    if (value != 0) eventfd_write(event_.get(), value);
  }

  const UniqueFd event_;
  std::atomic<bool> gone_ = false;  // release, then the descriptor; acquire by who reads
  Mutex mu_;
  bool readable_ ABSL_GUARDED_BY(mu_) = false;
  bool blocked_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t shown_ ABSL_GUARDED_BY(mu_) = 0;
};

PolledSocket::~PolledSocket() { close(); }

bool PolledSocket::Adopt(std::shared_ptr<stream::Stream> stream, std::shared_ptr<link::LinkRoom> room) {
  auto readiness = std::make_shared<Readiness>();
  if (readiness->fd() < 0) return false;
  readiness_ = readiness;
  room_ = std::move(room);
  stream_ = std::move(stream);
  stream_->SetObserver(readiness_);
  tcp_ = std::exchange(socket_, readiness_->fd());
  lifeline_ = std::make_shared<link::Lifeline>();
  lifeline_->fd = tcp_;
  lifeline_->depends_on_caretaker = true;
  lifeline_->cut = [readiness] { readiness->PeerIsGone(); };
  room_->Add(lifeline_);
  Fill();
  return true;
}

// True: there is something to read. The descriptor tells the truth afterwards: it is made quiet before the stream is
// asked for the last time.
bool PolledSocket::Fill() {
  for (bool was_readable = true; was_readable;) {
    if (!arrived_.empty()) return true;
    const bool gone = readiness_->peer_is_gone();
    ended_ = ended_ || !stream_->Read(Arrived::kMostTaken, arrived_.Refill()).ok();
    ended_ = ended_ || (gone && arrived_.empty() && !stream_->Coming());
    if (!arrived_.empty() || ended_) {
      readiness_->SetReadable(true);
      return !arrived_.empty();
    }
    was_readable = readiness_->SetReadable(false);
  }
  return false;
}

uint32_t PolledSocket::read(uint8_t* buf, uint32_t len) {
  if (stream_ == nullptr) return TSocket::read(buf, len);
  checkReadBytesAvailable(len);
  if (!Fill()) {
    if (ended_) return 0;
    throw TTransportException(TTransportException::TIMED_OUT, "skein: nothing yet; retry");
  }
  const uint32_t taken = arrived_.Take(buf, len);
  Fill();
  return taken;
}

bool PolledSocket::hasPendingDataToRead() { return stream_ == nullptr ? TSocket::hasPendingDataToRead() : Fill(); }

bool PolledSocket::peek() { return stream_ == nullptr ? TSocket::peek() : Fill(); }

uint32_t PolledSocket::write_partial(const uint8_t* buf, uint32_t len) {
  if (stream_ == nullptr) return TSocket::write_partial(buf, len);
  uint32_t sent = 0;
  // Marked as blocked before it is tried for the last time: who makes room from then on unmarks it.
  for (const bool blocked : {false, true}) {
    if (blocked) readiness_->SetBlocked(true);
    const stream::ConstBytes bytes(reinterpret_cast<const std::byte*>(buf) + sent, len - sent);
    const absl::StatusOr<size_t> taken = stream_->Write({&bytes, 1});
    if (!taken.ok() || (blocked && readiness_->peer_is_gone())) {
      readiness_->SetBlocked(false);
      throw TTransportException(TTransportException::NOT_OPEN, "skein: " + std::string(taken.status().message()));
    }
    sent += static_cast<uint32_t>(*taken);
    if (sent == len) break;
  }
  if (sent == len) readiness_->SetBlocked(false);
  return sent;
}

void PolledSocket::close() {
  listed_ = nullptr;
  if (stream_ == nullptr) return TSocket::close();
  socket_ = THRIFT_INVALID_SOCKET;
  if (InForkedChild()) {  // the memory that the stream is made of is not mapped here
    ::close(std::exchange(tcp_, -1));
    new std::shared_ptr<stream::Stream>(std::move(stream_));  // never destroyed
    return;
  }
  room_->Remove(lifeline_);
  stream_->CloseWrite();
  auto tcp = std::make_shared<UniqueFd>(std::exchange(tcp_, -1));
  // The TCP connection's end says that the peer has gone: not before its last words have arrived.
  const bool arrive_at_once = room_->reached() && stream_->link()->device()->capabilities().announces_close;
  if (!arrive_at_once) {
    stream_->WhenReached([tcp, room = room_](const absl::Status& status) {
      if (status.ok()) room->set_reached();
    });
  }
  stream_ = nullptr;
  readiness_ = nullptr;
  lifeline_ = nullptr;
}

}  // namespace skein::thrift_transport
