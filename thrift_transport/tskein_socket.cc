#include <poll.h>
#include <skein/thrift/socket.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/base/forked.h"
#include "core/base/mutex.h"
#include "core/connect/own_process.h"
#include "thrift_transport/connection.h"
#include "thrift_transport/hello.h"
#include "thrift_transport/path_list.h"

namespace skein::thrift_transport {

using apache::thrift::transport::TTransportException;

// What a TSkeinSocket is besides a TSocket.
class TSkeinSocket::Skein {
 public:
  Skein(const TSkeinOptions& options, bool accepted) : options_(options), client_(!accepted), undecided_(accepted) {}

  const Options& options() const { return options_.get(); }

  // By the socket's owner.
  bool undecided() const { return undecided_; }
  Connection* connection() { return connection_.get(); }
  // `tcp`: the connection.
  void Settle(Greeted greeted, int tcp) {
    undecided_ = false;
    MutexLock lock(&mu_);
    why_ = std::move(greeted.why);
    settled_ = true;
    // Off, it is as if Skein were not there: nobody counts it, and nothing is started to tell of it.
    if (options().mode != Mode::kOff) {
      listed_ = ListPath(client_, tcp, greeted.stream == nullptr ? "tcp" : greeted.stream->path(), why_);
    }
    if (greeted.stream == nullptr) return;
    stream::ThreadStreams& threads = Runtime::Get().WaitingAs(options()).threads;
    connection_ =
        std::make_unique<Connection>(client_, threads.Block(std::move(greeted.stream), tcp), threads.Reminders());
    if (interrupted_) connection_->stream().Interrupt();
  }
  void SettleOnTcp(Fallback why, int tcp) { Settle({nullptr, std::move(why)}, tcp); }
  // In a forked child: the memory that the connection is made of is not mapped here.
  void Abandon() { connection_.release(); }  // NOLINT(bugprone-unused-return-value)
  void Forget() {
    MutexLock lock(&mu_);
    connection_ = nullptr;
    listed_ = nullptr;
    settled_ = false;
    interrupted_ = false;
  }

  // Any thread.
  void Interrupt() {
    MutexLock lock(&mu_);
    interrupted_ = true;
    if (connection_ != nullptr) connection_->stream().Interrupt();
  }
  std::string path() {
    MutexLock lock(&mu_);
    if (connection_ != nullptr) return connection_->stream().path();
    return settled_ ? "tcp" : "";
  }
  std::string reason() {
    MutexLock lock(&mu_);
    return settled_ && why_.code != FallbackCode::kNone ? ToString(why_) : "";
  }

 private:
  const TSkeinOptions options_;
  const bool client_;
  bool undecided_;
  Mutex mu_;                                // for those who are not the owner; only the owner changes anything below
  std::unique_ptr<Connection> connection_;  // null: Thrift's own connection
  ListedPath listed_;
  Fallback why_;
  bool settled_ = false;
  bool interrupted_ = false;
};

TSkeinSocket::TSkeinSocket(const std::string& host, int port, const TSkeinOptions& options, const Configuration& config)
    : TVirtualTransport(host, port), skein_(std::make_unique<Skein>(options, /*accepted=*/false)) {
  setConfiguration(config);
  resetConsumedMessageSize();
}

TSkeinSocket::TSkeinSocket(const std::string& path, const TSkeinOptions& options, const Configuration& config)
    : TVirtualTransport(path, config), skein_(std::make_unique<Skein>(options, /*accepted=*/false)) {}

TSkeinSocket::TSkeinSocket(THRIFT_SOCKET socket, const std::shared_ptr<THRIFT_SOCKET>& interrupted,
                           const TSkeinOptions& options, const Configuration& config)
    : TVirtualTransport(socket, interrupted), skein_(std::make_unique<Skein>(options, /*accepted=*/true)) {
  setConfiguration(config);
  resetConsumedMessageSize();
}

TSkeinSocket::~TSkeinSocket() { close(); }

void TSkeinSocket::open() {
  if (isOpen()) return;
  const Options& options = skein_->options();
  CheckAddress(options, isUnixDomainSocket());
  TSocket::open();
  if (options.mode == Mode::kOff || isUnixDomainSocket()) {
    const FallbackCode why = isUnixDomainSocket() ? FallbackCode::kNone : FallbackCode::kModeOff;
    return skein_->SettleOnTcp({why, {}}, socket_);
  }
  const bool required = options.mode == Mode::kRequire;
  if (InForkedChild()) {
    if (required) refuse(ToString(connect::WhyNotForked()));
    return skein_->SettleOnTcp(connect::WhyNotForked(), socket_);
  }
  const std::string peer = absl::StrCat(getPeerAddress(), ":", getPeerPort());
  connect::PeerCache& plain_peers = Runtime::Get().plain_peers();
  if (!required && plain_peers.Contains(peer, SteadyNow())) {
    return skein_->SettleOnTcp({FallbackCode::kNegativeCache, {}}, socket_);
  }
  Greeted greeted = SayHello(socket_, options, negotiationEnd());
  if (greeted.stream == nullptr && required) refuse(ToString(greeted.why));
  if (greeted.stream == nullptr && !greeted.goes_on) {
    TSocket::close();
    TSocket::open();
    // One that has died meanwhile is none of those that do not speak Skein.
    const absl::Time now = SteadyNow();
    if (greeted.plain) plain_peers.Add(peer, now + options.negative_cache, now);
  }
  skein_->Settle(std::move(greeted), socket_);
}

// A program that sets limits counts on them: over TCP a server that is slow to accept costs an open() nothing.
Deadline TSkeinSocket::negotiationEnd() const {
  absl::Duration longest = skein_->options().negotiation_timeout;
  for (const int limit_ms : {connTimeout_, recvTimeout_}) {
    if (limit_ms > 0) longest = std::min(longest, absl::Milliseconds(limit_ms));
  }
  return After(longest);
}

void TSkeinSocket::refuse(const std::string& why) {
  close();
  throw TTransportException(TTransportException::NOT_OPEN,
                            absl::StrCat("skein.mode is require, and there is only tcp: ", why));
}

void TSkeinSocket::close() {
  if (InForkedChild() && skein_->connection() != nullptr) {
    ::close(std::exchange(socket_, THRIFT_INVALID_SOCKET));  // and no shutdown: the parent goes on
    return skein_->Abandon();
  }
  if (Connection* const connection = skein_->connection()) connection->Close();
  skein_->Forget();
  TSocket::close();
}

// Waits for the client's first byte. False: it does not come.
bool TSkeinSocket::decide() {
  const bool required = skein_->options().mode == Mode::kRequire;
  HelloReader reader;
  Deadline deadline = recvTimeout_ == 0 ? Deadline::max() : After(absl::Milliseconds(recvTimeout_));
  for (bool hello = false;;) {
    pollfd fds[2] = {{socket_, POLLIN, 0}, {interruptListener_ ? *interruptListener_ : -1, POLLIN, 0}};
    const int ready = poll(fds, 2, TimeoutOf(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (fds[1].revents != 0) throw TTransportException(TTransportException::INTERRUPTED, "Interrupted");
    if (ready <= 0 && !hello) return false;
    if (ready <= 0) return decline({FallbackCode::kProtocol, "a hello that does not end"});
    if (!hello) {
      const First first = LookAtFirst(socket_);
      if (first == First::kNothing) continue;
      if (first == First::kEnd || (first == First::kOther && !required)) break;
      if (first == First::kOther) return decline({FallbackCode::kNoOffer, {}});
      hello = true;
      deadline = negotiationEnd();
    }
    const absl::StatusOr<bool> whole = reader.Read(socket_);
    if (!whole.ok()) break;
    if (!*whole) continue;
    Greeted greeted = reader.Answer(socket_, skein_->options());
    if (greeted.stream == nullptr && (required || !greeted.goes_on)) return decline(std::move(greeted.why));
    skein_->Settle(std::move(greeted), socket_);
    return true;
  }
  skein_->SettleOnTcp({FallbackCode::kNoOffer, {}}, socket_);
  return true;
}

// The client's connection is over: where Skein is required, that is an error to be told, else as if it had closed it.
bool TSkeinSocket::decline(Fallback why) {
  if (skein_->options().mode == Mode::kRequire) refuse(ToString(why));
  skein_->SettleOnTcp(std::move(why), socket_);
  shutdown(socket_, SHUT_RDWR);
  over_ = true;
  return true;
}

bool TSkeinSocket::overStream() {
  if (skein_->connection() == nullptr) return false;
  if (InForkedChild())
    throw TTransportException(TTransportException::NOT_OPEN, "skein: the parent process' connection");
  return true;
}

bool TSkeinSocket::peek() {
  if (!isOpen()) return false;
  try {
    if (skein_->undecided() && !decide()) return false;
  } catch (const TTransportException& exception) {
    if (exception.getType() != TTransportException::INTERRUPTED) throw;
    return false;  // as TSocket has it
  }
  if (over_) return false;
  if (!overStream()) return TSocket::peek();
  skein_->connection()->FlushOwn(sendTimeout_);
  return skein_->connection()->Peek(recvTimeout_);
}

bool TSkeinSocket::hasPendingDataToRead() {
  return overStream() ? skein_->connection()->Readable() : TSocket::hasPendingDataToRead();
}

uint32_t TSkeinSocket::read(uint8_t* buf, uint32_t len) {
  if (skein_->undecided() && isOpen() && !decide()) {
    throw TTransportException(TTransportException::TIMED_OUT, "THRIFT_EAGAIN (timed out)");
  }
  if (over_) return 0;
  if (!overStream()) return TSocket::read(buf, len);
  checkReadBytesAvailable(len);
  skein_->connection()->FlushOwn(sendTimeout_);
  return skein_->connection()->Read(buf, len, recvTimeout_);
}

void TSkeinSocket::write(const uint8_t* buf, uint32_t len) {
  overStream() ? skein_->connection()->Write(buf, len, sendTimeout_) : TSocket::write(buf, len);
}

uint32_t TSkeinSocket::write_partial(const uint8_t* buf, uint32_t len) {
  return overStream() ? skein_->connection()->TryWrite(buf, len) : TSocket::write_partial(buf, len);
}

void TSkeinSocket::flush() {
  if (overStream()) skein_->connection()->Flush(sendTimeout_);
}

const uint8_t* TSkeinSocket::borrow(uint8_t* buf, uint32_t* len) {
  return overStream() ? skein_->connection()->Borrow(len) : TSocket::borrow(buf, len);
}

void TSkeinSocket::consume(uint32_t len) {
  if (!overStream()) return TSocket::consume(len);
  skein_->connection()->Consume(len);
}

THRIFT_SOCKET TSkeinSocket::getSocketFD() {
  if (skein_->connection() == nullptr || InForkedChild()) return socket_;
  const int descriptor = skein_->connection()->Descriptor();
  if (descriptor < 0) throw TTransportException(TTransportException::UNKNOWN, "skein: no descriptor to wait on", errno);
  return descriptor;
}

std::string TSkeinSocket::getSkeinPath() const { return skein_->path(); }
std::string TSkeinSocket::getSkeinReason() const { return skein_->reason(); }

void TSkeinSocket::interrupt() { skein_->Interrupt(); }

}  // namespace skein::thrift_transport
