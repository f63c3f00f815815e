// The other end of control.h: another process, asked.
#ifndef SKEIN_CORE_INSPECT_ATTACHMENT_H_
#define SKEIN_CORE_INSPECT_ATTACHMENT_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::inspect {

// What `process` answers to `question`, all its libraries one after the other; blocks for seconds at most. NOT_FOUND:
// no such process. PERMISSION_DENIED: another user's. UNAVAILABLE: it has nothing of Skein, or does not answer.
// FAILED_PRECONDITION: it has another version. Otherwise what the process says is wrong. The messages say what to do.
absl::StatusOr<std::string> Ask(pid_t process, absl::string_view question);

}  // namespace skein::inspect

#endif  // SKEIN_CORE_INSPECT_ATTACHMENT_H_
