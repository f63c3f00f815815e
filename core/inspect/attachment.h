// The other end of control.h: another process, asked.
#ifndef SKEIN_CORE_INSPECT_ATTACHMENT_H_
#define SKEIN_CORE_INSPECT_ATTACHMENT_H_

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"

namespace skein::inspect {

// What one library of a process has answered.
struct LibraryAnswer {
  int library = 0;  // counted within the process
  std::string text;
};

// What a process may take of who asks it, which does not trust it: all its libraries together. By default more than
// one with 10,000 connections has to tell, whatever their peers are called. Lines are bounded because whoever reads
// them makes more of each than its bytes.
struct AnswerLimits {
  size_t bytes = size_t{16} << 20;
  size_t lines = size_t{64} << 10;
  Deadline end = After(absl::Seconds(15));
};

// What `process` answers to `question`, each of its libraries; blocks until `limits.end` at most. NOT_FOUND: no such
// process. PERMISSION_DENIED: another user's. UNAVAILABLE: it has nothing of Skein, or ends. DEADLINE_EXCEEDED: it does
// not answer. FAILED_PRECONDITION: it has another version. RESOURCE_EXHAUSTED: it answers more than it may. Otherwise
// what the process says is wrong. The messages say what to do, and are printable.
absl::StatusOr<std::vector<LibraryAnswer>> AskEach(pid_t process, absl::string_view question,
                                                   const AnswerLimits& limits = {});
// The same, one after the other: for answers that are lines.
absl::StatusOr<std::string> Ask(pid_t process, absl::string_view question, const AnswerLimits& limits = {});
// Why a process that nobody named has given no answer: false if it is another user's, has ended, or has nothing of
// Skein.
bool IsMissed(const absl::Status& why);

// Who can be asked, by number: processes of this network namespace that have Skein, other users' too.
std::vector<pid_t> ProcessesToAsk();

}  // namespace skein::inspect

#endif  // SKEIN_CORE_INSPECT_ATTACHMENT_H_
