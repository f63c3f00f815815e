// Keeps a primary connected to one of its replicas.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_REPLICA_CONNECTOR_H_
#define SKEIN_CORE_DURABLE_REPLICAS_REPLICA_CONNECTOR_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/options.h"
#include "core/base/unique_fd.h"
#include "core/durable/replicas/follower.h"
#include "core/durable/replicas/journal.h"
#include "core/durable/replicas/request.h"
#include "core/stream/host_streams.h"
#include "core/wait/poll_loop.h"

namespace skein::durable {

// With a thread of its own, which connects, polls, and connects anew: a replica that is slow to answer keeps no other
// waiting.
class ReplicaConnector {
 public:
  // `request`: the log's (PrepareLog). `level`: of the log. `fabrics`: FabricOptions. RESOURCE_EXHAUSTED, or what else
  // the kernel says: no descriptors.
  static absl::StatusOr<std::unique_ptr<ReplicaConnector>> Start(std::string address,
                                                                 std::shared_ptr<Follower> follower, Journal& journal,
                                                                 size_t number, const ReplicaRequest& request,
                                                                 Persistence level, const Options& fabrics);
  // Ends the connection. May wait until a host's name is known, and then for kMeetingTimeout twice.
  ~ReplicaConnector();
  // Any thread. The connection ends; nothing is waited for.
  void Stop();

 private:
  ReplicaConnector(std::unique_ptr<wait::PollLoop> loop, std::string address, std::shared_ptr<Follower> follower,
                   Journal& journal, size_t number, const ReplicaRequest& request, Persistence level,
                   const Options& fabrics);

  void Run();
  // Returns when the connection has ended, with why.
  absl::Status Connect();
  absl::StatusOr<ReplicaAnswer> Meet(int tcp, std::unique_ptr<stream::Connector::Attempt>& attempt);
  void Follow(int tcp);

  const std::unique_ptr<wait::PollLoop> loop_;
  const std::string address_;
  const std::shared_ptr<Follower> follower_;
  Journal& journal_;
  const size_t number_;
  const Persistence level_;
  const Options fabrics_;
  std::atomic<bool> stopped_ = false;  // by Stop, release; the thread, acquire
  std::atomic<bool> ended_ = false;    // the group: by its observer, release; the thread, acquire: why_ is there
  absl::Status why_;                   // that has ended
  // The thread's.
  ReplicaRequest request_;
  stream::HostStreams streams_;
  bool by_stream_ = true;  // false: no stream came about the last time, or nothing got through it
  std::thread thread_;     // last: it uses all
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_REPLICA_CONNECTOR_H_
