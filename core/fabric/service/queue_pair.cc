#include "core/fabric/service/queue_pair.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/sealed_memory.h"
#include "core/fabric/requests.h"

namespace skein::fabric::service {
namespace {

absl::Status WhyEnded(End end) {
  switch (end) {
    case End::kOpen:
      return absl::OkStatus();
    case End::kClosed:
      return absl::CancelledError("closed by this end");
    case End::kPeerClosed:
      return absl::UnavailableError("closed by the peer, or its process has died");
    case End::kConnection:
      return absl::UnavailableError("the connection between the two hosts' skeinds has failed");
    case End::kRequest:
      return absl::InternalError(
          "skeind has refused a request: its memory or the peer's is not there, or it is none that may be posted");
    case End::kOverrun:
      return absl::ResourceExhaustedError("the completion queue overran");
    case End::kGone:
      return absl::UnavailableError("skeind has gone");
  }
  return absl::InternalError(
      absl::StrCat("skeind has ended it, and says why by a number: ", static_cast<uint32_t>(end)));
}

}  // namespace

absl::Status ServiceReceives::PostReceive(absl::Span<const ReceiveRequest> batch) {
  for (const ReceiveRequest& request : batch) {
    if (request.buffer.size != 0) return absl::InvalidArgumentError("by way of skeind no receive has a buffer");
  }
  MutexLock lock(&mu_);
  if (batch.size() > most_ - ids_.size()) return absl::ResourceExhaustedError("the receive queue is full");
  for (const ReceiveRequest& request : batch) ids_.push_back(request.id);
  return absl::OkStatus();
}

bool ServiceReceives::Take(uint64_t& id) {
  MutexLock lock(&mu_);
  if (ids_.empty()) return false;
  id = ids_.front();
  ids_.pop_front();
  return true;
}

absl::StatusOr<std::unique_ptr<ServiceQueuePair>> ServiceQueuePair::Create(std::shared_ptr<Session> session,
                                                                           const QueuePairOptions& options,
                                                                           uint64_t max_message_bytes) {
  auto* const send_queue = dynamic_cast<ServiceCompletionQueue*>(options.send_queue);
  auto* const receive_queue = dynamic_cast<ServiceCompletionQueue*>(options.receive_queue);
  const bool shares = options.shared_receive_queue != nullptr;
  if (send_queue == nullptr || receive_queue == nullptr) {
    return absl::InvalidArgumentError("a queue pair needs two completion queues of its device");
  }
  if (shares && dynamic_cast<ServiceReceives*>(options.shared_receive_queue) == nullptr) {
    return absl::InvalidArgumentError("a shared receive queue of another device");
  }
  if (options.max_send_requests == 0 || options.max_send_requests > kMostEntries) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a queue pair for ", options.max_send_requests, " requests, where skeind has ", kMostEntries));
  }
  absl::StatusOr<SharedMemory> memory =
      CreateShared("skein-requests", SubmissionBytes(options.max_send_requests), /*peers_write=*/true);
  if (!memory.ok()) return memory.status();
  Request request;
  request.operation = Operation::kCreateQueuePair;
  request.size = options.max_send_requests;
  request.number = send_queue->number();
  request.other = receive_queue->number();
  const absl::StatusOr<Reply> created = session->Ask(request, memory->memfd.get());
  if (!created.ok()) return created.status();
  if (created->other >= kMostPlaces) return absl::InternalError("skeind gives a place that there is not");
  return std::unique_ptr<ServiceQueuePair>(
      new ServiceQueuePair(std::move(session), options, max_message_bytes, std::move(memory->mapping), *created));
}

ServiceQueuePair::ServiceQueuePair(std::shared_ptr<Session> session, const QueuePairOptions& options,
                                   uint64_t max_message_bytes, Mapping memory, const Reply& created)
    : session_(std::move(session)),
      send_queue_(static_cast<ServiceCompletionQueue*>(options.send_queue)),
      receive_queue_(static_cast<ServiceCompletionQueue*>(options.receive_queue)),
      own_receives_(options.shared_receive_queue == nullptr
                        ? std::make_unique<ServiceReceives>(options.max_receive_requests)
                        : nullptr),
      receives_(own_receives_ != nullptr ? own_receives_.get()
                                         : static_cast<ServiceReceives*>(options.shared_receive_queue)),
      max_message_bytes_(max_message_bytes),
      depth_(options.max_send_requests),
      memory_(std::move(memory)),
      submissions_(memory_.data(), depth_),
      number_(created.number),
      place_(created.other),
      posted_(submissions_.size()) {
  send_queue_->Attach(number_, this);
  if (receive_queue_ != send_queue_) receive_queue_->Attach(number_, this);
}

ServiceQueuePair::~ServiceQueuePair() {
  send_queue_->Detach(number_);
  if (receive_queue_ != send_queue_) receive_queue_->Detach(number_);
  session_->LetGo(Operation::kDestroyQueuePair, number_);
}

absl::StatusOr<std::string> ServiceQueuePair::Connect(Operation operation, absl::string_view text) {
  Request request;
  request.operation = operation;
  request.number = number_;
  if (!request.SetText(text)) return absl::InvalidArgumentError("longer than any offer of skeind's");
  const absl::StatusOr<Reply> reply = session_->Ask(request);
  if (!reply.ok()) return reply.status();
  if (operation != Operation::kOffer) connected_.store(true, std::memory_order_release);
  return std::string(reply->text_view());
}

absl::StatusOr<std::string> ServiceQueuePair::Offer() { return Connect(Operation::kOffer, ""); }
absl::StatusOr<std::string> ServiceQueuePair::Accept(absl::string_view offer) {
  return Connect(Operation::kAccept, offer);
}
absl::Status ServiceQueuePair::Complete(absl::string_view answer) {
  return Connect(Operation::kComplete, answer).status();
}

absl::StatusOr<Submission> ServiceQueuePair::Encode(const SendRequest& request) const {
  if (absl::Status status = CheckRequest(request, max_message_bytes_); !status.ok()) return status;
  if (request.opcode == Opcode::kSend) return absl::InvalidArgumentError("no SEND goes by way of skeind");
  if (request.local.size() > 1) return absl::InvalidArgumentError("more than one segment");
  if ((request.immediate & ~kImmediateBits) != 0)
    return absl::InvalidArgumentError("bits of an immediate that are skeind's");
  Submission out;
  out.opcode = static_cast<uint32_t>(request.opcode);
  out.signaled = request.signaled ? 1 : 0;
  out.remote_address = request.remote.address;
  out.rkey = request.remote.rkey;
  out.immediate = request.immediate;
  out.operand = request.operand;
  out.swap = request.swap;
  if (TotalBytes(request.local) == 0) return out;
  const Segment& segment = request.local[0];
  out.lkey = segment.lkey;
  out.address = reinterpret_cast<uint64_t>(segment.data);
  out.length = static_cast<uint32_t>(segment.size);
  return out;
}

absl::Status ServiceQueuePair::PostSend(absl::Span<const SendRequest> batch) {
  if (const QueuePairState now = state(); now != QueuePairState::kReady) {
    const absl::Status why = error();
    return absl::FailedPreconditionError(
        absl::StrCat("the queue pair is not ready", why.ok() ? "" : ": ", why.message()));
  }
  if (absl::Status laid = Lay(batch); !laid.ok()) return laid;
  session_->HasRequests(place_);
  if (!send_queue_->asks() || session_->unheard()) send_queue_->BeginToAsk();
  return absl::OkStatus();
}

absl::Status ServiceQueuePair::Lay(absl::Span<const SendRequest> batch) {
  MutexLock lock(&mu_);
  if (batch.size() > depth_ - (published_ - reaped_)) return absl::ResourceExhaustedError("the send queue is full");
  for (size_t i = 0; i < batch.size(); ++i) {
    const absl::StatusOr<Submission> encoded = Encode(batch[i]);
    if (!encoded.ok()) return encoded.status();
    const uint64_t position = published_ + i;
    submissions_.at(position) = *encoded;
    posted_[position % posted_.size()] = {batch[i].id, batch[i].opcode};
    if (batch[i].signaled) told_by_ = position + 1;
  }
  published_ += batch.size();
  submissions_.header().published.store(published_, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status ServiceQueuePair::PostReceive(absl::Span<const ReceiveRequest> batch) {
  if (own_receives_ == nullptr) return NoOwnReceives();
  return own_receives_->PostReceive(batch);
}

bool ServiceQueuePair::through() const {
  return end() != End::kOpen || flooded_.load(std::memory_order_acquire) || session_->ended();
}

QueuePairState ServiceQueuePair::state() const {
  if (through() || closed_.load(std::memory_order_acquire)) return QueuePairState::kError;
  return connected_.load(std::memory_order_acquire) ? QueuePairState::kReady : QueuePairState::kReset;
}

QueuePairState ServiceQueuePair::RefreshState() {
  session_->Look();
  return state();
}

absl::Status ServiceQueuePair::error() const {
  if (const End why = end(); why != End::kOpen) return WhyEnded(why);
  if (closed_.load(std::memory_order_acquire)) return WhyEnded(End::kClosed);
  if (flooded_.load(std::memory_order_acquire)) {
    return absl::ResourceExhaustedError("the peer sends more messages than there may be receives for");
  }
  return session_->error();
}

void ServiceQueuePair::Close() {
  closed_.store(true, std::memory_order_release);
  session_->LetGo(Operation::kClose, number_);
  send_queue_->Wake();
  receive_queue_->Wake();
}

ServiceQueuePair::Taken ServiceQueuePair::Completed(const CompletionEntry& entry, Completion& out) {
  out.status = static_cast<CompletionStatus>(entry.status);
  out.opcode = static_cast<Opcode>(entry.opcode);
  out.immediate = entry.immediate;
  out.bytes = static_cast<size_t>(entry.bytes);
  out.queue_pair = this;
  MutexLock lock(&mu_);
  if (out.opcode == Opcode::kReceiveWithImmediate) {
    if (kept_.empty() && receives_->Take(out.id)) return Taken::kYes;
    if (state() == QueuePairState::kError) return Taken::kNothing;  // nobody posts receives to an ended one
    kept_.push_back(out);
    if (kept_.size() > receives_->most()) flooded_.store(true, std::memory_order_release);
    return Taken::kKept;
  }
  if (entry.position < reaped_ || entry.position >= published_) return Taken::kNothing;
  reaped_ = entry.position + 1;
  const Posted& posted = posted_[entry.position % posted_.size()];
  out.id = posted.id;
  out.opcode = posted.opcode;
  return Taken::kYes;
}

bool ServiceQueuePair::TakeKept(const ServiceCompletionQueue* queue, absl::Span<Completion> out, size_t& count) {
  if (queue != receive_queue_) return true;
  MutexLock lock(&mu_);
  if (state() == QueuePairState::kError) kept_.clear();
  for (; !kept_.empty() && count < out.size() && receives_->Take(kept_.front().id); kept_.pop_front()) {
    out[count++] = kept_.front();
  }
  return kept_.empty();
}

bool ServiceQueuePair::IsToBeAskedFor(const ServiceCompletionQueue* queue) {
  if (queue != send_queue_ || end() != End::kOpen) return false;
  MutexLock lock(&mu_);
  return std::exchange(asked_for_, published_) != published_ || reaped_ < told_by_;
}

size_t ServiceQueuePair::Flush(const ServiceCompletionQueue* queue, absl::Span<Completion> out) {
  size_t count = 0;
  if (queue == send_queue_) {
    MutexLock lock(&mu_);
    for (; reaped_ != published_ && count < out.size(); ++reaped_) {
      const Posted& posted = posted_[reaped_ % posted_.size()];
      out[count++] = {posted.id, CompletionStatus::kFlushed, posted.opcode, 0, 0, this};
    }
  }
  if (queue == receive_queue_ && own_receives_ != nullptr) {
    for (uint64_t id = 0; count < out.size() && own_receives_->Take(id);) {
      out[count++] = {id, CompletionStatus::kFlushed, Opcode::kReceive, 0, 0, this};
    }
  }
  return count;
}

}  // namespace skein::fabric::service
