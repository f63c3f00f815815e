// A path on a TCP connection (RDMC 5.3): for members that no fabric of Skein's reaches.
#ifndef SKEIN_CORE_REPLICATE_TCP_PATH_H_
#define SKEIN_CORE_REPLICATE_TCP_PATH_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "core/replicate/path.h"
#include "core/wait/source.h"

namespace skein::replicate {

// On a connected socket, whose bytes are the path's from now on. `watcher` polls for it. RESOURCE_EXHAUSTED: there is
// no descriptor to be had for that.
absl::StatusOr<std::unique_ptr<Path>> CreateTcpPath(UniqueFd socket, wait::Watcher& watcher);

}  // namespace skein::replicate

#endif  // SKEIN_CORE_REPLICATE_TCP_PATH_H_
