// The other end of control.h: another process, asked.
#ifndef SKEIN_CORE_INSPECT_ATTACHMENT_H_
#define SKEIN_CORE_INSPECT_ATTACHMENT_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::inspect {

// What one library of a process has answered.
struct LibraryAnswer {
  int library = 0;  // as in ControlName
  std::string text;
};

// What `process` answers to `question`, each of its libraries; blocks for seconds at most. NOT_FOUND: no such process.
// PERMISSION_DENIED: another user's. UNAVAILABLE: it has nothing of Skein, or ends. DEADLINE_EXCEEDED: it does not
// answer. FAILED_PRECONDITION: it has another version. RESOURCE_EXHAUSTED: a library answers more than `most_bytes`.
// Otherwise what the process says is wrong. The messages say what to do, and are printable.
inline constexpr size_t kMaxAnswerBytes = size_t{256} << 20;
absl::StatusOr<std::vector<LibraryAnswer>> AskEach(pid_t process, absl::string_view question,
                                                   size_t most_bytes = kMaxAnswerBytes);
// The same, one after the other: for answers that are lines.
absl::StatusOr<std::string> Ask(pid_t process, absl::string_view question);

// Who can be asked, by number: processes of this network namespace that have Skein, other users' too.
std::vector<pid_t> ProcessesToAsk();

}  // namespace skein::inspect

#endif  // SKEIN_CORE_INSPECT_ATTACHMENT_H_
