#include "core/service/trunk_socket.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/errno_status.h"
#include "core/base/tcp_address.h"

namespace skein::service {
namespace {

// A trunk whose peer does not read ends with 64 MiB unwritten, or with 4 MiB of which nothing has gone for 5 s. A
// process that ends with all the queue pairs that a user may have leaves 7 MiB to say at once.
constexpr size_t kMostUnwritten = size_t{64} << 20;
constexpr size_t kMuchUnwritten = size_t{4} << 20;
constexpr std::chrono::seconds kPatience{5};

absl::Status HasEnded() { return absl::UnavailableError("the connection to the other host's skeind has ended"); }

}  // namespace

std::string TrunkSocket::PeerHost() const {
  const absl::StatusOr<std::string> address = PeerAddressOf(socket_.get());
  if (!address.ok()) return "unknown";  // not connected yet, or no more
  absl::string_view host(address->data(), address->rfind(':'));
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  absl::ConsumePrefix(&host, "::ffff:");  // a socket of IPv6 names those of IPv4 so
  return std::string(host);
}

absl::Status TrunkSocket::Send(const TrunkMessage& message) {
  if (unwritten() == 0) wrote_ = Clock::now();
  absl::StrAppend(&unwritten_, message.view());
  // First: this skeind may have been stopped meanwhile, and the other one has read all.
  absl::Status status = connecting_ ? absl::OkStatus() : Write().status();
  if (!status.ok()) return status;
  const bool is_silent = unwritten() > kMuchUnwritten && Clock::now() - wrote_ > kPatience;
  if (is_silent || unwritten() > kMostUnwritten) return absl::ResourceExhaustedError("the other skeind does not read");
  return absl::OkStatus();
}

absl::StatusOr<bool> TrunkSocket::Move(absl::FunctionRef<bool(const TrunkMessage&)> heed) {
  if (connecting_) {
    absl::StatusOr<bool> connected = IsConnected();
    if (!connected.ok() || !*connected) return connected;
    connecting_ = false;
  }
  absl::StatusOr<bool> wrote = Write();
  if (!wrote.ok()) return wrote;
  absl::StatusOr<bool> read = Read(heed);
  if (!read.ok()) return read;
  return *wrote || *read;
}

void TrunkSocket::ShutDown() { shutdown(socket_.get(), SHUT_RDWR); }

absl::StatusOr<bool> TrunkSocket::IsConnected() {
  pollfd wait = {socket_.get(), POLLOUT, 0};
  if (poll(&wait, 1, 0) == 0) return false;
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return ErrnoStatus(error, "reach the other host's skeind");
  return true;
}

absl::StatusOr<bool> TrunkSocket::Write() {
  if (unwritten() == 0) return false;
  ssize_t sent = 0;
  do {
    sent = send(socket_.get(), unwritten_.data() + written_, unwritten(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno != EAGAIN) return HasEnded();
  if (sent <= 0) return false;
  wrote_ = Clock::now();
  written_ += static_cast<size_t>(sent);
  // Not each time: of much that is unwritten, all would be moved.
  if (written_ >= unwritten()) unwritten_.erase(0, std::exchange(written_, 0));
  return true;
}

absl::StatusOr<bool> TrunkSocket::Read(absl::FunctionRef<bool(const TrunkMessage&)> heed) {
  std::array<char, 64 * sizeof(TrunkMessage)> bytes;
  ssize_t received = 0;
  do {
    received = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  if (received < 0 && errno == EAGAIN) return false;
  if (received <= 0) return HasEnded();
  unheeded_.append(bytes.data(), static_cast<size_t>(received));
  size_t at = 0;
  for (bool more = true; more && unheeded_.size() - at >= sizeof(TrunkMessage); at += sizeof(TrunkMessage)) {
    TrunkMessage message;
    if (!TrunkMessage::Parse(unheeded_.data() + at, message)) {
      return absl::InvalidArgumentError("the other skeind sends what is no message");
    }
    more = heed(message);
  }
  unheeded_.erase(0, at);
  return true;
}

}  // namespace skein::service
