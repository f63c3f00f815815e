// Requests that a peer writes into a receiver's log from afar, in every mode; power is lost, connections break.
#ifndef SKEIN_TESTS_CHAOS_FLUSH_SCENARIO_H_
#define SKEIN_TESTS_CHAOS_FLUSH_SCENARIO_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "core/durable/flush/flush_receiver.h"
#include "core/durable/flush/flush_sender.h"
#include "tests/sim/link_device.h"
#include "tests/sim/scenario.h"
#include "tests/unit/durable/crashing_memory.h"

namespace skein::chaos {

// Process 0 receives, process 1 sends.
class FlushScenario final : public Scenario {
 public:
  static constexpr WorldShape kShape = {.processes = 2, .rings = false};
  explicit FlushScenario(World& world);
  ~FlushScenario() override;

  void Step() override;
  void OnExit(size_t /*process*/) override {}
  void OnDeath(size_t process) override;
  void OnStart(size_t /*process*/) override {}
  void OnClose(const Fault& fault) override;
  void Finish() override { finishing_ = true; }
  bool Settled() const override;
  std::string Unsettled() const override;
  void CheckAtEnd() override {}

 private:
  bool Open();
  void Connect();
  bool Introduce();
  void CheckStanding();
  void Disconnect();
  void ActSender();
  void ActReceiver();
  void PollReceiver();
  void Send();
  void FinishOne();
  void Take(const durable::FlushEntry& entry);
  // What this connection has lived through.
  bool Broken() const;
  bool Excused() const;

  World& world_;
  const durable::FlushMode mode_;
  const bool mapped_;
  const std::shared_ptr<durable::CrashingMemory> memory_;
  std::array<std::unique_ptr<LinkDevice>, 2> devices_;  // of the connection, by process
  std::unique_ptr<durable::FlushReceiver> receiver_;
  std::unique_ptr<durable::FlushSender> sender_;
  uint64_t connections_ = 0;
  bool finishing_ = false;
  // What senders know, whichever lives: what they sent, what was answered, and what they were told to be safe.
  absl::btree_map<uint64_t, std::string> sent_;
  absl::btree_set<uint64_t> replied_;
  uint64_t highest_ = 0;
  uint64_t acknowledged_ = 0;
  // Of this opening of the log; and of all.
  absl::btree_set<uint64_t> handed_over_;
  uint64_t last_handed_ = 0;
  absl::btree_set<uint64_t> finished_;
  absl::btree_set<uint64_t> finished_before_;  // this connection
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_FLUSH_SCENARIO_H_
