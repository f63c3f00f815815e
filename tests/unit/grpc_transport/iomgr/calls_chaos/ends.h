// The server and its clients' channels, and what befalls them.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_ENDS_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_ENDS_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/chaos.grpc.pb.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/journal.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/plan.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/service.h"

namespace skein::calls_chaos {

// One thread, but for Stub.
class Ends {
 public:
  Ends(Journal& journal, Dice& dice, const grpc::ResourceQuota& quota, size_t channels);
  // When no call is under way.
  ~Ends();

  // Whether the channel may make a call anew by itself, which the server has not looked at.
  static bool Retries(size_t channel) { return channel == 0; }
  // By which a call is to begin. Any thread.
  std::shared_ptr<Chaos::Stub> Stub(size_t channel) const ABSL_LOCKS_EXCLUDED(mu_);

  // The channel's connection is cut at one end. Returns when the channel has another.
  void Cut(size_t channel, bool at_client);
  // The server ends, and another begins. Calls under way have `grace`; those that a handler has must come to their own
  // end within kPatience.
  void Restart(absl::Duration grace);
  // Another channel takes this one's place. Calls under way stay where they are, and must come to their own end.
  void Replace(size_t channel);

 private:
  // Keeps the port from all others, while no server listens there, too.
  UniqueFd HoldPort();
  void Serve();
  // Makes calls of its own, until one succeeds and tells of a place that is `wanted`: from then on no call begins on an
  // earlier connection.
  Place Where(size_t channel, absl::FunctionRef<bool(const Place&)> wanted);

  Journal& journal_;
  Dice& dice_;
  const grpc::ResourceQuota& quota_;
  const size_t channels_;
  int port_ = 0;
  const UniqueFd port_holder_;
  uint32_t servers_ = 0;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
  mutable absl::Mutex mu_;
  std::vector<std::shared_ptr<Chaos::Stub>> stubs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::calls_chaos

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_ENDS_H_
