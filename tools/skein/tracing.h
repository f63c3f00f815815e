// Tracing of another process, for as long as a command wants it.
#ifndef SKEIN_TOOLS_SKEIN_TRACING_H_
#define SKEIN_TOOLS_SKEIN_TRACING_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/inspect/attachment.h"

namespace skein {

// What was traced before is forgotten, as is how; in the end it is as it was before.
class TracingFor {
 public:
  TracingFor(pid_t process, uint32_t every) : process_(process) {
    const absl::StatusOr<std::string> before = inspect::Ask(process, "trace");
    status_ = before.status();
    if (status_.ok()) status_ = inspect::Ask(process, "trace clear").status();
    if (status_.ok()) status_ = inspect::Ask(process, absl::StrCat("trace ", every)).status();
    // Of the first library of the process, if it has several.
    if (status_.ok()) before_ = before->substr(0, before->find_first_not_of("0123456789"));
  }
  TracingFor(const TracingFor&) = delete;
  TracingFor& operator=(const TracingFor&) = delete;
  ~TracingFor() {
    if (status_.ok()) inspect::Ask(process_, absl::StrCat("trace ", before_)).status().IgnoreError();
  }

  const absl::Status& status() const { return status_; }

 private:
  const pid_t process_;
  absl::Status status_;
  std::string before_;
};

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_TRACING_H_
