// A client's links to server processes, by where those are and what they call them.
#ifndef SKEIN_CORE_CONNECT_LINK_POOL_H_
#define SKEIN_CORE_CONNECT_LINK_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/mutex.h"
#include "core/base/random_value.h"
#include "core/connect/route.h"
#include "core/link/link.h"
#include "core/wire/negotiation.h"

namespace skein::connect {

// A link is left when its last port has ended, but not while a negotiation is under way, whose answer might put another
// on it.
//
// Where nothing tells a peer of an end (RDMA), its next answer might still name a link that is gone here: a good-bye
// lies in its memory sooner than it is read, and what this end alone has lost it never hears of while it has nothing to
// say. So after either, offers to its address ask for a new link, until there is one; a server that was asked for a new
// one names no older again.
//
// Servers do not trust each other. What one calls its links is known to all who connect to it, so that a link is found
// only for an answer from the address that it was agreed with; and this process goes by another name at each, so that
// none can ask another for a place on a link of this process's. A server of two addresses has a link for each.
// Any thread.
class LinkPool {
 public:
  // What a negotiation is to say of this process.
  struct Introduction {
    wire::ProcessId process;
    bool new_link_only = false;
  };
  Introduction AttemptBegins(const Route& route);
  void AttemptEnds();
  // Also when the last words of a link have reached its peer. With no lock of a link held.
  void PortEnded() { LeaveIdle(); }
  // A new link, as agreed; `asked`: its offer asked for a new one only.
  // FallbackCode::kProtocol: the peer has one of that name already.
  absl::Status Add(const wire::Yes& yes, const Route& route, bool asked, const std::shared_ptr<link::Link>& link);
  // A peer has named a link that is no more here.
  void NamedInVain(const Route& route);
  std::shared_ptr<link::Link> Find(const wire::Yes& yes, const Route& route);

 private:
  struct Pooled {
    std::weak_ptr<link::Link> link;  // owned by the waiter that watches it, and by its streams
    bool may_be_named = false;       // by the peer, when it is gone here
    bool left = false;               // but its last words may be under way
  };
  struct Place {
    std::string peer;  // its address
    wire::ProcessId process;
    uint64_t number;
    bool operator<(const Place& other) const {
      return std::tie(peer, process, number) < std::tie(other.peer, other.process, other.number);
    }
  };
  struct Peer {
    wire::ProcessId name = RandomValue<wire::ProcessId>();  // of this process, there
    bool unaware = false;                                   // may name what is gone
  };
  // Of 200 bytes. One that is forgotten meets a newcomer in this process, which shares no link of before.
  static constexpr size_t kMostPeers = 4096;
  // Links to one address that no stream here uses. More of them are those of a peer that lets none go: it takes no
  // messages, or reads no large payloads.
  static constexpr size_t kMostUnused = 64;

  void LeaveIdle();
  std::vector<std::shared_ptr<link::Link>> TakeIdle();
  void ForgetLost() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CloseUnused(const std::string& peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Peer& PeerAt(const std::string& address) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;  // before those of links
  int attempts_ ABSL_GUARDED_BY(mu_) = 0;
  size_t leaving_ ABSL_GUARDED_BY(mu_) = 0;  // links that are to be left at once
  absl::flat_hash_map<std::string, Peer> peers_ ABSL_GUARDED_BY(mu_);
  // In order, as what is left at once is left in order: so simulations repeat themselves.
  absl::btree_map<Place, Pooled> links_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_LINK_POOL_H_
