#include "tests/sim/run.h"

#include "tests/sim/durable_scenario.h"
#include "tests/sim/flush_scenario.h"
#include "tests/sim/rpc_scenario.h"
#include "tests/sim/stream_scenario.h"

namespace skein::chaos {
namespace {

// While things break; and until all must have come to its end, when they do not any more.
constexpr absl::Duration kLength = absl::Milliseconds(2);
constexpr absl::Duration kPatience = absl::Milliseconds(60);

template <class S>
ScenarioKind KindOf(absl::string_view name) {
  return {name, S::kShape, [](World& world) { return std::make_unique<S>(world); }};
}

class SeededRun {
 public:
  SeededRun(const ScenarioKind& kind, uint64_t seed, Outcome& outcome)
      : outcome_(outcome), world_(seed, kind.shape, outcome.journal), scenario_(kind.make(world_)) {
    outcome_.plan = DrawPlan(world_.dice(), world_.processes(), kLength);
  }

  void Go() {
    while (world_.now() < kLength && !failed()) {
      ApplyDue();
      scenario_->Step();
      Advance(absl::Microseconds(3));
    }
    EndFaults();
    scenario_->Finish();
    const absl::Duration end = world_.now() + kPatience;
    while (!failed() && !scenario_->Settled()) {
      outcome_.journal.Check(world_.now() < end, "no progress: ", scenario_->Unsettled());
      scenario_->Step();
      Advance(absl::Microseconds(20));
    }
    if (!failed()) scenario_->CheckAtEnd();
    CloseAll();
  }

 private:
  bool failed() const { return outcome_.journal.failed(); }

  void Advance(absl::Duration most) {
    world_.simulation().RunFor(world_.dice().Between(absl::ZeroDuration(), most));
    outcome_.journal.See(static_cast<uint64_t>(absl::ToInt64Nanoseconds(world_.now())));
    outcome_.journal.See(world_.simulation().pending_events());
  }

  void ApplyDue() {
    for (; next_ < outcome_.plan.size() && outcome_.plan[next_].at <= world_.now(); ++next_) {
      Apply(outcome_.plan[next_]);
    }
    for (size_t process = 0; process < world_.processes(); ++process) {
      if (!world_.alive(process) && world_.now() >= back_at_) Start(process);
    }
  }

  void Apply(const Fault& fault) {
    if (!world_.alive(fault.process)) return;
    world_.Apply(fault);
    if (fault.kind == FaultKind::kClose) scenario_->OnClose(fault);
    if (fault.kind != FaultKind::kDeath) return;
    back_at_ = world_.now() + fault.lasts;
    if (fault.number % 2 == 0) {
      scenario_->OnExit(fault.process);
      world_.simulation().RunFor(world_.dice().Between(absl::ZeroDuration(), absl::Microseconds(5)));
    }
    world_.Kill(fault.process);
    scenario_->OnDeath(fault.process);
    world_.BecomeDead(fault.process);
  }

  void Start(size_t process) {
    world_.Start(process);
    scenario_->OnStart(process);
  }

  void EndFaults() {
    for (size_t process = 0; process < world_.processes(); ++process) {
      if (!world_.alive(process)) Start(process);
    }
    world_.Heal();
  }

  void CloseAll() {
    scenario_.reset();
    for (size_t process = 0; process < world_.processes(); ++process) world_.BecomeDead(process);
    world_.simulation().RunUntilIdle();
    if (!failed()) world_.CheckNothingIsLeft();
  }

  Outcome& outcome_;
  World world_;
  std::unique_ptr<Scenario> scenario_;
  size_t next_ = 0;         // fault of the plan
  absl::Duration back_at_;  // when the dead come back
};

}  // namespace

const std::vector<ScenarioKind>& Scenarios() {
  static const auto* const kinds =
      new std::vector<ScenarioKind>{KindOf<StreamScenario>("streams"), KindOf<RpcScenario>("rpc"),
                                    KindOf<DurableScenario>("durable"), KindOf<FlushScenario>("flush")};
  return *kinds;
}

Outcome Run(const ScenarioKind& kind, uint64_t seed) {
  Outcome outcome;
  SeededRun(kind, seed, outcome).Go();
  return outcome;
}

}  // namespace skein::chaos
