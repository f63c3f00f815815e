#include "thrift_transport/polled_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/forked.h"
#include "core/link/link.h"
#include "core/stream/readiness.h"

namespace skein::thrift_transport {

using apache::thrift::transport::TTransportException;

// What the stream's observer tells. Lives as long as somebody may still do so.
class PolledSocket::Told final : public stream::StreamObserver {
 public:
  stream::Readiness& readiness() { return readiness_; }
  void OnReadable() override { readiness_.SetReadable(true); }
  void OnWritable() override { readiness_.SetBlocked(false); }

  // By who has polled all that the peer had sent before it went.
  void PeerIsGone() {
    gone_.store(true, std::memory_order_release);
    readiness_.SetReadable(true);
    readiness_.SetBlocked(false);
  }
  bool peer_is_gone() const { return gone_.load(std::memory_order_acquire); }

 private:
  stream::Readiness readiness_;
  std::atomic<bool> gone_ = false;  // release, then the descriptor; acquire by who reads
};

PolledSocket::~PolledSocket() { close(); }

bool PolledSocket::Adopt(std::shared_ptr<stream::Stream> stream, std::shared_ptr<wait::WaitSet> space) {
  auto told = std::make_shared<Told>();
  if (told->readiness().fd() < 0) return false;
  auto liveness = std::make_shared<wait::NegotiationConnection>();
  liveness->fd = socket_;
  liveness->depends_on_background = true;
  liveness->on_end = [told] { told->PeerIsGone(); };
  // The background thread looks after this socket, and hears of no liveness that the kernel does not watch.
  if (!space->Add(liveness).ok()) {
    space->Remove(liveness);
    return false;
  }
  liveness_ = std::move(liveness);
  told_ = told;
  space_ = std::move(space);
  stream_ = std::move(stream);
  stream_->SetObserver(told_);
  tcp_ = std::exchange(socket_, told_->readiness().fd());
  Fill();
  return true;
}

// True: there are bytes to read. The descriptor tells the truth afterwards.
bool PolledSocket::Fill() {
  if (!arrived_.empty()) return true;
  told_->readiness().Tell([this] {
    const bool gone = told_->peer_is_gone();
    ended_ = ended_ || !stream_->Read(Arrived::kMostTaken, arrived_.Refill()).ok();
    ended_ = ended_ || (gone && arrived_.empty() && !stream_->Coming());
    return !arrived_.empty() || ended_;
  });
  return !arrived_.empty();
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
  stream::Readiness& readiness = told_->readiness();
  uint32_t sent = 0;
  // Marked as blocked before it is tried for the last time: who makes space from then on unmarks it.
  for (const bool blocked : {false, true}) {
    if (blocked) readiness.SetBlocked(true);
    const stream::ConstBytes bytes(reinterpret_cast<const std::byte*>(buf) + sent, len - sent);
    const absl::StatusOr<size_t> taken = WriteSome(bytes);
    if (!taken.ok()) {
      readiness.SetBlocked(false);
      throw TTransportException(TTransportException::NOT_OPEN, "skein: " + std::string(taken.status().message()));
    }
    sent += static_cast<uint32_t>(*taken);
    if (sent == len) break;
  }
  if (sent == len) readiness.SetBlocked(false);
  return sent;
}

// As over TCP: see WriteAfterTheEnd.
absl::StatusOr<size_t> PolledSocket::WriteSome(stream::ConstBytes bytes) {
  if (!told_->peer_is_gone() && !stream_->PeerHasClosed()) return stream_->Write({&bytes, 1});
  if (after_the_end_.TakesOne()) return bytes.size();
  return absl::UnavailableError("the client has closed the connection");
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
  space_->Remove(liveness_);
  stream_->CloseWrite();
  const std::shared_ptr<void> tcp(nullptr, [fd = std::exchange(tcp_, -1)](void*) {
    shutdown(fd, SHUT_RDWR);
    ::close(fd);
  });
  // The TCP connection's end says that the peer has gone: not before its last words have arrived. It is shut down, too:
  // a child that fork() made may hold a copy of the descriptor.
  const bool arrive_at_once = space_->reached() && stream_->link()->transport().traits().announces_close;
  if (!arrive_at_once) {
    stream_->WhenReached([tcp, space = space_](const absl::Status& status) {
      if (status.ok()) space->set_reached();
    });
  }
  stream_ = nullptr;
  told_ = nullptr;
  liveness_ = nullptr;
}

}  // namespace skein::thrift_transport
