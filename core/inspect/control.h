// What a process tells the skein command, and lets it do: questions, one for each connection to a UNIX socket of the
// process's, by who runs as the same user.
//
// On an abstract name with the process's number in it (in its network and its pid namespace). A question is one
// message, a verb and perhaps an argument behind a space; the answer is messages until the socket's end, which follow
// each other as one text:
//
//     skein VERSION ok SIZE\n   or       skein VERSION CODE WHY\n
//     whatever the verb gives            (absl::StatusCode's name)
//
// SIZE is that of what follows, in bytes: an end that comes sooner is that of the process, or of its patience.
#ifndef SKEIN_CORE_INSPECT_CONTROL_H_
#define SKEIN_CORE_INSPECT_CONTROL_H_

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::inspect {

inline constexpr size_t kMaxQuestionBytes = 256;
inline constexpr absl::string_view kProtocol = "skein";

// A process may have several libraries with a core of Skein's inside: each answers for itself. And the
// containers of a pod, which have one network namespace, may all have a process 1. So there are several names for a
// number, and each library takes the first that is free.
inline constexpr int kControlNames = 32;
inline constexpr absl::string_view kControlPrefix = "skein-control-";
// `process`: the number that the process has of itself.
std::string ControlName(pid_t process, int name);
// That both ends must be of.
absl::string_view Version();

// By one thread of ours, one after the other; must not block for long.
using Answer = std::function<absl::StatusOr<std::string>(absl::string_view argument)>;

// Any thread. Each verb once; the first one begins to listen: a process in which nothing of Skein has ever run has
// neither socket nor thread. Not in a forked child, where this does nothing.
// What goes wrong with the socket is nobody's error but the command's, who finds none: Listening() has it.
void Handle(std::string verb, Answer answer);
// From within an answer: that thread does `what` when `after` has passed. Said again, the last counts.
void Later(std::chrono::milliseconds after, std::function<void()> what);
absl::Status Listening();

}  // namespace skein::inspect

#endif  // SKEIN_CORE_INSPECT_CONTROL_H_
