// Tracing of another process, for as long as a command wants it.
#ifndef SKEIN_TOOLS_SKEIN_TRACING_H_
#define SKEIN_TOOLS_SKEIN_TRACING_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/inspect/attachment.h"

namespace skein {

// What was traced before is forgotten, as is how; in the end it is as it was before, also if this command is killed.
class TracingFor {
 public:
  TracingFor(pid_t process, uint32_t every, double seconds) : process_(process) {
    const auto at_most = static_cast<uint32_t>(seconds) + kSecondsToAskIn;
    status_ = inspect::Ask(process, absl::StrCat("trace ", every, " ", at_most)).status();
    // Now: what calls of earlier times have left, too.
    if (status_.ok()) status_ = inspect::Ask(process, "trace clear").status();
  }
  TracingFor(const TracingFor&) = delete;
  TracingFor& operator=(const TracingFor&) = delete;
  ~TracingFor() {
    // Also when it went wrong: one of the process's libraries may have begun.
    inspect::Ask(process_, "trace back").status().IgnoreError();
  }

  const absl::Status& status() const { return status_; }

 private:
  // For what comes before the seconds and after them.
  static constexpr uint32_t kSecondsToAskIn = 10;

  const pid_t process_;
  absl::Status status_;
};

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_TRACING_H_
