#include "core/channel/shm/passed_memory.h"

#include "absl/strings/str_cat.h"

namespace skein::channel::shm {

absl::Status PassedMemory::Pass(const Region& region, LivenessConnection& peer) {
  MutexLock lock(&mu_);
  if (keys_.contains(region.remote().rkey)) return absl::OkStatus();
  // A peer that is passed more than it takes ends the channel. Both ends have the same limits.
  const size_t bytes = region.bytes().size();
  if (keys_.size() >= limits_.max_imports || bytes > limits_.max_import_bytes - bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("a peer takes ", limits_.max_imports, " memory regions, of ",
                                                     limits_.max_import_bytes, " bytes in all; it has ", keys_.size(),
                                                     ", of ", bytes_));
  }
  if (absl::Status passed = peer.Pass(region); !passed.ok()) return passed;
  keys_.insert(region.remote().rkey);
  bytes_ += bytes;
  return absl::OkStatus();
}

}  // namespace skein::channel::shm
