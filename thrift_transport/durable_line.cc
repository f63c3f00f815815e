#include "thrift_transport/durable_line.h"

#include <skein/thrift/socket.h>
#include <sys/socket.h>
#include <thrift/transport/TSocket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/wire/bytes.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;
using apache::thrift::transport::TTransportException;

constexpr size_t kReadAtOnce = 32 << 10;
constexpr size_t kWriteAtOnce = 1 << 30;  // a transport counts with 32 bits

// None: not even that is there.
std::optional<uint32_t> LengthOf(absl::string_view frame) {
  uint32_t length = 0;
  if (frame.size() < sizeof(length)) return std::nullopt;
  std::memcpy(&length, frame.data(), sizeof(length));
  return length;
}

}  // namespace

std::optional<absl::string_view> FrameReader::Next(TTransport& from) {
  for (absl::string_view message;;) {
    if (Whole(message)) return message;
    if (!Read(from)) return std::nullopt;
  }
}

bool FrameReader::Read(TTransport& from) {
  bytes_.erase(0, std::exchange(begin_, 0));
  const size_t before = bytes_.size();
  bytes_.resize(before + kReadAtOnce);
  uint32_t got = 0;
  try {
    got = from.read(reinterpret_cast<uint8_t*>(bytes_.data()) + before, kReadAtOnce);
  } catch (...) {
    bytes_.resize(before);
    throw;
  }
  bytes_.resize(before + got);
  return got != 0;
}

bool FrameReader::decided() const {
  const std::optional<uint32_t> length = LengthOf(rest());
  return length.has_value() && (*length > most_ || rest().size() - sizeof(*length) >= *length);
}

bool FrameReader::Whole(absl::string_view& message) {
  const std::optional<uint32_t> length = LengthOf(rest());
  if (length.has_value() && *length > most_) {
    throw TTransportException(
        TTransportException::CORRUPTED_DATA,
        absl::StrCat("skein: a message of ", *length, " bytes of durable calls; at most ", most_, " were to come"));
  }
  if (!decided()) return false;
  message = rest().substr(sizeof(*length), *length);
  begin_ += sizeof(*length) + *length;
  return true;
}

DurableLine::DurableLine(std::shared_ptr<TTransport> transport, uint64_t most)
    : transport_(std::move(transport)), frames_(most) {}

void DurableLine::Put(absl::string_view message) {
  const MutexLock lock(&put_mu_);
  wire::Put(put_, static_cast<uint32_t>(message.size()));
  absl::StrAppend(&put_, message);
}

void DurableLine::PutRaw(absl::string_view bytes) {
  const MutexLock lock(&put_mu_);
  absl::StrAppend(&put_, bytes);
}

size_t DurableLine::unsent() const {
  const MutexLock lock(&put_mu_);
  return put_.size() + being_written_;
}

size_t DurableLine::waiting() const {
  const MutexLock lock(&put_mu_);
  return put_.size();
}

void DurableLine::Send() {
  const MutexLock sending(&send_mu_);
  for (std::string bytes; !is_cut(); bytes.clear()) {
    {
      const MutexLock lock(&put_mu_);
      bytes.swap(put_);
      being_written_ = bytes.size();
    }
    if (bytes.empty()) return;
    try {
      for (absl::string_view left = bytes; !left.empty(); left.remove_prefix(std::min(left.size(), kWriteAtOnce))) {
        const absl::string_view part = left.substr(0, kWriteAtOnce);
        transport_->write(reinterpret_cast<const uint8_t*>(part.data()), static_cast<uint32_t>(part.size()));
      }
      transport_->flush();
    } catch (const std::exception&) {
      Cut();  // part of a message may be out: nothing can follow it
    }
  }
}

bool DurableLine::NextWouldNotWait() {
  auto* const socket = dynamic_cast<TSocket*>(transport_.get());
  try {
    while (!frames_.decided() && !is_cut()) {
      if (socket == nullptr || !socket->hasPendingDataToRead()) return false;
      if (!frames_.Read(*transport_)) break;
    }
  } catch (const TTransportException&) {  // Next will tell
  }
  return true;
}

void DurableLine::Shut(int how) {
  if (auto* const socket = dynamic_cast<TSocket*>(transport_.get())) shutdown(socket->getSocketFD(), how);
}

// The end of a stream's socket may overtake what was written last; when the reader closes it, it waits for that.
void DurableLine::EndWriting() {
  auto* const skein = dynamic_cast<TSkeinSocket*>(transport_.get());
  skein != nullptr && skein->getSkeinPath() != "tcp" ? skein->interrupt() : Shut(SHUT_WR);
}

void DurableLine::Cut() {
  cut_.store(true, std::memory_order_relaxed);
  Shut(SHUT_RDWR);
}

void DurableLine::Close() {
  const MutexLock sending(&send_mu_);
  try {
    transport_->close();
  } catch (const std::exception&) {  // it is over in any case
  }
}

}  // namespace skein::thrift_transport
