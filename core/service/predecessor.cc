#include "core/service/predecessor.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace skein::service {
namespace {

using fabric::service::Operation;
using fabric::service::Query;
using fabric::service::Reply;
using fabric::service::Request;

constexpr absl::Duration kUntilGone = absl::Seconds(10);

}  // namespace

absl::StatusOr<std::optional<Predecessor>> Predecessor::Find(const std::string& folder) {
  absl::StatusOr<Query> query = Query::Open(folder);
  if (absl::IsNotFound(query.status())) return std::optional<Predecessor>();
  if (!query.ok()) return query.status();
  return Predecessor(*std::move(query));
}

absl::Status Predecessor::Explain(const absl::Status& status) const {
  const std::string name = query_.who().pid == 0 ? "the skeind that runs" : absl::StrCat("skeind ", query_.who().pid);
  if (absl::IsDeadlineExceeded(status)) {
    return absl::DeadlineExceededError(absl::StrCat(name, " does not answer, and cannot be replaced: kill it first"));
  }
  if (absl::IsInvalidArgument(status)) {  // of a version that knows no successor
    return absl::UnimplementedError(absl::StrCat(name, " is too old to be replaced: stop it first"));
  }
  return absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
}

absl::StatusOr<UniqueFd> Predecessor::Listener(fabric::service::Listener which) const {
  Request request;
  request.operation = Operation::kPassListener;
  request.number = static_cast<uint32_t>(which);
  UniqueFd listener;
  const absl::StatusOr<Reply> reply = query_.Ask(request, &listener);
  if (!reply.ok()) return Explain(reply.status());
  if (!listener.valid()) return Explain(absl::ResourceExhaustedError("its socket could not be taken over"));
  return listener;
}

absl::Status Predecessor::Stop() const {
  Request request;
  request.operation = Operation::kStop;
  const absl::Status asked = query_.Ask(request).status();
  if (absl::IsUnavailable(asked) || (asked.ok() && query_.WaitForEnd(kUntilGone))) return absl::OkStatus();
  return Explain(asked.ok() ? absl::AbortedError("it has been told to end, and has not yet") : asked);
}

}  // namespace skein::service
