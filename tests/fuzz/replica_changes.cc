// A primary that says whatever it likes to a replica: the replica's log opens again, keeps what it has promised, and is
// either one to be promoted or says why not.
//
//   input = steps
#include <memory>
#include <string>
#include <vector>

#include "core/durable/log/layout.h"
#include "core/durable/log/log_header.h"
#include "core/durable/replicas/changes.h"
#include "core/durable/replicas/primary.h"
#include "core/durable/replicas/promotion.h"
#include "core/durable/replicas/replica_log.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/script.h"
#include "tests/unit/durable/simulated_host.h"

namespace skein::fuzz {
namespace {

using namespace durable;  // NOLINT(google-build-using-namespace): a file of its own

enum class Step : uint8_t {
  kChanges,  // piece: as they are
  kFollow,   // u8 term | u8 run
  kPromise,  // u8 term
  kBegin,    // u8 follow or copy | u64 number
  kWhole,    // the log, as a copy has it
  kReopen,
};
constexpr size_t kSteps = 6;
constexpr int kMostSteps = 60;
constexpr uint64_t kBytes = kSmallestLog;

const std::string& LogBytes() {
  static const auto* const bytes = [] {
    auto medium = std::make_shared<sim::SimulatedMedium>(kBytes, sim::Granule::kSector, 1);
    Require(MakeLog(*medium->Open(), LogId{1, 2, 3}).ok(), "a log is made");
    return new std::string(medium->bytes());
  }();
  return *bytes;
}

ReplicaRequest RequestOf(ReplicaVerb verb, uint8_t term, uint8_t run) {
  return {.verb = verb,
          .identity = {1, 2, 3},
          .bytes = kBytes,
          .term = {.number = term, .id = {}},
          .run = run,
          .logs = 2,
          .acknowledge = 2,
          .group = 0,
          .offer = {}};
}

std::string WholeCopy() {
  std::string changes;
  AppendChange(changes, ChangeKind::kCopy, 4);
  const absl::string_view bytes = LogBytes();
  AppendBytes(changes, 0, {&bytes, 1});
  AppendChange(changes, ChangeKind::kCopied, 4);
  return changes;
}

class Replica {
 public:
  Replica() : host_(1) { Reopen(); }
  ~Replica() {
    Reopen();
    log_.reset();
    const auto state = ReadReplica(*host_.OpenOrMake(kBytes));
    Require(state.ok() || !state.status().message().empty(), "a reason");
  }

  void Do(Step step, Script& script) {
    switch (step) {
      case Step::kChanges:
        log_->Apply(script.Piece()).IgnoreError();
        return;
      case Step::kFollow: {
        const auto term = script.Take<uint8_t>();
        return Ask(RequestOf(ReplicaVerb::kFollow, term, script.Take<uint8_t>() | 1));
      }
      case Step::kPromise:
        return Ask(RequestOf(ReplicaVerb::kPromise, script.Take<uint8_t>(), 0));
      case Step::kBegin: {
        std::string changes;
        const ChangeKind kind = script.Choice(2) == 0 ? ChangeKind::kFollow : ChangeKind::kCopy;
        AppendChange(changes, kind, script.Take<uint64_t>());
        log_->Apply(changes).IgnoreError();
        return;
      }
      case Step::kWhole:
        log_->Apply(WholeCopy()).IgnoreError();
        return;
      case Step::kReopen:
        return Reopen();
    }
  }

 private:
  void Ask(const ReplicaRequest& request) {
    const Term before = log_->standing().promised;
    const ReplicaAnswer answer = log_->Answer(request);
    Require(!answer.status.ok() || MayFollow(before, request.term), "a promise holds");
    Require(log_->standing().promised.number >= before.number, "a promise is not taken back");
  }
  void Reopen() {
    const Term before = log_ == nullptr ? Term() : log_->standing().promised;
    log_.reset();
    auto opened = ReplicaLog::Open(host_.place());
    // A primary may have written over the header of its own log; it may not make the replica forget its promise.
    if (!opened.ok()) {
      host_.Forget();
      opened = ReplicaLog::Open(host_.place());
    } else {
      Require((*opened)->standing().promised == before, "a promise outlives the process");
    }
    log_ = *std::move(opened);
  }

  SimulatedHost host_;
  std::unique_ptr<ReplicaLog> log_;
};

}  // namespace

std::vector<std::string> Seeds() {
  const std::string follow = Say(Step::kFollow, uint8_t{0}, uint8_t{1});
  std::string batch;
  const absl::string_view bytes = "an entry";
  AppendBytes(batch, kRingOffset, {&bytes, 1});
  AppendChange(batch, ChangeKind::kBatch, 5);
  std::string zeros;
  AppendZeros(zeros, 4096, 4096);
  AppendChange(zeros, ChangeKind::kBatch, 6);
  const std::string whole = follow + Say(Step::kWhole);
  return {
      whole + Say(Step::kChanges, Piece(batch)) + Say(Step::kChanges, Piece(zeros)),
      whole + Say(Step::kReopen) + follow + Say(Step::kBegin, uint8_t{0}, uint64_t{5}) + Say(Step::kWhole),
      whole + Say(Step::kPromise, uint8_t{3}) + follow + Say(Step::kFollow, uint8_t{3}, uint8_t{3}) +
          Say(Step::kBegin, uint8_t{1}, uint64_t{9}) + Say(Step::kReopen),
      whole + follow + Say(Step::kBegin, uint8_t{0}, uint64_t{4}) + Say(Step::kChanges, Piece(batch)),
  };
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  Script script(Text(data, size));
  Replica replica;
  for (int steps = 0; steps < kMostSteps && !script.done(); ++steps) {
    replica.Do(static_cast<Step>(script.Choice(kSteps)), script);
  }
  return 0;
}
