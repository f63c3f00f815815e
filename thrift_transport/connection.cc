#include "thrift_transport/connection.h"

#include <thrift/transport/TTransportException.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/time/time.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::transport::TTransportException;

constexpr int kPartingMs = 100;

Deadline DeadlineOf(int timeout_ms) {
  return timeout_ms == 0 ? Deadline::max() : After(absl::Milliseconds(timeout_ms));
}

stream::ConstBytes BytesOf(const uint8_t* from, size_t size) {
  return {reinterpret_cast<const std::byte*>(from), size};
}

[[noreturn]] void Throw(TTransportException::TTransportExceptionType type, const absl::Status& status) {
  throw TTransportException(type, "skein: " + std::string(status.message()));
}

}  // namespace

Connection::~Connection() {
  const InTurn turn(unflushed_->turn());
  unflushed_->Close();
}

absl::Status Connection::Fill(Deadline deadline) {
  if (!arrived_.empty()) return absl::OkStatus();
  absl::Status status = stream_->Read(Arrived::kMostTaken, arrived_.Refill(), deadline);
  if (status.ok() && trace::Enabled()) [[unlikely]]
    trace_.Came(stream_->last_arrival());
  return status;
}

uint32_t Connection::Read(uint8_t* to, uint32_t size, int timeout_ms) {
  if (arrived_.empty()) {  // before the clock is asked: programs read a field at a time
    if (const absl::Status status = Fill(DeadlineOf(timeout_ms)); !status.ok()) {
      if (absl::IsDeadlineExceeded(status)) Throw(TTransportException::TIMED_OUT, status);
      if (absl::IsCancelled(status)) Throw(TTransportException::INTERRUPTED, status);
      return 0;
    }
  }
  const uint32_t taken = arrived_.Take(to, size);
  TellReadiness();
  return taken;
}

bool Connection::Peek(int timeout_ms) {
  const bool more = Fill(DeadlineOf(timeout_ms)).ok();
  TellReadiness();
  return more;
}

bool Connection::Readable() {
  const bool readable = !absl::IsDeadlineExceeded(Fill(Deadline::min()));
  TellReadiness();
  return readable;
}

int Connection::Descriptor() {
  if (readiness_ == nullptr) readiness_ = stream_->ShowReadiness();
  if (readiness_ == nullptr) return -1;
  TellReadiness();
  return readiness_->fd();
}

void Connection::Tell() {
  readiness_->Tell(
      [this] { return !arrived_.empty() || stream_->TryRead(Arrived::kMostTaken, arrived_.Refill()).has_value(); });
}

void Connection::Write(const uint8_t* from, uint32_t size, int timeout_ms) {
  const InTurn turn(unflushed_->turn());
  const stream::ConstBytes bytes = BytesOf(from, size);
  if (unflushed_->empty()) {
    writer_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    trace_.Gathers();
  }
  if (unflushed_->Gather(bytes)) return;
  const std::array<stream::ConstBytes, 2> both = {unflushed_->bytes(), bytes};
  Send(both, timeout_ms);
}

void Connection::Flush(int timeout_ms) {
  const InTurn turn(unflushed_->turn());
  unflushed_->ProgramFlushes();
  SendUnflushed(timeout_ms);
}

void Connection::FlushOwn(int timeout_ms) {
  if (writer_.load(std::memory_order_relaxed) != std::this_thread::get_id()) return;
  const InTurn turn(unflushed_->turn());
  SendUnflushed(timeout_ms);
}

void Connection::SendUnflushed(int timeout_ms) {
  if (unflushed_->empty()) return;
  const stream::ConstBytes bytes = unflushed_->bytes();
  Send({&bytes, 1}, timeout_ms);
}

void Connection::Send(absl::Span<const stream::ConstBytes> buffers, int timeout_ms) {
  size_t size = 0;
  for (const stream::ConstBytes& buffer : buffers) size += buffer.size();
  trace_.Sends();
  const absl::Status status = stream_->Write(buffers, DeadlineOf(timeout_ms));
  trace_.Sent(size);
  unflushed_->SentAll();
  writer_.store(std::thread::id(), std::memory_order_relaxed);
  if (absl::IsDeadlineExceeded(status)) Throw(TTransportException::TIMED_OUT, status);
  if (!status.ok() && !Taken(status)) Throw(TTransportException::NOT_OPEN, status);
}

// A write that has failed because nobody reads any more: whether it is as good as sent.
bool Connection::Taken(const absl::Status& status) {
  return !client_ && absl::IsUnavailable(status) && after_the_end_.TakesOne();
}

uint32_t Connection::TryWrite(const uint8_t* from, uint32_t size) {
  const InTurn turn(unflushed_->turn());
  const size_t before = unflushed_->bytes().size();
  const std::array<stream::ConstBytes, 2> both = {unflushed_->bytes(), BytesOf(from, size)};
  const absl::StatusOr<size_t> taken = stream_->TryWrite(both);
  if (!taken.ok() && !Taken(taken.status())) Throw(TTransportException::NOT_OPEN, taken.status());
  const size_t sent = taken.ok() ? *taken : before + size;
  unflushed_->Sent(std::min(sent, before));
  return static_cast<uint32_t>(sent - std::min(sent, before));
}

void Connection::Close() {
  try {
    Flush(kPartingMs);
  } catch (const TTransportException&) {  // the peer has gone, or does not read
  }
  stream_->Close(After(absl::Milliseconds(kPartingMs)));
}

}  // namespace skein::thrift_transport
