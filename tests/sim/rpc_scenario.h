// Calls of clients to a server, whose handlers answer at once, later, wrongly or not at all.
#ifndef SKEIN_TESTS_CHAOS_RPC_SCENARIO_H_
#define SKEIN_TESTS_CHAOS_RPC_SCENARIO_H_

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/rpc/options.h"
#include "tests/sim/caller.h"
#include "tests/sim/peers.h"
#include "tests/sim/scenario.h"

namespace skein::chaos {

class RpcScenario final : public Scenario, public Peers::Kind {
 public:
  static constexpr WorldShape kShape = {.processes = 3};
  explicit RpcScenario(World& world);
  ~RpcScenario() override;

  void Step() override;
  void OnExit(size_t process) override;
  void OnDeath(size_t process) override;
  void OnStart(size_t process) override { peers_->OnStart(process); }
  void OnClose(const Fault& fault) override;
  void Finish() override { finishing_ = true; }
  bool Settled() const override;
  std::string Unsettled() const override;
  void CheckAtEnd() override;

 private:
  std::unique_ptr<Asker> MakeAsker(size_t process, std::shared_ptr<connect::Fabrics> fabrics,
                                   const stream::StreamOptions& options, wait::Watcher* waiter) override;
  std::unique_ptr<Answerer> MakeAnswerer(std::shared_ptr<connect::Fabrics> fabrics,
                                         const stream::StreamOptions& options, wait::Watcher* waiter) override;
  void Begin(size_t client);
  void Handle(absl::string_view request, rpc::Reply reply);
  void AnswerLater();

  World& world_;
  rpc::Options options_;
  Caller::Manner manner_;
  uint64_t last_number_ = 0;
  Executions executions_;
  std::list<std::pair<std::string, rpc::Reply>> later_;
  std::vector<std::unique_ptr<Caller>> callers_;
  std::unique_ptr<Peers> peers_;
  bool finishing_ = false;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_RPC_SCENARIO_H_
