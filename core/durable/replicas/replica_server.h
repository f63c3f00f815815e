// A replica: a process with a log of its own, that primaries connect to.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_REPLICA_SERVER_H_
#define SKEIN_CORE_DURABLE_REPLICAS_REPLICA_SERVER_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/deadline.h"
#include "core/base/options.h"
#include "core/base/unique_fd.h"
#include "core/connect/tcp.h"
#include "core/durable/replicas/connection.h"
#include "core/durable/replicas/replica_log.h"
#include "core/durable/replicas/replica_session.h"
#include "core/stream/host_streams.h"
#include "core/wait/poll_loop.h"

namespace skein::durable {

class ReplicaServer {
 public:
  // `path`: of its log, which is made when a primary comes. `address`: "10.0.0.1:7000", port 0 for any that is free.
  // Errors: CheckFolder's, FabricOptions', ReplicaLog::Open's; the kernel's.
  static absl::StatusOr<std::unique_ptr<ReplicaServer>> Open(const std::string& path, const std::string& address);
  ~ReplicaServer();

  const std::string& address() const { return address_; }  // as numbers
  // On this thread, until Stop. One thread at a time.
  void Serve();
  // Any thread, and signal handlers.
  void Stop();

 private:
  // Who has connected: says one thing, and goes, or is the primary.
  struct Peer {
    explicit Peer(UniqueFd socket) : tcp(std::move(socket)) {}
    UniqueFd tcp;
    connect::FrameReader reader{kReplicaLetters, kMaxRequestBytes};
    Deadline deadline = After(kMeetingTimeout);
    uint64_t group = 0;  // which begins with the next byte, by the deadline
    bool is_liveness = false;
  };
  // The primary that is followed.
  struct Primary {
    std::shared_ptr<ReplicaSession> session;
    std::shared_ptr<replicate::Group> group;
    int tcp = -1;  // a peer's, whose end is its own; -1: the group's path is that
  };

  ReplicaServer(std::unique_ptr<wait::PollLoop> loop, std::unique_ptr<ReplicaLog> log, UniqueFd listener,
                std::string address, const Options& fabrics);

  void OnReadable(int fd);
  void Accept();
  // False: the peer has gone.
  bool Hear(Peer& peer);
  bool Answer(Peer& peer, const ReplicaRequest& request);
  void Follow(uint64_t group, uint64_t log_bytes, std::unique_ptr<replicate::Path> path, int tcp);
  void Leave(const absl::Status& why);
  void LeaveAll(const Peer& but);
  void DropPeers(absl::FunctionRef<bool(const Peer&)> which);
  void DropSlowPeers();

  const std::unique_ptr<wait::PollLoop> loop_;
  const std::unique_ptr<ReplicaLog> log_;
  const UniqueFd listener_;
  const std::string address_;
  const Options fabrics_;
  stream::HostStreams streams_;
  uint64_t log_bytes_ = 0;  // of the primary's log
  Primary primary_;
  absl::flat_hash_map<int, Peer> peers_;
  Deadline accepts_again_ = Deadline::max();  // max(): it accepts
  std::atomic<bool> stopped_ = false;         // by Stop, release; Serve, acquire
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_REPLICA_SERVER_H_
