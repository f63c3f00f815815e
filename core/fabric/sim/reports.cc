#include "core/fabric/sim/reports.h"

#include <utility>

#include "core/fabric/sim/endpoint.h"

namespace skein::fabric::sim {

void Reports::SendEnded(const SendRequest& request, uint64_t sequence, CompletionStatus status, size_t bytes) {
  if (status == CompletionStatus::kSuccess && !request.signaled) return;
  Completion completion;
  completion.id = request.id;
  completion.status = status;
  completion.opcode = request.opcode;
  completion.bytes = bytes;
  Report({send_queue_, completion, sequence});
}

void Reports::ReceiveEnded(const ReceiveRequest& request, CompletionStatus status, size_t bytes) {
  Completion completion;
  completion.id = request.id;
  completion.status = status;
  completion.opcode = Opcode::kReceive;
  completion.bytes = bytes;
  Report({receive_queue_, completion, /*sequence=*/0});
}

void Reports::ImmediateCame(const ReceiveRequest& request, uint32_t immediate, size_t bytes) {
  Completion completion;
  completion.id = request.id;
  completion.opcode = Opcode::kReceiveWithImmediate;
  completion.immediate = immediate;
  completion.bytes = bytes;
  Report({receive_queue_, completion, /*sequence=*/0});
}

void Reports::Detach() {
  // The queues may be gone when the time of these has come; and of its own receives nobody wants to hear.
  for (const Late& late : late_) {
    if (endpoint_.shares_receives() && late.sequence == 0) Push(late);
  }
  late_.clear();
  send_queue_->Forget(&endpoint_);
  receive_queue_->Forget(&endpoint_);
}

void Reports::Report(const Late& report) {
  if (endpoint_.handle() == nullptr) return;
  if (world_.config.completion_cost == absl::ZeroDuration()) return Push(report);
  late_.push_back(report);
  const absl::Time at = endpoint_.device().nic.Complete(world_.events.now());
  world_.events.At(at, [self = endpoint_.Shared(this)] { self->PushNext(); });
}

void Reports::PushNext() {
  if (late_.empty()) return;
  Push(late_.front());
  late_.pop_front();
}

void Reports::Push(const Late& report) {
  SimCompletionQueue::Entry entry{report.completion, endpoint_.shared_from_this(), report.sequence};
  entry.completion.queue_pair = endpoint_.handle();
  report.queue->Push(std::move(entry));
}

}  // namespace skein::fabric::sim
