#include "thrift_transport/acceptor.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "core/base/errno_status.h"
#include "core/base/signals_blocked.h"
#include "thrift_transport/accept_retry_delay.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

constexpr size_t kMostDecided = 256;

}  // namespace

Acceptor::Acceptor(int listener, Accept accept, const Options& options, int tell, int ready)
    : listener_(listener),
      accept_(std::move(accept)),
      options_(options),
      tell_(tell),
      ready_(ready),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Start(int listener, Accept accept, const Options& options, int tell,
                                                          int ready) {
  std::unique_ptr<Acceptor> acceptor(new Acceptor(listener, std::move(accept), options, tell, ready));
  const bool made = acceptor->epoll_.valid() && acceptor->stop_.valid();
  if (!made || !acceptor->Watch(acceptor->stop_.get()) || !acceptor->Watch(tell) || !acceptor->Watch(listener)) {
    return ErrnoStatus(errno, "make the descriptors to accept with");
  }
  const SignalsBlocked blocked;
  try {
    acceptor->thread_ = std::thread([a = acceptor.get()] { a->Run(); });
  } catch (const std::system_error& error) {
    return ErrnoStatus(error.code().value(), "start a thread that accepts");
  }
  return acceptor;
}

Acceptor::~Acceptor() {
  if (!thread_.joinable()) return;
  if (!process_.CheckNotForked().ok()) {
    LeaveToParent();
    return;
  }
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

// Of a forked child: the thread is the parent's, and so is the descriptor that would tell the thread to stop. To close
// a connection is to shut it down, for the parent, too: no connection is ever destroyed here.
void Acceptor::LeaveToParent() {
  thread_.detach();
  new auto(std::move(connections_));
  new auto(std::move(decided_));
}

std::shared_ptr<PolledSocket> Acceptor::Take() {
  MutexLock lock(&mu_);
  if (decided_.empty()) return nullptr;
  std::shared_ptr<PolledSocket> socket = std::move(decided_.front());
  decided_.pop_front();
  char byte = 0;
  if (decided_.empty() && std::exchange(told_, false)) recv(ready_, &byte, 1, 0);
  return socket;
}

// Of those who wait for the server. A byte that the kernel refuses is sent again later: nobody would be taken any more.
void Acceptor::TellServer() {
  tells_again_ = Deadline::max();
  MutexLock lock(&mu_);
  if (decided_.empty() || told_) return;
  told_ = send(tell_, "", 1, MSG_NOSIGNAL) == 1;
  if (!told_) tells_again_ = Clock::now() + kAcceptRetryDelay;
}

bool Acceptor::Watch(int fd) {
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.fd = fd;
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Acceptor::Run() {
  pthread_setname_np(pthread_self(), "skein-acceptor");
  std::array<epoll_event, 32> events;
  for (;;) {
    const int ready = epoll_wait(epoll_.get(), events.data(), events.size(), TimeoutMs());
    for (int i = 0; i < ready; ++i) {
      const int fd = events[i].data.fd;
      if (fd == stop_.get()) return;
      if (fd == tell_) return OnServerGone();
      if (fd == listener_) {
        AcceptOne();
      } else if (const auto found = connections_.find(fd); found != connections_.end()) {
        if (!LookAt(fd, found->second)) connections_.erase(found);
      }
    }
    DropLate();
    if (Clock::now() >= tells_again_) TellServer();
    if (accepts_again_ != Deadline::min() && Clock::now() >= accepts_again_) {
      accepts_again_ = Watch(listener_) ? Deadline::min() : Clock::now() + kAcceptRetryDelay;
    }
  }
}

void Acceptor::Unwatch(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

// More wait for the server than it takes: the others wait in the kernel.
bool Acceptor::Full() {
  MutexLock lock(&mu_);
  return decided_.size() >= kMostDecided;
}

// The server has gone. This object may live on; as with Thrift's own, nobody can connect any more.
void Acceptor::OnServerGone() {
  shutdown(listener_, SHUT_RDWR);
  // Who has connected to a UNIX socket stays so.
  for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) close(fd);
  connections_.clear();
  std::deque<std::shared_ptr<PolledSocket>> never_taken;
  MutexLock lock(&mu_);
  decided_.swap(never_taken);
}

void Acceptor::Refuse(PolledSocket& socket, const std::string& why) const {
  ThriftOutput().printf("skein.mode is require, and there is only tcp to client %s: %s",
                        socket.getPeerAddress().c_str(), why.c_str());
}

void Acceptor::AcceptOne() {
  std::shared_ptr<PolledSocket> socket;
  try {
    if (!Full()) socket = accept_();
  } catch (...) {  // Thrift has said what, or the program's own accept callback
  }
  if (socket == nullptr || !Watch(socket->getSocketFD())) {
    Unwatch(listener_);
    accepts_again_ = Clock::now() + kAcceptRetryDelay;
    return;
  }
  const int fd = socket->getSocketFD();
  connections_[fd] = {std::move(socket), {}, Deadline::max()};
}

bool Acceptor::LookAt(int fd, Connection& connection) {
  if (connection.deadline == Deadline::max()) {
    const First first = LookAtFirst(fd);
    if (first == First::kNothing) return true;
    if (first != First::kHello) {
      const bool refused = first == First::kOther && options_.mode == Mode::kRequire;
      if (refused) Refuse(*connection.socket, ToString(Fallback{FallbackCode::kNoOffer, {}}));
      if (!refused) HandOutOnTcp(fd, connection, {FallbackCode::kNoOffer, {}});
      return false;
    }
    connection.deadline = After(options_.negotiation_timeout);
  }
  const absl::StatusOr<bool> whole = connection.hello.Read(fd);
  if (whole.ok() && !*whole) return true;
  if (whole.ok()) OnHello(fd, connection);
  return false;
}

void Acceptor::HandOutOnTcp(int fd, Connection& connection, const Fallback& why) {
  connection.socket->List(ListPath(/*client=*/false, fd, "tcp", why));
  HandOut(fd, std::move(connection.socket));
}

void Acceptor::OnHello(int fd, Connection& connection) {
  Greeted greeted = connection.hello.Answer(fd, options_);
  if (greeted.stream == nullptr) {
    if (options_.mode == Mode::kRequire) return Refuse(*connection.socket, ToString(greeted.why));
    if (greeted.goes_on) HandOutOnTcp(fd, connection, greeted.why);
    return;
  }
  connection.socket->List(ListPath(/*client=*/false, fd, greeted.stream->path(), greeted.why));
  std::shared_ptr<wait::WaitSet> space = Runtime::Get().WaitingAs(options_).threads.SpaceOf(*greeted.stream);
  if (connection.socket->Adopt(std::move(greeted.stream), std::move(space))) HandOut(fd, std::move(connection.socket));
}

void Acceptor::HandOut(int fd, std::shared_ptr<PolledSocket> socket) {
  Unwatch(fd);
  {
    MutexLock lock(&mu_);
    decided_.push_back(std::move(socket));
  }
  TellServer();
}

void Acceptor::DropLate() {
  const Deadline now = Clock::now();
  absl::erase_if(connections_, [now](const auto& entry) { return entry.second.deadline <= now; });
}

int Acceptor::TimeoutMs() const {
  Deadline next = std::min(accepts_again_ == Deadline::min() ? Deadline::max() : accepts_again_, tells_again_);
  for (const auto& [fd, connection] : connections_) next = std::min(next, connection.deadline);
  return TimeoutOf(next);
}

}  // namespace skein::thrift_transport
