// The sending half.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/fence.h"
#include "core/fabric/requests.h"
#include "core/fabric/shm/queue_pair.h"

namespace skein::fabric::shm {
namespace {

// Copies `size` bytes that start `offset` into the segments.
void Gather(absl::Span<const Segment> local, size_t offset, std::byte* to, size_t size) {
  for (const Segment& segment : local) {
    if (size == 0) return;
    if (offset >= segment.size) {
      offset -= segment.size;
      continue;
    }
    const size_t part = std::min(size, segment.size - offset);
    std::memcpy(to, segment.data + offset, part);
    to += part;
    size -= part;
    offset = 0;
  }
}

// The last word, when aligned, is stored apart with release: the contract's ordering.
void GatherInto(std::byte* to, absl::Span<const Segment> local, size_t total) {
  std::byte* end = to + total;
  if (total < sizeof(uint64_t) || reinterpret_cast<uintptr_t>(end) % sizeof(uint64_t) != 0) {
    return Gather(local, 0, to, total);
  }
  const size_t before = total - sizeof(uint64_t);
  Gather(local, 0, to, before);
  uint64_t last = 0;
  Gather(local, before, reinterpret_cast<std::byte*>(&last), sizeof(last));
  std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(end - sizeof(last))).store(last, std::memory_order_release);
}

absl::Status IsNotRead() {
  return absl::FailedPreconditionError(
      "the peer is in a pid namespace that this process does not see, or of another user: its registered memory is not "
      "read, only what it has allocated");
}

}  // namespace

absl::Status ShmQueuePair::PostSend(absl::Span<const SendRequest> batch) {
  for (const SendRequest& request : batch) {
    if (absl::Status checked = CheckRequest(request, kMaxMessageBytes); !checked.ok()) return checked;
  }
  {
    MutexLock lock(&send_mu_);
    if (!ready()) return NotReady();
    if (last_posted_ - last_reaped_.load(std::memory_order_relaxed) + batch.size() > max_send_) {
      return absl::ResourceExhaustedError(absl::StrCat("the send queue of ", max_send_, " requests has no room"));
    }
    const uint64_t before = producer_->position();
    const bool soliciting = Soliciting() || std::any_of(batch.begin(), batch.end(),
                                                        [](const SendRequest& request) { return request.solicited; });
    for (const SendRequest& request : batch) Start(request);
    if (!entries_.empty()) AwaitHead();
    if (producer_->position() != before || soliciting) RingIfArmed(soliciting);
  }
  if (!ready()) Flush();
  return absl::OkStatus();
}

void ShmQueuePair::Start(const SendRequest& request) {
  Entry entry;
  entry.sequence = ++last_posted_;
  entry.request = request;
  entry.request.local = {};
  entry.local.assign(request.local.begin(), request.local.end());
  if (waiting_ == 0 && ready()) entry.step = Execute(entry);
  if (entries_.empty() && entry.step == Step::kDone) return Complete(entry, CompletionStatus::kSuccess);
  if (entry.step == Step::kWait) {
    ++waiting_;
    Stage(entry);
  }
  entries_.push_back(std::move(entry));
}

void ShmQueuePair::Stage(Entry& entry) {
  if (!CarriesPayload(entry.request.opcode) || entry.written) return;
  entry.payload.resize(TotalBytes(entry.local));
  Gather(entry.local, 0, entry.payload.data(), entry.payload.size());
  entry.local.assign(1, Segment{entry.payload.data(), entry.payload.size(), 0});
}

ShmQueuePair::Step ShmQueuePair::Execute(Entry& entry) {
  // One-sided requests must not overtake a SEND that waits for its receive. (SENDs queue up in the mailbox.)
  if (sends_out_ > 0 && entry.request.opcode != Opcode::kSend) return Step::kWait;
  switch (entry.request.opcode) {
    case Opcode::kSend:
      return ExecuteSend(entry);
    case Opcode::kWrite:
    case Opcode::kWriteWithImmediate:
      return ExecuteWrite(entry);
    case Opcode::kRead:
      return ExecuteRead(entry);
    case Opcode::kFetchAdd:
    case Opcode::kCompareSwap:
      return ExecuteAtomic(entry);
    case Opcode::kReceive:
    case Opcode::kReceiveWithImmediate:
      break;
  }
  return Step::kFailed;  // CheckRequest let none of these through
}

ShmQueuePair::Step ShmQueuePair::ExecuteSend(Entry& entry) {
  const size_t total = TotalBytes(entry.local);
  std::byte fragment[kMaxFragmentBytes];
  do {
    Record record;
    record.size = static_cast<uint32_t>(std::min(total - entry.sent, kMaxFragmentBytes));
    record.kind = entry.sent + record.size == total ? RecordKind::kLastFragment : RecordKind::kFragment;
    record.solicited = entry.request.solicited ? 1 : 0;
    Gather(entry.local, entry.sent, fragment, record.size);
    if (!producer_->Push(record, fragment)) return Step::kWait;
    entry.sent += record.size;
  } while (entry.sent < total);
  entry.end = producer_->position();
  ++receives_met_;
  ++sends_out_;
  return Step::kAwaitsHead;
}

ShmQueuePair::Step ShmQueuePair::Reach(const Entry& entry, uint32_t access, uint64_t size, const Import*& import) {
  const RemoteAddress& remote = entry.request.remote;
  import = imports_.Find(remote.rkey);
  if (import == nullptr && !imports_.Refused(remote.rkey)) {
    if (imports_.StartAsking(remote.rkey)) {
      SideMessage want;
      want.kind = SideMessageKind::kWant;
      want.rkey = remote.rkey;
      want.base = remote.address;
      Tell(want);
    }
    return Step::kWait;
  }
  // Pages of the peer's process may be FUSE's or userfaultfd's: a READ of those takes as long as the peer likes.
  const bool readable = access == kRemoteRead && reads_registered_;
  if (import == nullptr || !import->Allows(access, remote.address, size) || !(import->mapped() || readable)) {
    Fail(CompletionStatus::kRemoteAccessError,
         absl::PermissionDeniedError(absl::StrCat(OpcodeName(entry.request.opcode), " of ", size, " bytes at ",
                                                  remote.address, " of a region that does not allow it")));
    return Step::kFailed;
  }
  return Step::kDone;
}

ShmQueuePair::Step ShmQueuePair::ExecuteWrite(Entry& entry) {
  const size_t total = TotalBytes(entry.local);
  const bool takes_receive = entry.request.opcode == Opcode::kWriteWithImmediate;
  const uint64_t receives = takes_receive ? theirs_->receives.load(std::memory_order_acquire) : 0;
  if (takes_receive && receives_met_ >= receives) return Step::kWait;
  if (total > 0 && !entry.written) {
    const Import* import = nullptr;
    if (const Step step = Reach(entry, kRemoteWrite, total, import); step != Step::kDone) return step;
    GatherInto(import->at(entry.request.remote.address), entry.local, total);
    entry.written = true;
  }
  if (!takes_receive) return Step::kDone;
  Record record;
  record.kind = RecordKind::kImmediate;
  record.solicited = entry.request.solicited ? 1 : 0;
  record.immediate = entry.request.immediate;
  record.total = static_cast<uint32_t>(std::min<size_t>(total, UINT32_MAX));
  if (!producer_->Push(record, nullptr)) return Step::kWait;
  ++receives_met_;
  if (receives != kShared) return Step::kDone;
  entry.end = producer_->position();
  ++sends_out_;
  return Step::kAwaitsHead;
}

ShmQueuePair::Step ShmQueuePair::ExecuteRead(Entry& entry) {
  const size_t total = TotalBytes(entry.local);
  const Import* import = nullptr;
  if (const Step step = Reach(entry, kRemoteRead, total, import); step != Step::kDone) return step;
  entry.bytes = total;
  if (!import->mapped()) {
    const absl::Status read = other_user_.has_value() || peer_pid_ == 0
                                  ? IsNotRead()
                                  : import->ReadFrom(peer_pid_, entry.request.remote.address, entry.local);
    if (read.ok()) return Step::kDone;
    Fail(CompletionStatus::kRemoteAccessError, read);
    return Step::kFailed;
  }
  const std::byte* from = import->at(entry.request.remote.address);
  for (const Segment& segment : entry.local) {
    if (segment.size > 0) std::memcpy(segment.data, from, segment.size);
    from += segment.size;
  }
  return Step::kDone;
}

ShmQueuePair::Step ShmQueuePair::ExecuteAtomic(Entry& entry) {
  const SendRequest& request = entry.request;
  const Import* import = nullptr;
  if (const Step step = Reach(entry, kRemoteAtomic, sizeof(uint64_t), import); step != Step::kDone) return step;
  if (request.remote.address % sizeof(uint64_t) != 0) {
    Fail(CompletionStatus::kRemoteAccessError, absl::PermissionDeniedError("a misaligned atomic"));
    return Step::kFailed;
  }
  std::atomic_ref<uint64_t> word(*reinterpret_cast<uint64_t*>(import->at(request.remote.address)));
  uint64_t old = request.operand;
  if (request.opcode == Opcode::kFetchAdd) {
    old = word.fetch_add(request.operand, std::memory_order_acq_rel);
  } else {
    word.compare_exchange_strong(old, request.swap, std::memory_order_acq_rel);  // leaves what was there in `old`
  }
  std::memcpy(entry.local[0].data, &old, sizeof(old));
  entry.bytes = sizeof(old);
  return Step::kDone;
}

bool ShmQueuePair::RunWaiting() {
  const absl::StatusOr<uint64_t> head = producer_->Consumed();
  if (!head.ok()) {
    Fail(CompletionStatus::kFatal, head.status(), SideState::kBroken);
    return false;
  }
  bool progressed = false;
  for (Entry& entry : entries_) {
    if (entry.step == Step::kAwaitsHead && entry.end <= *head) {
      entry.step = Step::kDone;
      --sends_out_;
      progressed = true;
    }
    if (entry.step != Step::kWait) continue;
    const size_t sent = entry.sent;
    entry.step = Execute(entry);
    progressed |= entry.step != Step::kWait || entry.sent != sent;
    if (entry.step == Step::kWait || entry.step == Step::kFailed) break;
    --waiting_;
  }
  Retire();
  return progressed;
}

void ShmQueuePair::Retire() {
  while (!entries_.empty() && entries_.front().step == Step::kDone) {
    Complete(entries_.front(), CompletionStatus::kSuccess);
    entries_.pop_front();
  }
  unfinished_sends_.store(!entries_.empty(), std::memory_order_relaxed);
}

void ShmQueuePair::AwaitHead() {
  do {
    // Requests that wait to run need this end's next Poll; of those that only await their end, a sleeper may not care.
    const bool wanted = waiting_ > 0 || !quiet_.load(std::memory_order_relaxed);
    mine_->waits_for_head.store(wanted ? 1 : 0, std::memory_order_relaxed);
    // Pairs with the fence in RingIfWaitsForHead: either the peer sees the flag, or RunWaiting sees what moved.
    FullFence();
  } while (ready() && RunWaiting() && !entries_.empty());
}

bool ShmQueuePair::Soliciting() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.request.solicited; });
}

void ShmQueuePair::RingIfArmed(bool solicited) {
  // Pairs with the fence in Arm.
  FullFence();
  const uint32_t armed = theirs_->armed.load(std::memory_order_relaxed);
  if (armed == kNotArmed || (armed == kForSolicited && !solicited)) return;
  if (theirs_->armed.exchange(kNotArmed, std::memory_order_relaxed) != kNotArmed) Ring();
}

void ShmQueuePair::Complete(const Entry& entry, CompletionStatus status) {
  if (status == CompletionStatus::kSuccess && !entry.request.signaled) return;
  Completion completion;
  completion.id = entry.request.id;
  completion.status = status;
  completion.opcode = entry.request.opcode;
  completion.bytes = status == CompletionStatus::kSuccess ? entry.bytes : 0;
  completion.queue_pair = this;
  send_queue_->Push(completion, entry.sequence);
}

void ShmQueuePair::ProgressSends() {
  MutexLock lock(&send_mu_);
  if (entries_.empty()) return;
  const uint64_t before = producer_->position();
  const bool soliciting = Soliciting();
  AwaitHead();
  if (producer_->position() != before) RingIfArmed(soliciting);
}

void ShmQueuePair::FlushSends() {
  CompletionStatus status;
  {
    MutexLock lock(&error_mu_);
    status = first_send_;
  }
  MutexLock lock(&send_mu_);
  if (producer_.has_value()) Retire();
  for (const Entry& entry : entries_) {
    // What ran without waiting for the peer has succeeded; the first that has not gets the reason.
    const bool done = entry.step == Step::kDone;
    Complete(entry, done ? CompletionStatus::kSuccess : status);
    if (!done) status = CompletionStatus::kFlushed;
  }
  entries_.clear();
  waiting_ = 0;
  sends_out_ = 0;
  unfinished_sends_.store(false, std::memory_order_relaxed);
}

}  // namespace skein::fabric::shm
