// One-sided operations of several threads, posted together on a lane.
#include <array>

#include "core/link/lane.h"

namespace skein::link {

absl::Status Lane::Operate(MemoryOperation& operation) {
  // The first lane's channel stays as long as the link does.
  if (channel_->executes()) return Execute(operation);
  auto& queue = memory_.queue();
  if (queue.Join(operation) == coalesce::Turn::kDone) return operation.posted;
  auto batch = queue.Gather(operation, MemoryOperations::kMaxBatch, [](const MemoryOperation&) { return true; });
  {
    Visit visit(this);
    PostOperations(batch);
  }
  // Nobody else waits for it, so it is still there.
  absl::Status posted = operation.posted;
  queue.Finish(batch);
  return posted;
}

absl::Status Lane::Execute(MemoryOperation& operation) {
  operation.request.local = {&operation.local, 1};
  const absl::StatusOr<fabric::CompletionStatus> done = channel_->Execute(operation.request);
  absl::Status posted = done.status();
  // The channel knows why already; the link will when somebody polls, and says it so, too.
  if (done.ok() && *done == fabric::CompletionStatus::kFlushed) {
    posted = absl::UnavailableError(channel_->why_ended().message());
  }
  operation.posted = posted;
  if (posted.ok()) operation.OnDone(*done);  // it is its owner's again
  return posted;
}

void Lane::PostOperations(coalesce::Batch<MemoryOperation>& batch) {
  std::array<fabric::SendRequest, MemoryOperations::kMaxBatch> requests;
  size_t count = 0;
  for (MemoryOperation& operation : batch) {
    operation.posted = error_.ok() ? memory_.Begin(operation) : error_;
    if (operation.posted.ok()) requests[count++] = operation.request;
  }
  if (count == 0) return;
  const absl::Span<const fabric::SendRequest> all(requests.data(), count);
  const absl::Status status = channel_->PostOperations(all);
  if (status.ok()) return;
  for (MemoryOperation& operation : batch) {
    if (!operation.posted.ok()) continue;
    memory_.TakeBack(operation);
    operation.posted = status;
  }
}

}  // namespace skein::link
