// Power is cut of each role at every step of many scripts: of the primary, of its replicas. Then a replica is promoted,
// or the primary comes back; nothing that was acknowledged is lost, and nothing finished is executed again.
#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/durable/ledger/ledger.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/logged.h"
#include "tests/unit/durable/replica_hosts.h"

namespace skein::durable {
namespace {

constexpr uint64_t kLogBytes = kRingOffset + 8192;
constexpr int kOperations = 40;

// A service whose log has two replicas, and its one client. Everything from one seed.
class ReplicatedService {
 public:
  ReplicatedService(uint64_t seed, uint32_t acknowledge) : random_(seed), hosts_(3, acknowledge, kLogBytes, seed) {
    options_.clients = 2;
    options_.outcome_room = 32;
    options_.now = [] { return absl::UnixEpoch(); };
    hosts_.kept_bytes = Draw(2) == 0 ? 600 : 1 << 20;  // with little kept, whoever was away gets a copy
  }
  ~ReplicatedService() { StopPrimary(); }

  ReplicaHosts& hosts() { return hosts_; }
  uint64_t cuts() const { return cuts_; }

  // The first life: host 0 is the primary, until it is cut off, or has done enough.
  void Live() {
    for (const size_t replica : {1, 2}) ExpectStarts(replica);
    if (StartPrimary(0)) Work(kOperations);
  }

  // Host 0 is back, or does not come back, and a replica is promoted. Then all work is done.
  void GoOn() {
    StopPrimary();
    bool promoted = false;
    if (Draw(4) != 0) promoted = PromoteSomebody();
    if (!promoted) {
      for (const size_t host : {0, 1, 2}) Lose(host);
      for (const size_t replica : {1, 2}) ExpectStarts(replica);
      primary_ = 0;
    }
    ASSERT_TRUE(StartPrimary(primary_)) << opening_;
    Work(kOperations / 2);
    while (Execute()) {
    }
    EXPECT_EQ(finished_.size(), acked_) << "not everything acknowledged was executed";
    StopPrimary();
  }

 private:
  const ClientId kClient = ClientNumber(1);

  uint64_t Draw(uint64_t below) { return random_() % below; }

  void Lose(size_t host) {
    if (hosts_.host(host).crashed()) ++cuts_;
    hosts_.StopReplica(host);
    hosts_.host(host).LosePower();
  }
  void ExpectStarts(size_t replica) {
    const absl::Status started = hosts_.StartReplica(replica);
    EXPECT_TRUE(started.ok()) << "replica " << replica << ": " << started;
  }
  // While the primary waits and nothing moves: replicas that are away or were cut off come back.
  bool Revive() {
    bool any = !away_.empty();
    for (const size_t host : std::exchange(away_, {})) hosts_.ConnectHost(host);
    for (size_t host = 0; host < 3; ++host) {
      if (host == primary_ || !hosts_.host(host).crashed()) continue;
      Lose(host);
      ExpectStarts(host);
      hosts_.ConnectHost(host);
      any = true;
    }
    return any;
  }

  bool StartPrimary(size_t host) {
    primary_ = host;
    auto storage = hosts_.StartPrimary(host, [this] { return Revive(); });
    opening_ = storage.status();
    if (!storage.ok()) return false;
    auto ledger = Ledger::Open(*std::move(storage), options_);
    opening_ = ledger.status();
    if (!ledger.ok()) {
      hosts_.StopPrimary();
      return false;
    }
    ledger_ = *std::move(ledger);
    CheckWhatIsKnown();
    return true;
  }
  void StopPrimary() {
    hosts_.StopPrimary();
    ledger_.reset();
  }

  void CheckWhatIsKnown() {
    const Ledger::Standing known = ledger_->Known(kClient);
    EXPECT_GE(known.persisted, acked_) << "acknowledged calls are lost";
    EXPECT_LE(known.persisted, sent_);
    const std::set<uint64_t> beyond(known.finished.begin(), known.finished.end());
    for (const uint64_t sequence : finished_) {
      EXPECT_TRUE(sequence <= known.mark || beyond.contains(sequence)) << "the outcome of " << sequence << " is lost";
    }
    // What was safe at the end without its client's knowing.
    acked_ = sent_ = known.persisted;
    for (uint64_t sequence = 1; sequence <= known.mark; ++sequence) finished_.insert(sequence);
    finished_.insert(beyond.begin(), beyond.end());
  }

  void Work(int operations) {
    for (int i = 0; i < operations && !hosts_.host(primary_).crashed(); ++i) {
      switch (Draw(8)) {
        case 0:
          Lapse();
          break;
        case 1:
        case 2:
        case 3:
          Execute();
          break;
        default:
          Call();
      }
    }
  }
  // A replica is away for a moment.
  void Lapse() {
    const size_t host = (primary_ + 1 + Draw(2)) % 3;
    if (hosts_.host(host).crashed()) return;
    hosts_.Disconnect(host);
    away_.insert(host);
    if (Draw(2) == 0) Call();
    for (const size_t each : std::exchange(away_, {})) hosts_.ConnectHost(each);
  }

  void Call() {
    const uint64_t sequence = acked_ + 1;
    sent_ = std::max(sent_, sequence);
    const absl::Status taken =
        ledger_->Accept(kClient, sequence, PayloadOf(sequence), [this, sequence](const auto& acceptance) {
          if (acceptance.ok()) acked_ = sequence;
        });
    if (taken.ok()) ledger_->Flush();
  }

  bool Execute() {
    const auto request = ledger_->Take();
    if (!request.ok() || !request->has_value()) return false;
    const uint64_t sequence = (*request)->sequence;
    EXPECT_FALSE(finished_.contains(sequence)) << sequence << " is executed again";
    EXPECT_EQ((*request)->bytes, PayloadOf(sequence));
    const absl::Status taken = ledger_->Finish(kClient, sequence, "outcome", [this, sequence](const auto& status) {
      if (status.ok()) finished_.insert(sequence);
    });
    if (taken.ok()) ledger_->Flush();
    return taken.ok();
  }

  bool PromoteSomebody();

  std::mt19937_64 random_;
  ReplicaHosts hosts_;
  LedgerOptions options_;
  std::unique_ptr<Ledger> ledger_;
  size_t primary_ = 0;
  absl::Status opening_;
  std::set<size_t> away_;  // replicas that run and are not connected
  uint64_t cuts_ = 0;
  // What the client knows.
  uint64_t sent_ = 0;
  uint64_t acked_ = 0;
  std::set<uint64_t> finished_;
};

// Host 0 is gone. With all logs to acknowledge, either replica will do, unseen; with two, the other is asked. False:
// neither has a log yet, so nothing was acknowledged.
bool ReplicatedService::PromoteSomebody() {
  Lose(0);
  size_t chosen = 1 + Draw(2);
  for (int attempt = 0; attempt < 2; ++attempt, chosen = 3 - chosen) {
    const size_t other = 3 - chosen;
    Lose(chosen);
    Lose(other);
    ExpectStarts(other);
    std::vector<size_t> asked;
    if (hosts_.acknowledge() < 3) asked.push_back(other);
    absl::StatusOr<Promotion> promotion = hosts_.PromoteHost(chosen, asked);
    // No disk is lost here: a replica without a log has never had one, and has acknowledged nothing.
    if (absl::StrContains(promotion.status().message(), "has no log")) {
      promotion = hosts_.PromoteHost(chosen, asked, /*accept_loss=*/true);
    }
    if (!promotion.ok()) {
      EXPECT_TRUE(absl::IsFailedPrecondition(promotion.status())) << promotion.status();
      continue;
    }
    primary_ = chosen;
    ExpectStarts(0);  // the former primary comes back as a replica
    return true;
  }
  EXPECT_EQ(acked_, 0u) << "neither replica can be promoted";
  return false;
}

// Cuts at all steps of one host in one script.
uint64_t CutAtEveryStep(uint64_t seed, uint32_t acknowledge, size_t role) {
  uint64_t cuts = 0;
  for (uint64_t step = 0; !testing::Test::HasFailure(); ++step) {
    uint64_t here = 0;
    for (const bool torn : {false, true}) {
      SCOPED_TRACE(
          absl::StrCat("seed ", seed, ", ", acknowledge, " logs, host ", role, ", step ", step, torn ? ", torn" : ""));
      ReplicatedService service(seed, acknowledge);
      service.hosts().host(role).CrashAt(step, torn);
      service.Live();
      service.GoOn();
      here += service.cuts();
    }
    if (here == 0) break;
    cuts += here;
  }
  return cuts;
}

struct CutCase {
  uint32_t acknowledge;  // of three logs
  size_t role;           // host 0 is the primary
};

class ReplicasCrashTest : public testing::TestWithParam<CutCase> {};

TEST_P(ReplicasCrashTest, NothingAcknowledgedIsLostAtWhicheverStepAHostIsCutOff) {
  uint64_t cuts = 0;
  constexpr uint64_t kSeeds = kFewer > 1 ? 1 : 14;
  for (uint64_t seed = 0; seed < kSeeds && !HasFailure(); ++seed) {
    cuts += CutAtEveryStep(seed, GetParam().acknowledge, GetParam().role);
  }
  RecordProperty("cuts", static_cast<int>(cuts));
  EXPECT_GE(cuts, 500u / kFewer);  // all six cases together: more than 10,000
}

INSTANTIATE_TEST_SUITE_P(Hosts, ReplicasCrashTest,
                         testing::Values(CutCase{2, 0}, CutCase{2, 1}, CutCase{2, 2}, CutCase{3, 0}, CutCase{3, 1},
                                         CutCase{3, 2}),
                         [](const auto& info) {
                           return absl::StrCat(info.param.acknowledge, "_logs_host_", info.param.role);
                         });

}  // namespace
}  // namespace skein::durable
