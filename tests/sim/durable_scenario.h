// Durable calls over streams, to a server whose power is lost.
#ifndef SKEIN_TESTS_CHAOS_DURABLE_SCENARIO_H_
#define SKEIN_TESTS_CHAOS_DURABLE_SCENARIO_H_

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/durable_client.h"
#include "tests/sim/durable_server.h"
#include "tests/sim/peers.h"
#include "tests/sim/scenario.h"
#include "tests/sim/stream_scenario.h"

namespace skein::chaos {

class DurableScenario final : public Scenario {
 public:
  static constexpr WorldShape kShape = {.processes = 3};
  explicit DurableScenario(World& world);
  ~DurableScenario() override;

  void Step() override;
  void OnExit(size_t process) override;
  void OnDeath(size_t process) override;
  void OnStart(size_t process) override;
  void OnClose(const Fault& fault) override;
  void Finish() override { finishing_ = true; }
  bool Settled() const override;
  std::string Unsettled() const override;
  void CheckAtEnd() override { server_->CheckAtEnd(); }

 private:
  // Of one client: whose connection it is just now.
  struct Place {
    std::unique_ptr<DurableClient> client;
    uint64_t connection = 0;  // number of the last one
    bool connecting = false;
    bool given = false;  // an end of it, to the client
    absl::Time cut_off = absl::InfiniteFuture();
  };

  void MakeClient(size_t process);
  void Begin(size_t process);
  void Act(size_t process);
  void ActConnection(size_t process, Place& place);

  World& world_;
  StreamKind kind_;
  std::unique_ptr<Peers> peers_;
  DurableRecords records_;
  std::unique_ptr<DurableServer> server_;
  std::vector<Place> places_;  // by process
  uint64_t lives_ = 0;
  uint64_t connections_ = 0;
  bool finishing_ = false;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_DURABLE_SCENARIO_H_
