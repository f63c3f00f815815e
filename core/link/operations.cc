#include "core/link/operations.h"

#include <array>

namespace skein::link {

absl::Status Operations::Operate(MemoryOperation& operation) {
  if (queue_.channel().executes()) return Execute(operation);
  auto& together = under_way_.queue();
  if (together.Join(operation) == coalesce::Turn::kDone) return operation.posted;
  auto batch = together.Gather(operation, MemoryOperations::kMaxBatch, [](const MemoryOperation&) { return true; });
  queue_.InPlace([&](const absl::Status& error) { Post(batch, error); });
  // Nobody else waits for it, so it is still there.
  absl::Status posted = operation.posted;
  together.Finish(batch);
  return posted;
}

absl::Status Operations::Execute(MemoryOperation& operation) {
  operation.request.local = {&operation.local, 1};
  const absl::StatusOr<fabric::CompletionStatus> done = queue_.channel().Execute(operation.request);
  absl::Status posted = done.status();
  // The channel knows why already; the link will when somebody polls, and says it so, too.
  if (done.ok() && *done == fabric::CompletionStatus::kFlushed) {
    posted = absl::UnavailableError(queue_.channel().why_ended().message());
  }
  operation.posted = posted;
  if (posted.ok()) operation.OnDone(*done);  // it is its owner's again
  return posted;
}

void Operations::Post(coalesce::Batch<MemoryOperation>& batch, const absl::Status& error) {
  std::array<fabric::SendRequest, MemoryOperations::kMaxBatch> requests;
  size_t count = 0;
  for (MemoryOperation& operation : batch) {
    operation.posted = error.ok() ? under_way_.Begin(operation) : error;
    if (operation.posted.ok()) requests[count++] = operation.request;
  }
  if (count == 0) return;
  const absl::Span<const fabric::SendRequest> all(requests.data(), count);
  const absl::Status status = queue_.channel().PostOperations(all);
  if (status.ok()) return;
  for (MemoryOperation& operation : batch) {
    if (!operation.posted.ok()) continue;
    under_way_.TakeBack(operation);
    operation.posted = status;
  }
}

}  // namespace skein::link
