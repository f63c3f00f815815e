#include "core/fabric/verbs/shared_receive_queue.h"

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/fabric/verbs/completion_queue.h"
#include "core/fabric/verbs/receive_work.h"

namespace skein::fabric::verbs {

absl::StatusOr<std::unique_ptr<VerbsSharedReceiveQueue>> VerbsSharedReceiveQueue::Create(
    std::shared_ptr<const Port> port, uint32_t max) {
  const Context& context = *port->context;
  const auto most = static_cast<uint32_t>(context.attributes().max_srq_wr);
  if (max == 0) return absl::InvalidArgumentError("a shared receive queue for no request");
  if (max > most) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a shared receive queue of ", max, " requests; ", context.name(), " takes ", most));
  }
  ibv_srq_init_attr create = {};
  create.attr.max_wr = max;
  create.attr.max_sge = 1;
  ibv_srq* const queue = context.lib().create_srq(port->domain.get(), &create);
  if (queue == nullptr) {
    return ErrnoStatus(errno, absl::StrCat("create a shared receive queue; ", context.name(), " has ",
                                           context.attributes().max_srq, " of them"));
  }
  return std::unique_ptr<VerbsSharedReceiveQueue>(new VerbsSharedReceiveQueue(std::move(port), max, queue));
}

VerbsSharedReceiveQueue::VerbsSharedReceiveQueue(std::shared_ptr<const Port> port, uint32_t max, ibv_srq* queue)
    : port_(std::move(port)), max_(max), queue_(queue) {}

VerbsSharedReceiveQueue::~VerbsSharedReceiveQueue() { port_->context->lib().destroy_srq(queue_); }

absl::Status VerbsSharedReceiveQueue::PostReceive(absl::Span<const ReceiveRequest> batch) {
  absl::StatusOr<ReceiveWork> work = ReceiveWork::Of(*port_, batch);
  if (!work.ok() || batch.empty()) return work.status();
  MutexLock lock(&mu_);
  if (ids_.size() - free_.size() + batch.size() > max_) {
    return absl::ResourceExhaustedError(absl::StrCat("the shared receive queue of ", max_, " requests is full"));
  }
  for (size_t i = 0; i < batch.size(); ++i) {
    work->requests[i].wr_id = WorkId{kSharedMember, true, Put(batch[i].id)}.packed();
  }
  ibv_recv_wr* refused = nullptr;
  const int error = ibv_post_srq_recv(queue_, work->requests.data(), &refused);
  if (error == 0) return absl::OkStatus();
  for (size_t i = batch.size() - work->Refused(refused); i < batch.size(); ++i) {
    free_.push_back(WorkId::Of(work->requests[i].wr_id).sequence);
  }
  return absl::FailedPreconditionError(
      absl::StrCat(port_->context->name(), ": ", ErrnoStatus(error, "post shared receives").message()));
}

uint32_t VerbsSharedReceiveQueue::Put(uint64_t id) {
  if (free_.empty()) {
    ids_.push_back(id);
    return static_cast<uint32_t>(ids_.size() - 1);
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  ids_[slot] = id;
  return slot;
}

uint64_t VerbsSharedReceiveQueue::Take(uint32_t slot) {
  MutexLock lock(&mu_);
  free_.push_back(slot);
  return ids_[slot];
}

}  // namespace skein::fabric::verbs
