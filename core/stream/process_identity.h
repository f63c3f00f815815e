// Which process this is, to its peers, and whether it is still the one that made an object.
#ifndef SKEIN_CORE_STREAM_PROCESS_IDENTITY_H_
#define SKEIN_CORE_STREAM_PROCESS_IDENTITY_H_

#include <unistd.h>

#include "core/base/fallback.h"
#include "core/base/forked.h"
#include "core/base/random_value.h"
#include "core/wire/negotiation.h"

namespace skein::stream {

class ProcessIdentity {
 public:
  ProcessIdentity() : pid_(getpid()), id_(RandomValue<wire::ProcessId>()) {}
  const wire::ProcessId& id() const { return id_; }
  // A child made by fork shares its parent's links in appearance only; and where its parent had begun to use Skein, the
  // threads that would look after links of its own are not there.
  absl::Status CheckNotForked() const {
    if (getpid() == pid_ && !InForkedChild()) return absl::OkStatus();
    return FallbackError(FallbackCode::kResources, "forked after Skein was started");
  }

 private:
  const pid_t pid_;
  const wire::ProcessId id_;
};

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_PROCESS_IDENTITY_H_
