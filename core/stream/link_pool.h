// A client's links to server processes, by what those call them.
#ifndef SKEIN_CORE_STREAM_LINK_POOL_H_
#define SKEIN_CORE_STREAM_LINK_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/mutex.h"
#include "core/link/link.h"
#include "core/stream/route.h"
#include "core/wire/negotiation.h"

namespace skein::stream {

// A link is left when its last port has ended, but not while a negotiation is under way, whose answer might put another
// on it.
//
// Where nothing tells a peer of an end (RDMA), its next answer might still name a link that is gone here: a good-bye
// lies in its memory sooner than it is read, and what this end alone has lost it never hears of while it has nothing to
// say. So after either, offers to its address ask for a new link, until there is one; a server that was asked for a new
// one names no older again. (A server of two addresses may still do so once, at the other.) Any thread.
class LinkPool {
 public:
  // A negotiation. Whether it is to ask for a new link only.
  bool AttemptBegins(const Route& route);
  void AttemptEnds();
  // Also when the last words of a link have reached its peer. With no lock of a link held.
  void PortEnded() { LeaveIdle(); }
  // A new link, as agreed; `asked`: its offer asked for a new one only.
  void Add(const wire::Yes& yes, const Route& route, bool asked, const std::shared_ptr<link::Link>& link);
  // A peer has named a link that is no more here.
  void NamedInVain(const Route& route);
  std::shared_ptr<link::Link> Find(const wire::Yes& yes);

 private:
  struct Pooled {
    std::weak_ptr<link::Link> link;  // owned by the waiter that watches it, and by its streams
    std::string peer;                // its address
    bool may_be_named = false;       // by the peer, when it is gone here
  };
  static constexpr size_t kMostUnaware = 1024;  // of 200 bytes

  void LeaveIdle();
  std::vector<std::shared_ptr<link::Link>> TakeIdle();
  void ForgetLost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NoteUnaware(std::string peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;  // before those of links
  int attempts_ ABSL_GUARDED_BY(mu_) = 0;
  size_t leaving_ ABSL_GUARDED_BY(mu_) = 0;  // links that are no more in the pool, and not left yet
  absl::flat_hash_set<std::string> unaware_ ABSL_GUARDED_BY(mu_);  // peers that may name what is gone
  // In order, as what is left at once is left in order: so simulations repeat themselves.
  absl::btree_map<std::pair<wire::ProcessId, uint64_t>, Pooled> links_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_LINK_POOL_H_
