// What a message says, item by item.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/link/receiver.h"
#include "core/trace/tracer.h"
#include "core/wire/bytes.h"

namespace skein::link {
namespace {

absl::StatusOr<uint64_t> Number(const wire::Item& item) {
  const std::string bytes = wire::CopyOf(item.payload);
  wire::FieldReader reader(bytes);
  const auto number = reader.Take<uint64_t>();
  if (!reader.done()) return absl::DataLossError("an item whose payload is not a number");
  return number;
}

absl::Status Deliver(Port& port, const wire::Item& item) {
  switch (item.header.kind) {
    case wire::ItemKind::kData:
      return port.OnData(item.payload);
    case wire::ItemKind::kCloseWrite:
      return port.OnCloseWrite();
    case wire::ItemKind::kAbort:
      port.OnAbort(wire::CopyOf(item.payload.subspan(0, wire::kMaxAbortTextBytes)));
      return absl::OkStatus();
    case wire::ItemKind::kOpen:
    case wire::ItemKind::kWindow: {
      const absl::StatusOr<uint64_t> number = Number(item);
      if (!number.ok()) return number.status();
      return item.header.kind == wire::ItemKind::kOpen ? port.OnOpen(*number) : port.OnWindow(*number);
    }
    default:
      return absl::DataLossError("an item of the link's own, for a stream");
  }
}

}  // namespace

// A peer that traces wants its answers timed, too.
void Receiver::NoteArrival(uint64_t stage_time) {
  group_.suppression().peer_traces.store(wire::SenderTraces(stage_time), std::memory_order_relaxed);
  const bool traced = stage_time != 0 || trace::Enabled();
  arrival_ = traced ? Arrival{stage_time, trace::Now()} : Arrival{};
}

absl::Status Receiver::Receive(const channel::InMessage& message) {
  if ((message.stage_time | arrival_.arrived) != 0 || trace::Enabled()) [[unlikely]] {
    NoteArrival(message.stage_time);
  }
  for (wire::ItemWalk items = message.walk(); !items.done();) {
    const absl::StatusOr<wire::Item> item = items.Next();
    if (!item.ok()) return item.status();
    const bool hello = item->header.kind == wire::ItemKind::kHello;
    if (passive_ && !hello && !greeted_) return absl::DataLossError("the peer's first item is not a hello");
    const bool own = item->header.stream == 0;
    if (absl::Status status = own ? ReceiveOwn(*item) : ReceiveForStream(*item); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// What one end of the link tells the other.
absl::Status Receiver::ReceiveOwn(const wire::Item& item) {
  switch (item.header.kind) {
    case wire::ItemKind::kHello:
      return ReceiveHello(item.payload);
    case wire::ItemKind::kBye:
      if (end_.ok()) end_ = absl::AbortedError("the peer has left it");
      return absl::OkStatus();
    case wire::ItemKind::kPulled:
      return bulk_.OnPulled(item.payload);
    default:
      return absl::DataLossError("an item for stream 0");
  }
}

absl::Status Receiver::ReceiveHello(absl::Span<const std::byte> payload) {
  if (!passive_ || std::exchange(greeted_, true)) return absl::DataLossError("an unexpected hello");
  return queue_.OnGreeting(wire::CopyOf(payload));
}

absl::Status Receiver::ReceiveForStream(const wire::Item& item) {
  const bool block = item.header.kind == wire::ItemKind::kBlock;
  Ports::Found found = ports_.Find(item.header.stream);
  if (found.port == nullptr) {
    if (absl::Status status = ReceiveForNobody(item.header, found.highest); !status.ok() || !block) return status;
    return bulk_.OnBlock(nullptr, item.payload);
  }
  Port& port = *found.port;
  // Whatever a peer may still have under way when it aborts: dropped, but the peer wants the memory of its blocks back.
  if (std::exchange(port.aborted_in_, port.aborted_in_ || item.header.kind == wire::ItemKind::kAbort)) {
    return block ? bulk_.OnBlock(nullptr, item.payload) : absl::OkStatus();
  }
  // An abort may come from a peer that has forgotten the stream already.
  if (item.header.kind != wire::ItemKind::kAbort && item.header.sequence != port.next_in_++) {
    return absl::DataLossError(absl::StrCat("stream ", item.header.stream, " skipped an item"));
  }
  if (arrival_.arrived != port.arrival_.arrived) [[unlikely]]
    port.arrival_ = arrival_;
  ports_.Touch(std::move(found.port));
  return block ? bulk_.OnBlock(&port, item.payload) : Deliver(port, item);
}

// `highest`: of the streams that there have been.
absl::Status Receiver::ReceiveForNobody(const wire::ItemHeader& header, uint32_t highest) {
  const bool ended = header.stream <= highest;
  // The passive side may give a stream up before the active one has heard of it.
  const bool early_end =
      !passive_ && (header.kind == wire::ItemKind::kAbort || header.kind == wire::ItemKind::kCloseWrite);
  if (!ended && !early_end) return absl::DataLossError(absl::StrCat("an item for stream ", header.stream));
  if (passive_ && header.kind == wire::ItemKind::kOpen) {
    // Each is answered; who repeats them and never reads the answers must not fill memory with these.
    if (++refused_opens_ > highest) return absl::DataLossError("more opens than streams");
    queue_.QueueOwn(wire::ItemKind::kAbort, "the stream has ended", header.stream);
  }
  return absl::OkStatus();
}

}  // namespace skein::link
