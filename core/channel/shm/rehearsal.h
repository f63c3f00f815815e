// Whether the kernel lets this process have channels in shared memory.
#ifndef SKEIN_CORE_CHANNEL_SHM_REHEARSAL_H_
#define SKEIN_CORE_CHANNEL_SHM_REHEARSAL_H_

#include "absl/status/status.h"
#include "core/channel/shm/shm_options.h"

namespace skein::channel {

// Opens two transports, connects a channel between them, and waits for a message, all in this process. Some 0.2 ms; 5 s
// at most. The error says which step failed. Any thread.
absl::Status TryShmChannel(const ShmOptions& options);

// Both ends of a channel are made in this process, and a sleeper awaits a message, by the code that connections use.
// About 0.2 ms; 5 s at most. The error carries a Fallback (FallbackOf) that names the call that was refused: by a
// limit, by seccomp, by another security policy. A channel can do without pipes and madvise: to refuse these is no
// refusal. A process of a user without a number (PeerUsers) is not tried. Any thread.
absl::Status RehearseShmChannel();

}  // namespace skein::channel

#endif  // SKEIN_CORE_CHANNEL_SHM_REHEARSAL_H_
