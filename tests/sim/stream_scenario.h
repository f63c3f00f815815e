// Byte streams of a server and its clients.
#ifndef SKEIN_TESTS_CHAOS_STREAM_SCENARIO_H_
#define SKEIN_TESTS_CHAOS_STREAM_SCENARIO_H_

#include <memory>
#include <vector>

#include "tests/sim/peers.h"
#include "tests/sim/scenario.h"
#include "tests/sim/talk.h"

namespace skein::chaos {

// How streams are negotiated.
class StreamKind final : public Peers::Kind {
 public:
  std::unique_ptr<Asker> MakeAsker(size_t process, std::shared_ptr<connect::Fabrics> fabrics,
                                   const stream::StreamOptions& options, wait::Watcher* waiter) override;
  std::unique_ptr<Answerer> MakeAnswerer(std::shared_ptr<connect::Fabrics> fabrics,
                                         const stream::StreamOptions& options, wait::Watcher* waiter) override;
};

class StreamScenario final : public Scenario {
 public:
  static constexpr WorldShape kShape = {.processes = 3};
  explicit StreamScenario(World& world);
  ~StreamScenario() override;

  void Step() override;
  void OnExit(size_t process) override;
  void OnDeath(size_t process) override;
  void OnStart(size_t process) override { peers_->OnStart(process); }
  void OnClose(const Fault& fault) override;
  void Finish() override { finishing_ = true; }
  bool Settled() const override;
  std::string Unsettled() const override;
  void CheckAtEnd() override {}

 private:
  void Begin(size_t client);
  void Act(Talk& talk, Talk::Side side);

  World& world_;
  StreamKind kind_;
  std::vector<std::unique_ptr<Talk>> talks_;  // all there have been: outlive what tells them of their ends
  std::unique_ptr<Peers> peers_;
  Talk::Manner manner_;
  uint64_t begun_ = 0;
  bool finishing_ = false;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_STREAM_SCENARIO_H_
