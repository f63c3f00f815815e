#include "core/durable/replicas/primary.h"

#include "absl/strings/str_cat.h"
#include "core/base/random_value.h"
#include "core/durable/log/log_header.h"

namespace skein::durable {

absl::StatusOr<ReplicaRequest> PrepareLog(Storage& own, uint32_t logs, uint32_t acknowledge) {
  const absl::StatusOr<bool> blank = IsBlank(own);
  if (!blank.ok()) return blank.status();
  if (*blank) {
    if (absl::Status made = MakeLog(own, RandomId()); !made.ok()) return made;
  }
  const absl::StatusOr<LogHeader> header = ReadLogHeader(own);
  if (!header.ok()) return header.status();
  const absl::StatusOr<Standing> standing = ReadStanding(own);
  if (!standing.ok()) return standing.status();
  const Standing wanted{
      .promised = standing->content, .content = standing->content, .logs = logs, .acknowledge = acknowledge};
  if (wanted != *standing) {
    if (absl::Status written = WriteStanding(own, wanted); !written.ok()) return written;
  }
  return ReplicaRequest{.verb = ReplicaVerb::kFollow,
                        .identity = header->identity,
                        .bytes = own.size(),
                        .term = standing->content,
                        .run = RandomValue<uint64_t>() | 1,
                        .logs = logs,
                        .acknowledge = acknowledge,
                        .group = 0,
                        .offer = {}};
}

bool IsSuperseded(const ReplicaAnswer& answer, const ReplicaRequest& request) {
  return !MayFollow(answer.standing.promised, request.term);
}

absl::Status WhyNot(const ReplicaAnswer& answer, const ReplicaRequest& request, Persistence own) {
  if (!answer.status.ok()) return answer.status;
  if (IsSuperseded(answer, request)) return absl::FailedPreconditionError("it has promised to follow a later term");
  if (Gives(answer.level, own)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("its log is ", PersistenceName(answer.level), ", the primary's ",
                                                    PersistenceName(own), "; put it on a volume as good"));
}

}  // namespace skein::durable
