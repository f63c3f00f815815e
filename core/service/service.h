// skeind: the process that owns a host's RDMA device for all others. README.md has the whole.
#ifndef SKEIN_CORE_SERVICE_SERVICE_H_
#define SKEIN_CORE_SERVICE_SERVICE_H_

#include <poll.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "core/fabric/fabric.h"
#include "core/service/budget.h"
#include "core/service/listeners.h"
#include "core/service/queue_pairs.h"
#include "core/service/session.h"
#include "core/service/statistics_mailbox.h"
#include "core/service/trunk.h"
#include "core/service/trunks.h"
#include "core/service/worker.h"

namespace skein::service {

struct ServiceOptions {
  std::string folder;                // where processes find skeind.sock
  int listening = -1;                // a socket that listens there already, as systemd passes one; -1: none
  bool replaces = false;             // a skeind that serves the folder now (predecessor.h), if there is one
  std::string trunk_address = "::";  // on which other hosts' skeinds reach this one
  uint16_t trunk_port = 0;           // 0: any that is free
  // Whether offers may lead to other ports than this skeind's own. Else a process could have skeind connect anywhere.
  bool any_trunk_port = false;
  UserLimits limits;
  std::function<void(absl::string_view line)> log = [](absl::string_view) {};
  absl::Duration spin = absl::Microseconds(50);  // without work, before the thread sleeps
  TrunkPatience patience;
  std::string secret;           // that all skeinds know; empty: none
  bool workers_threads = true;  // false: their work is done at once, so that a Turn has one outcome
};

// One thread, but for Stop.
class Service final : public SessionOwner, public TrunkOwner {
 public:
  // By the local address of the connection that a process means; empty: any. Two addresses of one port give one device.
  using FindPort = std::function<absl::StatusOr<Port>(absl::string_view local_address)>;

  static absl::StatusOr<std::unique_ptr<Service>> Create(const ServiceOptions& options, FindPort find_port);
  ~Service() override;

  // Serves until Stop. Sleeps when there is nothing to do.
  void Run();
  // Any thread, and a signal's handler.
  void Stop();
  // Does what there is to do now. False: nothing.
  bool Turn();
  // That part of it for which nobody asks the kernel: requests in shared memory, and completions.
  bool Work();
  uint16_t trunk_port() const { return listeners_.trunk_port; }
  // By which other threads ask for statistics. May outlive the service.
  const std::shared_ptr<StatisticsMailbox>& mailbox() const { return mailbox_; }

  // SessionOwner and TrunkOwner.
  absl::StatusOr<Port> PortFor(absl::string_view local_address) override { return find_port_(local_address); }
  QueuePairs& queue_pairs() override { return queue_pairs_; }
  Trunks& trunks() override { return trunks_; }
  Worker& worker() override { return *worker_; }
  Worker& connecting_worker() override { return *connecting_worker_; }
  int ListenerFor(fabric::service::Listener which) const override {
    return which == fabric::service::Listener::kProcesses ? listeners_.processes.get() : listeners_.skeinds.get();
  }
  void GiveWay() override;
  Completions::Unwoken& unwoken() override { return unwoken_; }
  void TrunkFailed(absl::string_view why) override {
    options_.log(absl::StrCat("a connection to a host ended: ", why));
  }

 private:
  Service(const ServiceOptions& options, FindPort find_port) : options_(options), find_port_(std::move(find_port)) {}
  // Until connections are accepted again, of which one could not be.
  static constexpr int kAcceptAgainMs = 100;

  absl::Status Begin();
  bool LookAtSockets(int timeout_ms);
  bool HeedSockets(const std::vector<pollfd>& waits);
  bool AcceptProcesses();
  bool AcceptSkeinds();
  UniqueFd AcceptFrom(int listening);
  void GiveAnswersDue();
  void WakeThoseUnwoken();
  void Sleep();
  void DropEnded();
  Statistics Count() const;

  const ServiceOptions options_;
  const FindPort find_port_;
  std::unique_ptr<Worker> worker_;             // outlives whoever has regions
  std::unique_ptr<Worker> connecting_worker_;  // makes trunks' queue pairs
  Listeners listeners_;
  UniqueFd stop_;
  bool stopped_ = false;
  absl::flat_hash_map<uid_t, std::weak_ptr<UserBudget>> budgets_;
  Completions::Unwoken unwoken_;
  std::vector<std::shared_ptr<Session>> sessions_;
  Trunks trunks_{*this, options_, listeners_};
  QueuePairs queue_pairs_{trunks_};
  uint64_t turn_ = 0;
  Statistics counted_;  // those parts that no session or trunk has
  std::shared_ptr<StatisticsMailbox> mailbox_;
  absl::Time accepts_again_ = absl::InfinitePast();  // when it has found no descriptor for a connection
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_SERVICE_H_
