// A ledger on a simulated medium, and calls that wait for it.
#ifndef SKEIN_TESTS_UNIT_DURABLE_LEDGER_FIXTURE_H_
#define SKEIN_TESTS_UNIT_DURABLE_LEDGER_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>

#include "core/durable/ledger/ledger.h"
#include "core/durable/sim/faulty_storage.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {

inline const ClientId kAnn = ClientNumber(1);
inline const ClientId kBob = ClientNumber(2);

class LedgerTest : public testing::Test {
 protected:
  static LedgerOptions Small() {
    LedgerOptions options;
    options.clients = 4;
    options.outcome_room = 32;
    return options;
  }

  void Open(uint64_t ring = 8192) {
    ledger_.reset();
    if (medium_ == nullptr) {
      medium_ = std::make_shared<sim::SimulatedMedium>(kRingOffset + ring, sim::Granule::kSector, 1);
    }
    auto faulty = std::make_unique<sim::FaultyStorage>(medium_, faults_);
    options_.now = [this] { return now_; };
    absl::StatusOr<std::unique_ptr<Ledger>> ledger = Ledger::Open(std::move(faulty), options_);
    ASSERT_TRUE(ledger.ok()) << ledger.status();
    ledger_ = *std::move(ledger);
  }
  void Crash() {
    medium_->LosePower();
    Open();
  }

  // Until it is safe.
  absl::StatusOr<Acceptance> Accept(const ClientId& client, uint64_t sequence, const std::string& request) {
    absl::StatusOr<Acceptance> result = absl::UnknownError("not told");
    absl::Status status =
        ledger_->Accept(client, sequence, request, [&result](const auto& acceptance) { result = acceptance; });
    if (!status.ok()) return status;
    ledger_->Flush();
    return result;
  }
  absl::Status Finish(const ClientId& client, uint64_t sequence, const std::string& outcome) {
    absl::Status result = absl::UnknownError("not told");
    absl::Status status =
        ledger_->Finish(client, sequence, outcome, [&result](const absl::Status& told) { result = told; });
    if (!status.ok()) return status;
    ledger_->Flush();
    return result;
  }
  std::string Take() {
    const absl::StatusOr<std::optional<Ledger::Request>> request = ledger_->Take();
    EXPECT_TRUE(request.ok()) << request.status();
    return request->has_value() ? (*request)->bytes : "nothing";
  }
  void Execute(const ClientId& client, uint64_t sequence) {
    if (HasFatalFailure()) return;
    const absl::StatusOr<Acceptance> accepted = Accept(client, sequence, "request");
    ASSERT_TRUE(accepted.ok()) << accepted.status() << " sequence " << sequence << " used " << ledger_->load().log_used;
    ASSERT_EQ(Take(), "request");
    ASSERT_TRUE(Finish(client, sequence, "outcome").ok());
  }

  LedgerOptions options_ = Small();
  absl::Time now_ = absl::UnixEpoch();
  std::shared_ptr<sim::SimulatedMedium> medium_;
  const std::shared_ptr<sim::Faults> faults_ = std::make_shared<sim::Faults>();
  std::unique_ptr<Ledger> ledger_;
};

}  // namespace skein::durable

#endif  // SKEIN_TESTS_UNIT_DURABLE_LEDGER_FIXTURE_H_
