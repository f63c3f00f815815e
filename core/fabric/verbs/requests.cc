// Posting, and what the device says of it.
#include "core/fabric/requests.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/fabric/verbs/queue_pair.h"
#include "core/fabric/verbs/receive_work.h"

namespace skein::fabric::verbs {
namespace {

// Segments of size 0 are left out: some devices take that for 2 GiB.
void AppendSegments(absl::Span<const Segment> segments, std::vector<ibv_sge>& out) {
  for (const Segment& segment : segments) {
    if (segment.size == 0) continue;
    out.push_back({reinterpret_cast<uint64_t>(segment.data), static_cast<uint32_t>(segment.size), segment.lkey});
  }
}

ibv_wr_opcode VerbsOpcode(Opcode opcode) {
  switch (opcode) {
    case Opcode::kWrite:
      return IBV_WR_RDMA_WRITE;
    case Opcode::kWriteWithImmediate:
      return IBV_WR_RDMA_WRITE_WITH_IMM;
    case Opcode::kRead:
      return IBV_WR_RDMA_READ;
    case Opcode::kFetchAdd:
      return IBV_WR_ATOMIC_FETCH_AND_ADD;
    case Opcode::kCompareSwap:
      return IBV_WR_ATOMIC_CMP_AND_SWP;
    case Opcode::kSend:
    case Opcode::kReceive:
    case Opcode::kReceiveWithImmediate:
    case Opcode::kFlush:  // FlushWork's
      break;
  }
  return IBV_WR_SEND;
}

ibv_send_wr WorkOf(const SendRequest& request) {
  if (request.opcode == Opcode::kFlush) return FlushWork(request);
  ibv_send_wr work = {};
  work.opcode = VerbsOpcode(request.opcode);
  work.imm_data = htonl(request.immediate);
  if (IsAtomic(request.opcode)) {
    work.wr.atomic.remote_addr = request.remote.address;
    work.wr.atomic.rkey = request.remote.rkey;
    work.wr.atomic.compare_add = request.operand;
    work.wr.atomic.swap = request.swap;
  } else {
    work.wr.rdma.remote_addr = request.remote.address;
    work.wr.rdma.rkey = request.remote.rkey;
  }
  return work;
}

CompletionStatus StatusOf(ibv_wc_status status, Opcode opcode) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return CompletionStatus::kSuccess;
    case IBV_WC_WR_FLUSH_ERR:
      return CompletionStatus::kFlushed;
    case IBV_WC_REM_ACCESS_ERR:
      return CompletionStatus::kRemoteAccessError;
    case IBV_WC_REM_INV_REQ_ERR:
      // Of a SEND: too long for its receive. Of others: a region that does not allow it.
      return opcode == Opcode::kSend ? CompletionStatus::kRemoteOperationError : CompletionStatus::kRemoteAccessError;
    case IBV_WC_LOC_LEN_ERR:
      return CompletionStatus::kLocalLengthError;
    case IBV_WC_LOC_QP_OP_ERR:
      // Soft-RoCE's word for a message longer than its receive.
      return opcode == Opcode::kReceive ? CompletionStatus::kLocalLengthError : CompletionStatus::kFatal;
    case IBV_WC_REM_OP_ERR:
      return CompletionStatus::kRemoteOperationError;
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_REM_ABORT_ERR:
      return CompletionStatus::kRetryExceeded;
    default:
      return CompletionStatus::kFatal;
  }
}

}  // namespace

absl::Status VerbsQueuePair::CheckSend(const SendRequest& request) const {
  if (request.opcode == Opcode::kFlush) return CheckFlush(request, CapabilitiesOf(*port_), flushes_);
  if (absl::Status status = CheckRequest(request, port_->max_message_bytes); !status.ok()) return status;
  const auto used = std::count_if(request.local.begin(), request.local.end(),
                                  [](const Segment& segment) { return segment.size > 0; });
  if (static_cast<size_t>(used) <= port_->max_segments) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a request of ", used, " segments; ", port_->context->name(), " takes ", port_->max_segments));
}

absl::Status VerbsQueuePair::PostSend(absl::Span<const SendRequest> batch) {
  for (const SendRequest& request : batch) {
    if (absl::Status status = CheckSend(request); !status.ok()) return status;
  }
  const absl::Cleanup watched = [this] { AwaitProgress(); };
  MutexLock lock(&send_mu_);
  if (!ready()) return NotReady();
  if (sends_.requests.size() - (asking_ ? 1 : 0) + batch.size() > max_send_) {
    return absl::ResourceExhaustedError(absl::StrCat("the send queue of ", max_send_, " requests is full"));
  }
  return batch.empty() ? absl::OkStatus() : PostRaw(batch, /*question=*/false);
}

absl::Status VerbsQueuePair::PostRaw(absl::Span<const SendRequest> batch, bool question) {
  std::vector<ibv_sge> segments;
  absl::InlinedVector<ibv_send_wr, 4> work;
  size_t count = 0;
  for (const SendRequest& request : batch) count += request.local.size();
  segments.reserve(count);  // work requests point into it
  bool has_flush = false;
  for (const SendRequest& request : batch) {
    const size_t first = segments.size();
    has_flush |= request.opcode == Opcode::kFlush;
    AppendSegments(request.local, segments);
    const uint64_t bytes = TotalBytes(request.local);
    work.push_back(WorkOf(request));
    ibv_send_wr& last = work.back();
    last.wr_id = WorkId{send_member_, false, sends_.next()}.packed();
    last.sg_list = segments.data() + first;
    last.num_sge = static_cast<int>(segments.size() - first);
    // Whatever the user asks for, some complete: else the send queue would fill with what has long been done.
    const bool signaled = request.signaled || question || unsignaled_ + 1 >= std::max(max_send_ / 4, 1u);
    unsignaled_ = signaled ? 0 : unsignaled_ + 1;
    if (signaled) last.send_flags |= IBV_SEND_SIGNALED;
    if (CarriesPayload(request.opcode) && bytes > 0 && bytes <= port_->max_inline_bytes) {
      last.send_flags |= IBV_SEND_INLINE;
    }
    sends_.requests.push_back({request.id, request.opcode, request.signaled && !question, question, bytes});
  }
  for (size_t i = 0; i + 1 < work.size(); ++i) work[i].next = &work[i + 1];
  if (has_flush) {
    size_t taken = 0;
    const int error = PostWithFlushes(port_->context->lib(), queue_pair_, absl::MakeSpan(work), taken);
    return error == 0 ? absl::OkStatus() : PostFailed(sends_, work.size() - taken, ErrnoStatus(error, "post requests"));
  }
  ibv_send_wr* refused = nullptr;
  const int error = ibv_post_send(queue_pair_, work.data(), &refused);
  if (error == 0) return absl::OkStatus();
  return PostFailed(sends_, refused == nullptr ? 0 : &work.back() - refused + 1, ErrnoStatus(error, "post requests"));
}

absl::Status VerbsQueuePair::PostFailed(Pending& pending, size_t refused, const absl::Status& why) {
  // The space was counted: so this is the device failing. The device will still flush the requests that it took before.
  pending.requests.resize(pending.requests.size() - refused);
  Fail(why);
  return absl::FailedPreconditionError(absl::StrCat(port_->context->name(), ": ", why.message()));
}

absl::Status VerbsQueuePair::PostReceive(absl::Span<const ReceiveRequest> batch) {
  if (shared_ != nullptr) return NoOwnReceives();
  absl::StatusOr<ReceiveWork> work = ReceiveWork::Of(*port_, batch);
  if (!work.ok()) return work.status();
  MutexLock lock(&receive_mu_);
  if (!ready()) return NotReady();
  if (receives_.requests.size() + batch.size() > max_receive_) {
    return absl::ResourceExhaustedError(absl::StrCat("the receive queue of ", max_receive_, " requests is full"));
  }
  if (batch.empty()) return absl::OkStatus();
  for (size_t i = 0; i < batch.size(); ++i) {
    work->requests[i].wr_id = WorkId{receive_member_, true, receives_.next()}.packed();
    receives_.requests.push_back({batch[i].id, Opcode::kReceive, true, false, 0});
  }
  ibv_recv_wr* refused = nullptr;
  const int error = ibv_post_recv(queue_pair_, work->requests.data(), &refused);
  if (error == 0) return absl::OkStatus();
  return PostFailed(receives_, work->Refused(refused), ErrnoStatus(error, "post receives"));
}

Completion VerbsQueuePair::Report(const Outstanding& request, CompletionStatus status) {
  Completion completion;
  completion.id = request.id;
  completion.status = status;
  completion.opcode = request.opcode;
  completion.bytes = status == CompletionStatus::kSuccess && !CarriesPayload(request.opcode) ? request.bytes : 0;
  completion.queue_pair = this;
  return completion;
}

void VerbsQueuePair::Completed(const WorkId& id, const ibv_wc& work, std::deque<Completion>& out) {
  if (id.receive) {
    CompletedReceive(id.sequence, work, out);
  } else {
    CompletedSend(id.sequence, work, out);
  }
}

void VerbsQueuePair::CompletedSend(uint32_t sequence, const ibv_wc& work, std::deque<Completion>& out) {
  MutexLock lock(&send_mu_);
  // Of a reliable connection, requests complete in order: those before were unsignaled and have succeeded.
  while (!sends_.requests.empty() && sends_.first != sequence) {
    sends_.requests.pop_front();
    ++sends_.first;
  }
  if (sends_.requests.empty()) return;
  const Outstanding request = sends_.requests.front();
  sends_.requests.pop_front();
  ++sends_.first;
  if (request.question) asking_ = false;
  const CompletionStatus status = StatusOf(work.status, request.opcode);
  if (status != CompletionStatus::kSuccess) {
    Fail(absl::UnavailableError(absl::StrCat(request.question ? "asking the peer" : OpcodeName(request.opcode), ": ",
                                             port_->context->lib().wc_status_str(work.status))));
  }
  if (status == CompletionStatus::kSuccess ? request.reported : !request.question) {
    out.push_back(Report(request, status));
  }
}

std::optional<VerbsQueuePair::Outstanding> VerbsQueuePair::TakeReceive(uint32_t sequence) {
  if (shared_ != nullptr) return Outstanding{shared_->Take(sequence), Opcode::kReceive, true, false, 0};
  MutexLock lock(&receive_mu_);
  if (receives_.requests.empty()) return std::nullopt;
  const Outstanding request = receives_.requests.front();
  receives_.requests.pop_front();
  ++receives_.first;
  return request;
}

void VerbsQueuePair::CompletedReceive(uint32_t sequence, const ibv_wc& work, std::deque<Completion>& out) {
  const std::optional<Outstanding> request = TakeReceive(sequence);
  if (!request.has_value()) return;
  Completion completion = Report(*request, StatusOf(work.status, Opcode::kReceive));
  if (completion.status == CompletionStatus::kSuccess) {
    completion.bytes = work.byte_len;
    if (work.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
      completion.opcode = Opcode::kReceiveWithImmediate;
      completion.immediate = ntohl(work.imm_data);
    }
  } else {
    Fail(absl::UnavailableError(absl::StrCat("RECV: ", port_->context->lib().wc_status_str(work.status))));
  }
  out.push_back(completion);
}

void VerbsQueuePair::FlushAfterDeviceLoss(const CompletionQueue* queue, std::deque<Completion>& out) {
  if (!device_will_not_.load(std::memory_order_acquire)) return;
  if (queue == send_queue_) {
    MutexLock lock(&send_mu_);
    FlushAll(sends_, out);
  }
  if (queue == receive_queue_) {
    MutexLock lock(&receive_mu_);
    FlushAll(receives_, out);
  }
}

void VerbsQueuePair::FlushAll(Pending& pending, std::deque<Completion>& out) {
  for (const Outstanding& request : pending.requests) {
    if (!request.question) out.push_back(Report(request, CompletionStatus::kFlushed));
  }
  pending.first = pending.next();
  pending.requests.clear();
}

}  // namespace skein::fabric::verbs
