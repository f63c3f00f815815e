#include "core/replicate/tcp_path.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "core/base/errno_status.h"
#include "core/base/mutex.h"

namespace skein::replicate {
namespace {

bool FullOrEmpty(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

// The path and its watcher own it. Its descriptor is an epoll set of the socket, whose events come once for each
// change: whoever takes them tells the observer.
class Connection final : public wait::Source {
 public:
  Connection(UniqueFd socket, UniqueFd events) : socket_(std::move(socket)), events_(std::move(events)) {}

  absl::Status Begin() {
    const int flags = fcntl(socket_.get(), F_GETFL);
    if (flags < 0 || fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK) < 0) {
      return ErrnoStatus(errno, "make a socket non-blocking");
    }
    // A failure's word is short, and must not wait for an acknowledgement. Not every stream socket knows that.
    const int on = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    epoll_event event = {EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, {}};
    if (epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket_.get(), &event) < 0) {
      return ErrnoStatus(errno, "watch a socket");
    }
    return absl::OkStatus();
  }

  int socket() const { return socket_.get(); }
  void SetObserver(std::shared_ptr<PathObserver> observer) ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    observer_ = std::move(observer);
  }
  // The path is gone. The socket stays until the watcher has let go.
  void End() ABSL_LOCKS_EXCLUDED(mu_) {
    shutdown(socket_.get(), SHUT_RDWR);  // wakes a watcher that sleeps
    over_.store(true, std::memory_order_release);
    SetObserver(nullptr);
  }

  bool Poll() override {
    const uint32_t events = TakeEvents() | seen_.exchange(0, std::memory_order_acq_rel);
    if (events == 0) return false;
    const std::shared_ptr<PathObserver> observer = Observer();
    if (observer == nullptr) return false;
    if ((events & ~uint32_t{EPOLLOUT}) != 0) observer->OnReadable();
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) observer->OnWritable();
    return true;
  }
  bool Arm() override {
    seen_.fetch_or(TakeEvents(), std::memory_order_acq_rel);
    return seen_.load(std::memory_order_acquire) == 0;
  }
  int fd() const override { return events_.get(); }
  bool finished() const override { return over_.load(std::memory_order_acquire); }
  bool Retire() override { return finished(); }

 private:
  std::shared_ptr<PathObserver> Observer() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    return observer_;
  }
  uint32_t TakeEvents() const {
    epoll_event event;
    return epoll_wait(events_.get(), &event, 1, 0) == 1 ? event.events : 0;
  }

  const UniqueFd socket_;
  const UniqueFd events_;
  std::atomic<uint32_t> seen_ = 0;  // events that an Arm has found, for the next Poll
  std::atomic<bool> over_ = false;
  Mutex mu_;  // a leaf
  std::shared_ptr<PathObserver> observer_ ABSL_GUARDED_BY(mu_);
};

class TcpPath final : public Path {
 public:
  explicit TcpPath(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~TcpPath() override { connection_->End(); }

  void SetObserver(std::shared_ptr<PathObserver> observer) override { connection_->SetObserver(std::move(observer)); }

  absl::StatusOr<size_t> Write(absl::Span<const ConstBytes> parts) override {
    size_t taken = 0;
    for (const ConstBytes part : parts) {
      // All of it before the next: the observer hears of free space only behind a send that found none.
      for (size_t sent = 0; sent < part.size();) {
        const absl::StatusOr<size_t> some = Send(part.subspan(sent), part.data() != parts.back().data());
        if (!some.ok()) return some.status();
        if (*some == 0) return taken;
        sent += *some;
        taken += *some;
      }
    }
    return taken;
  }

  // Straight to where the bytes belong.
  absl::StatusOr<size_t> Read(Bytes into) override {
    for (;;) {
      const ssize_t got = recv(connection_->socket(), into.data(), into.size(), MSG_DONTWAIT);
      if (got > 0) return static_cast<size_t>(got);
      if (got == 0) return absl::OutOfRangeError("the peer has closed its side");
      if (FullOrEmpty(errno)) return 0;
      if (errno != EINTR) return absl::UnavailableError(ErrnoStatus(errno, "receive from a member").message());
    }
  }

  void CloseWrite() override { shutdown(connection_->socket(), SHUT_WR); }
  std::string name() const override { return "tcp"; }

 private:
  // 0: there is no space. `more`: follows at once, and may go with it.
  absl::StatusOr<size_t> Send(ConstBytes bytes, bool more) const {
    for (;;) {
      const int flags = MSG_NOSIGNAL | MSG_DONTWAIT | (more ? MSG_MORE : 0);
      const ssize_t sent = send(connection_->socket(), bytes.data(), bytes.size(), flags);
      if (sent >= 0) return static_cast<size_t>(sent);
      if (FullOrEmpty(errno)) return 0;
      if (errno != EINTR) return absl::UnavailableError(ErrnoStatus(errno, "send to a member").message());
    }
  }

  const std::shared_ptr<Connection> connection_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Path>> CreateTcpPath(UniqueFd socket, wait::Watcher& watcher) {
  UniqueFd events(epoll_create1(EPOLL_CLOEXEC));
  if (!events.valid()) return ErrnoStatus(errno, "create an epoll set");
  auto connection = std::make_shared<Connection>(std::move(socket), std::move(events));
  if (absl::Status status = connection->Begin(); !status.ok()) return status;
  watcher.Watch(connection);
  return std::make_unique<TcpPath>(std::move(connection));
}

}  // namespace skein::replicate
