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
  return Predecessor(folder, *std::move(query));
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
  if (asked.ok()) {
    return query_.WaitForEnd(kUntilGone) ? absl::OkStatus()
                                         : Explain(absl::AbortedError("it has been told to end, and has not yet"));
  }
  // One that has gone by itself has left its place: nobody answers there, for this skeind does not serve yet.
  const bool has_gone = absl::IsUnavailable(asked);
  const absl::StatusOr<Query> now = has_gone ? Query::Open(folder_) : absl::StatusOr<Query>(asked);
  if (absl::IsFailedPrecondition(asked) || (now.ok() && now->AskAbout().ok())) {
    return absl::AlreadyExistsError("another skeind has taken that place meanwhile");
  }
  return has_gone ? absl::OkStatus() : Explain(asked);
}

}  // namespace skein::service
