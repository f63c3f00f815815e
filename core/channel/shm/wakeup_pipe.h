// A pipe: the end that rings makes it readable.
//
// Each end has an open file description of its own, made by opening the pipe anew through /proc, so that neither can
// turn the other's O_NONBLOCK off; and both are open for reading and writing, so that neither ever meets a pipe without
// a reader (SIGPIPE) or a writer (a hang-up). That the peer has died is told by the socket.
//
// What is left to a peer: to write from memory whose pages it brings itself, slowly (FUSE), while the kernel holds the
// pipe's lock. It is a process of the same user, who could stop this one by a signal. Another user's is given no pipe:
// messages ring.
//
// A socket's message would do as well, and does where there is no wakeup pipe, but costs a buffer made and freed: two
// sleepers that wake each other take 1.6 times as long.
#ifndef SKEIN_CORE_CHANNEL_SHM_WAKEUP_PIPE_H_
#define SKEIN_CORE_CHANNEL_SHM_WAKEUP_PIPE_H_

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace skein::channel::shm {

// Whether so many descriptors are left that connections may have wakeup pipes: each has two, and to make one takes
// three for a moment.
bool MayHaveWakeupPipes();
absl::StatusOr<UniqueFd> CreateWakeupPipe();
// Opens a pipe anew: this end's, to pass it to the peer; the peer's, to ring by it. INVALID_ARGUMENT when it is
// anything but a pipe without a name.
absl::StatusOr<UniqueFd> OpenWakeupPipe(int pipe);
// Never waits: a full pipe is readable already. False: the pipe may not have become readable, for the kernel has
// refused the write.
bool WriteWakeup(int wakeup_pipe);

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_WAKEUP_PIPE_H_
