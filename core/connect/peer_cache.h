// Peers found, a short while ago, not to speak Skein: where asking costs a connection, it is not repeated.
#ifndef SKEIN_CORE_CONNECT_PEER_CACHE_H_
#define SKEIN_CORE_CONNECT_PEER_CACHE_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "core/base/mutex.h"

namespace skein::connect {

class PeerCache {
 public:
  void Add(const std::string& peer, absl::Time until, absl::Time now) {
    MutexLock lock(&mu_);
    if (plain_.size() >= kMaxPeers) {
      absl::erase_if(plain_, [now](const auto& entry) { return entry.second <= now; });
    }
    if (plain_.size() < kMaxPeers || plain_.contains(peer)) plain_[peer] = until;
  }
  bool Contains(const std::string& peer, absl::Time now) {
    MutexLock lock(&mu_);
    const auto found = plain_.find(peer);
    if (found == plain_.end()) return false;
    if (now < found->second) return true;
    plain_.erase(found);
    return false;
  }

 private:
  static constexpr size_t kMaxPeers = 4096;
  Mutex mu_;
  absl::flat_hash_map<std::string, absl::Time> plain_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_PEER_CACHE_H_
