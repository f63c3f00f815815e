// A connection of gRPC's as those see it who trace calls. An interceptor sees calls, and not which connection carries
// them; gRPC tells it the peer's address, by which it finds the connection here, and by the time what went and came.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TRACED_CONNECTION_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TRACED_CONNECTION_H_

#include <skein/grpc.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "grpc_transport/common/connection_hops.h"

namespace skein::grpc_transport {

// The last so many of what a connection has written or read while calls are traced, oldest first.
template <class Entry>
class Latest {
 public:
  static constexpr size_t kMost = 512;

  void Add(const Entry& entry) {
    if (entries_.size() < kMost) return entries_.push_back(entry);
    entries_[begin_] = entry;
    begin_ = (begin_ + 1) % kMost;
  }
  // The first for which `wanted` is true; an empty one if there is none.
  template <class Wanted>
  Entry First(Wanted wanted) const {
    for (size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[(begin_ + i) % entries_.size()];
      if (wanted(entry)) return entry;
    }
    return {};
  }
  // Nothing that may have been asked for is forgotten.
  bool whole() const { return entries_.size() < kMost; }
  const Entry* oldest() const { return entries_.empty() ? nullptr : &entries_[begin_]; }

 private:
  std::vector<Entry> entries_;
  size_t begin_ = 0;
};

// Any thread. Lock: mu_ (ConnectionHops's), a leaf.
class TracedConnection final : public ConnectionHops {
 public:
  // Who sends something, and wants to know by which connection this thread writes next: most calls are written by the
  // thread that begins them, before it returns. A hint, to tell connections to one address apart.
  class NextWrite {
   public:
    NextWrite();
    bool WasOf(const TracedConnection& connection) const;

   private:
    friend class TracedConnection;
    std::shared_ptr<std::atomic<const TracedConnection*>> by_;  // relaxed: compared, and nothing else
  };

  // `peer`: as gRPC's calls name it. Found until its end; in a forked child not at all.
  static std::shared_ptr<TracedConnection> New(Path::Role role, const std::string& peer, trace::Path path,
                                               uint8_t features);
  // Several where there are several connections to one address, or of clients that have none.
  static std::vector<std::shared_ptr<TracedConnection>> Find(Path::Role role, const std::string& peer);
  // Whether a client of this process's servers traces, or has done so less than a minute ago.
  static bool ClientsTrace();

  TracedConnection(Path::Role role, trace::Path path, uint8_t features) : ConnectionHops(path, features), role_(role) {}
  ~TracedConnection();

  // By the endpoint: of each read, and of each write while calls are traced.
  void Read(const link::Arrival& arrival) ABSL_LOCKS_EXCLUDED(mu_);
  void Wrote(const SentTimes& sent) ABSL_LOCKS_EXCLUDED(mu_);

  // The first write that began then or later, as far as that is known.
  SentTimes WrittenSince(uint64_t time) const ABSL_LOCKS_EXCLUDED(mu_);
  // Of what the peer has sent at `peer_time` of its clock or later, the first; if that is not known, what came last.
  link::Arrival CameSince(uint64_t peer_time) const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const Path::Role role_;
  std::string key_;  // in the list of all; empty: not there
  Latest<SentTimes> writes_ ABSL_GUARDED_BY(mu_);
  Latest<link::Arrival> arrivals_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_TRACED_CONNECTION_H_
