#include "core/fabric/verbs/completion_queue.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/fabric/verbs/queue_pair.h"

namespace skein::fabric::verbs {
namespace {

constexpr int kPerPoll = 16;
// Beyond what the user counts: each queue pair's own question whether the peer is there.
constexpr uint32_t kSpare = 64;
// A thread that never sleeps looks for progress after so many; of those beside programs that compute, each may take
// milliseconds.
constexpr uint32_t kEmptyPollsPerLook = 1 << 10;

bool IsReceive(Opcode opcode) { return opcode == Opcode::kReceive || opcode == Opcode::kReceiveWithImmediate; }

}  // namespace

absl::StatusOr<std::unique_ptr<VerbsCompletionQueue>> VerbsCompletionQueue::Create(std::shared_ptr<Context> context,
                                                                                   uint32_t capacity) {
  std::unique_ptr<VerbsCompletionQueue> queue(new VerbsCompletionQueue(std::move(context)));
  if (absl::Status status = queue->Prepare(capacity); !status.ok()) return status;
  return queue;
}

VerbsCompletionQueue::VerbsCompletionQueue(std::shared_ptr<Context> context) : context_(std::move(context)) {}

VerbsCompletionQueue::~VerbsCompletionQueue() {
  if (queue_ != nullptr) context_->lib().destroy_cq(queue_);
  if (channel_ != nullptr) context_->lib().destroy_comp_channel(channel_);
}

absl::Status VerbsCompletionQueue::Prepare(uint32_t capacity) {
  const Ibverbs& lib = context_->lib();
  const auto most = static_cast<uint32_t>(context_->attributes().max_cqe);
  if (capacity == 0) return absl::InvalidArgumentError("a completion queue of no entries");
  if (capacity > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a completion queue of ", capacity, " entries; ", context_->name(), " takes ", most));
  }
  channel_ = lib.create_comp_channel(context_->get());
  if (channel_ == nullptr) return ErrnoStatus(errno, "create a completion channel");
  const int flags = fcntl(channel_->fd, F_GETFL);
  if (flags < 0 || fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "make a completion channel non-blocking");
  }
  const int entries = static_cast<int>(std::min(capacity + kSpare, most));
  queue_ = lib.create_cq(context_->get(), entries, nullptr, channel_, 0);
  if (queue_ == nullptr) {
    return ErrnoStatus(errno, absl::StrCat("create a completion queue; ", context_->name(), " has ",
                                           context_->attributes().max_cq, " of them"));
  }
  if (absl::Status status = sleep_.Open(); !status.ok()) return status;
  if (absl::Status status = sleep_.Watch(channel_->fd); !status.ok()) return status;
  if (absl::Status status = sleep_.Watch(context_->look_fd()); !status.ok()) return status;
  return sleep_.Watch(context_->event_fd());
}

size_t VerbsCompletionQueue::Poll(absl::Span<Completion> out) {
  bool look = false;
  const size_t count = Take(out, look);
  if (look) context_->LookForProgress();
  return count;
}

size_t VerbsCompletionQueue::Take(absl::Span<Completion> out, bool& look) {
  MutexLock lock(&mu_);
  TakeUpTo(out.size());
  if (ready_.size() < out.size()) {
    for (const auto& [member, queue_pair] : members_) queue_pair->FlushAfterDeviceLoss(this, ready_);
  }
  const size_t count = std::min(out.size(), ready_.size());
  std::move(ready_.begin(), ready_.begin() + static_cast<ptrdiff_t>(count), out.begin());
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<ptrdiff_t>(count));
  look = count == 0 && ++empty_polls_ % kEmptyPollsPerLook == 0;
  return count;
}

bool VerbsCompletionQueue::TryTakeIn() {
  if (!mu_.TryLock()) return false;
  TakeUpTo(std::numeric_limits<size_t>::max());
  mu_.Unlock();
  return true;
}

void VerbsCompletionQueue::TakeUpTo(size_t count) {
  ibv_wc work[kPerPoll];
  for (int taken = kPerPoll; ready_.size() < count && taken == kPerPoll;) {
    taken = ibv_poll_cq(queue_, kPerPoll, work);
    for (int i = 0; i < taken; ++i) Translate(work[i]);
  }
}

void VerbsCompletionQueue::Translate(const ibv_wc& work) {
  const WorkId id = WorkId::Of(work.wr_id);
  const bool shared = id.member == kSharedMember;
  const auto& owners = shared ? takers_ : members_;
  const auto owner = owners.find(shared ? work.qp_num : id.member);
  if (owner != owners.end()) owner->second->Completed(id, work, ready_);
}

absl::Status VerbsCompletionQueue::Arm() {
  if (const int error = ibv_req_notify_cq(queue_, /*solicited_only=*/0); error != 0) {
    return ErrnoStatus(error, "ask for a completion event");
  }
  return absl::OkStatus();
}

// An Arm leads to one event, so mostly there is no second one to be found: that would cost a system call.
void VerbsCompletionQueue::AckEvents() {
  TakeEvent();
  sleep_.Acknowledge();
  context_->DrainEvents();
  context_->LookForProgress();
}

void VerbsCompletionQueue::AckAllEvents() {
  AckEvents();
  while (TakeEvent()) {
  }
}

bool VerbsCompletionQueue::TakeEvent() {
  ibv_cq* queue = nullptr;
  void* unused = nullptr;
  if (context_->lib().get_cq_event(channel_, &queue, &unused) != 0) return false;
  context_->lib().ack_cq_events(queue_, 1);
  return true;
}

uint32_t VerbsCompletionQueue::Attach(VerbsQueuePair* queue_pair) {
  MutexLock lock(&mu_);
  members_[++last_member_] = queue_pair;
  return last_member_;
}

void VerbsCompletionQueue::Detach(uint32_t member) {
  MutexLock lock(&mu_);
  const auto found = members_.find(member);
  if (found == members_.end()) return;
  const QueuePair* const gone = found->second;
  members_.erase(found);
  std::erase_if(ready_, [gone](const Completion& completion) { return completion.queue_pair == gone; });
}

void VerbsCompletionQueue::AttachTaker(const ibv_qp* raw, VerbsQueuePair* queue_pair) {
  MutexLock lock(&mu_);
  takers_[raw->qp_num] = queue_pair;
}

void VerbsCompletionQueue::DestroyTaker(ibv_qp* raw) {
  // All under the lock: the number may be another's as soon as the device is through with this one. What has come is
  // taken before, because some libraries then throw it away, and after, because others do not.
  MutexLock lock(&mu_);
  const auto taker = takers_.find(raw->qp_num);
  TakeUpTo(std::numeric_limits<size_t>::max());
  context_->lib().destroy_qp(raw);
  TakeUpTo(std::numeric_limits<size_t>::max());
  for (Completion& completion : ready_) {
    if (completion.queue_pair == taker->second && IsReceive(completion.opcode)) completion.queue_pair = nullptr;
  }
  takers_.erase(taker);
}

}  // namespace skein::fabric::verbs
