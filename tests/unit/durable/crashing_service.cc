#include "tests/unit/durable/crashing_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {
namespace {

constexpr size_t kClients = 3;
constexpr uint8_t kLives = 80;  // of a client

}  // namespace

CrashingService::CrashingService(uint64_t seed)
    : random_(seed),
      medium_(std::make_shared<sim::SimulatedMedium>(kRingOffset + 4096 * (1 + seed % 2),
                                                     seed % 4 < 2 ? sim::Granule::kWord : sim::Granule::kSector, seed)),
      clients_(kClients),
      folded_(kClients) {
  // Often there is one too many, for whom another must go.
  options_.clients = kClients - (seed + seed / 10) % 2;
  options_.now = [this] { return now_; };
  options_.outcome_room = 40;
  options_.kept_outcomes = 1 + seed % 20;
  options_.overlap = seed % 3 == 0;
  options_.hold_outcomes = seed % 5 == 0;
}

void CrashingService::Live(int operations) {
  if (!Open()) return;
  for (int i = 0; i < operations && ledger_->health().ok() && !testing::Test::HasFailure(); ++i) DoSomething();
  if (!medium_->crashed()) ledger_->Flush();
  ledger_.reset();
}

void CrashingService::LiveToTheEnd() {
  ASSERT_TRUE(Open());
  for (int i = 0; i < 10; ++i) {
    while (!testing::Test::HasFailure() && !(Execute(), running_.empty())) {
      while (FinishOne()) ledger_->Flush();
    }
  }
  ASSERT_TRUE(ledger_->Persist().ok());
  for (size_t number = 0; number < kClients; ++number) {
    if (IsForgotten(number)) continue;
    const Ledger::Standing standing = ledger_->Known(IdOf(number));
    EXPECT_EQ(standing.mark, standing.persisted) << "something was never executed";
    EXPECT_GE(standing.mark, clients_[number].persisted) << "something was lost";
  }
  ledger_.reset();
  medium_->LosePower();
  if (Open()) ledger_.reset();
}

void CrashingService::Lose() {
  if (Draw(4) == 0) {
    medium_->LoseProcess();
  } else {
    medium_->LosePower();
  }
}

bool CrashingService::Open() {
  ++life_;
  running_.clear();
  absl::StatusOr<std::unique_ptr<Ledger>> ledger = Ledger::Open(medium_->Open(), options_);
  if (!ledger.ok()) {
    EXPECT_TRUE(medium_->crashed()) << ledger.status();
    return false;
  }
  ledger_ = *std::move(ledger);
  for (size_t number = 0; number < kClients; ++number) {
    CheckStanding(number);
    CheckOutcomes(number);
  }
  if (options_.hold_outcomes) CheckFold();
  return true;
}

ClientId CrashingService::IdOf(size_t number) const {
  return ClientNumber(static_cast<uint8_t>(number * kLives + clients_[number].life));
}

bool CrashingService::IsForgotten(size_t number) {
  ClientView& view = clients_[number];
  if (view.persisted == 0 || ledger_->Known(IdOf(number)).persisted > 0) return false;
  ++forgotten_;
  EXPECT_EQ(options_.clients, kClients - 1) << "there was place for all";
  EXPECT_EQ(view.told.size(), view.persisted) << "a client was forgotten that waited for something";
  view = {.life = static_cast<uint8_t>((view.life + 1) % kLives),
          .before = view.before + view.told.size(),
          .told = {},
          .tried = {}};
  return true;
}

void CrashingService::CheckStanding(size_t number) {
  IsForgotten(number);
  ClientView& view = clients_[number];
  const Ledger::Standing standing = ledger_->Known(IdOf(number));
  EXPECT_GE(standing.persisted, view.persisted) << "an acknowledged request is lost";
  EXPECT_LE(standing.persisted, view.sent) << "a request that nobody sent";
  EXPECT_GE(standing.mark, view.mark) << "a mark went back";
  EXPECT_LE(standing.mark, standing.persisted);
  for (const auto& [sequence, outcome] : view.told) {
    EXPECT_TRUE(sequence <= standing.mark ||
                std::find(standing.finished.begin(), standing.finished.end(), sequence) != standing.finished.end())
        << "sequence " << sequence << " was finished";
  }
  // From now on it relies on what it was shown.
  const auto finished = [&](uint64_t sequence) {
    view.told.try_emplace(sequence, view.tried[sequence].size() == 1 ? *view.tried[sequence].begin() : "");
  };
  for (uint64_t sequence = view.mark + 1; sequence <= standing.mark; ++sequence) finished(sequence);
  for (const uint64_t sequence : standing.finished) finished(sequence);
  view.persisted = standing.persisted;
  view.mark = standing.mark;
  view.next = standing.persisted + 1;
  view.taken = 0;
}

void CrashingService::CheckOutcomes(size_t number) {
  ClientView& view = clients_[number];
  for (const auto& [sequence, told] : view.told) {
    const absl::StatusOr<std::string> outcome = ledger_->Outcome(IdOf(number), sequence);
    if (outcome.ok()) {
      EXPECT_EQ(view.tried[sequence].count(*outcome), 1u) << "an outcome from nowhere";
      if (!told.empty()) {
        EXPECT_EQ(*outcome, told);
      }
    } else {
      EXPECT_EQ(outcome.status().code(), absl::StatusCode::kNotFound) << outcome.status();
    }
  }
}

// A service that was made of its outcomes is what it was: each counts once.
void CrashingService::CheckFold() {
  std::vector<uint64_t> counts = folded_;
  uint64_t last = folded_to_;
  EXPECT_TRUE(ledger_
                  ->ForEachOutcome(folded_to_,
                                   [&](const Ledger::Held& held) {
                                     EXPECT_GT(held.position, last);
                                     last = held.position;
                                     ++counts[held.client[0] / kLives];
                                   })
                  .ok());
  for (size_t number = 0; number < kClients; ++number) {
    EXPECT_EQ(counts[number], clients_[number].before + clients_[number].told.size())
        << "outcomes of client " << number;
  }
  if (Draw(2) == 0) return;
  folded_ = counts;
  folded_to_ = last;
  ledger_->Checkpoint(last);
}

void CrashingService::DoSomething() {
  const size_t number = Draw(kClients);
  switch (Draw(13)) {
    case 0:
      SendAgain(number);
      break;
    case 1:
      Acknowledge(number);
      break;
    case 2:
    case 3:
      ledger_->Flush();
      break;
    case 4:
    case 5:
    case 6:
      FinishOne();
      break;
    case 7:
    case 8:
      Execute();
      break;
    case 9:
      if (options_.hold_outcomes) CheckFold();
      break;
    case 10:
      if (Draw(4) == 0) now_ += options_.client_expiry;
      break;
    default:
      Send(number);
      break;
  }
}

std::string CrashingService::RequestOf(size_t number, uint64_t sequence) const {
  return absl::StrCat("request ", sequence, " of ", number, " ", PayloadOf(sequence, 150));
}

void CrashingService::Send(size_t number) {
  IsForgotten(number);
  ClientView& view = clients_[number];
  const uint64_t sequence = view.next;
  const absl::Status status =
      ledger_->Accept(IdOf(number), sequence, RequestOf(number, sequence), [&view, sequence](const auto& accepted) {
        if (!accepted.ok()) return;
        EXPECT_FALSE(accepted->duplicate);
        view.persisted = std::max(view.persisted, sequence);
      });
  // Of one that was refused because the storage failed, nobody knows.
  if (status.ok() || absl::IsUnavailable(status)) view.sent = std::max(view.sent, sequence);
  if (status.ok()) ++view.next;
  EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status) || medium_->crashed()) << status;
  if (absl::IsResourceExhausted(status)) ledger_->Flush();
}

void CrashingService::SendAgain(size_t number) {
  ClientView& view = clients_[number];
  if (IsForgotten(number) || view.next == 1) return;
  const uint64_t sequence = 1 + Draw(view.next - 1);
  const bool finished = view.told.count(sequence) > 0;
  const absl::Status status = ledger_->Accept(IdOf(number), sequence, "a duplicate", [finished](const auto& accepted) {
    if (!accepted.ok()) return;
    EXPECT_TRUE(accepted->duplicate);
    EXPECT_TRUE(accepted->finished || !finished);
  });
  EXPECT_TRUE(status.ok()) << status;
}

void CrashingService::Execute() {
  const absl::StatusOr<std::optional<Ledger::Request>> request = ledger_->Take();
  ASSERT_TRUE(request.ok()) << request.status();
  if (!request->has_value()) return;
  const size_t number = (*request)->client[0] / kLives;
  const uint64_t sequence = (*request)->sequence;
  ASSERT_LT(number, kClients);
  ASSERT_EQ((*request)->client, IdOf(number));
  ClientView& view = clients_[number];
  EXPECT_EQ((*request)->bytes, RequestOf(number, sequence));
  EXPECT_EQ(view.told.count(sequence), 0u) << "sequence " << sequence << " is executed twice";
  EXPECT_LE(sequence, view.persisted) << "it is not safe yet";
  EXPECT_GT(sequence, view.taken) << "out of order";
  for (uint64_t before = view.taken + 1; before < sequence; ++before) {
    EXPECT_EQ(view.told.count(before), 1u) << "sequence " << before << " was passed over by " << sequence;
  }
  view.taken = sequence;
  running_.emplace_back(number, sequence);
}

bool CrashingService::FinishOne() {
  if (running_.empty()) return false;
  const size_t which = Draw(running_.size());
  const auto [number, sequence] = running_[which];
  running_.erase(running_.begin() + static_cast<ptrdiff_t>(which));
  Finish(number, sequence);
  return true;
}

void CrashingService::Finish(size_t number, uint64_t sequence) {
  ClientView& view = clients_[number];
  const std::string outcome = absl::StrCat("outcome ", sequence, " of life ", life_);
  view.tried[sequence].insert(outcome);
  const absl::Status status =
      ledger_->Finish(IdOf(number), sequence, outcome, [this, &view, sequence, outcome](const absl::Status& finished) {
        if (!finished.ok()) return;
        ++executed_;
        view.told[sequence] = outcome;
      });
  EXPECT_TRUE(status.ok() || medium_->crashed()) << "there was to be room: " << status;
}

void CrashingService::Acknowledge(size_t number) {
  ClientView& view = clients_[number];
  if (view.told.empty()) return;
  uint64_t up_to = view.acknowledged;
  while (view.told.count(up_to + 1) > 0) ++up_to;
  view.acknowledged = up_to;
  ledger_->Acknowledge(IdOf(number), up_to);
}

}  // namespace skein::durable
