#include "core/durable/replicas/journal.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/durable/replicas/changes.h"
#include "core/trace/counters.h"

namespace skein::durable {

Journal::Journal(const JournalOptions& options) : options_(options), replicas_(options.replicas.size()) {
  for (Replica& replica : replicas_) replica.why = absl::UnavailableError("was not reached yet");
  trace::Change(trace::Counter::kReplicas, static_cast<int64_t>(replicas_.size()));
}

Journal::~Journal() {
  const MutexLock lock(&mu_);
  for (Replica& replica : replicas_) SetHas(replica, std::nullopt);
  trace::Change(trace::Counter::kReplicas, -static_cast<int64_t>(replicas_.size()));
}

void Journal::SetHas(Replica& replica, std::optional<uint64_t> has) {
  trace::Change(trace::Counter::kReplicasFollowing, int64_t{has.has_value()} - int64_t{replica.has.has_value()});
  replica.has = has;
}

void Journal::Write(uint64_t offset, absl::Span<const absl::string_view> pieces) {
  const MutexLock lock(&mu_);
  AppendBytes(open_, offset, pieces);
}

uint64_t Journal::Seal() {
  const MutexLock lock(&mu_);
  if (open_.empty()) return sealed_;
  AppendChange(open_, ChangeKind::kBatch, ++sealed_);
  bytes_ += open_.size();
  batches_.push_back({sealed_, std::exchange(open_, {})});
  while (bytes_ > options_.kept_bytes && batches_.size() > 1) {
    bytes_ -= batches_.front().bytes.size();
    batches_.pop_front();
  }
  return sealed_;
}

std::optional<uint64_t> Journal::Safe() const {
  if (options_.acknowledge <= 1) return sealed_;
  absl::InlinedVector<std::optional<uint64_t>, 8> have;  // each acknowledgement asks
  for (const Replica& replica : replicas_) have.push_back(replica.has);
  const size_t others = options_.acknowledge - 1;
  if (others > have.size()) return std::nullopt;
  std::nth_element(have.begin(), have.begin() + static_cast<ptrdiff_t>(others) - 1, have.end(), std::greater<>());
  return have[others - 1];
}

absl::Status Journal::Await(uint64_t number) {
  Deadline deadline = skein::After(options_.patience);
  const MutexLock lock(&mu_);
  Lockable lockable{mu_};
  while (end_.ok() && Safe() < number) {
    if (options_.move != nullptr) {
      mu_.Unlock();
      const bool moved = options_.move();
      mu_.Lock();
      if (!moved && end_.ok() && Safe() < number) return TooFew(number);
    } else if (deadline == Deadline::max()) {
      changed_.wait(lockable);
    } else if (changed_.wait_until(lockable, deadline) == std::cv_status::timeout && Safe() < number) {
      if (patient_until_ <= deadline) return TooFew(number);
      deadline = patient_until_;
    }
  }
  return end_;
}

absl::Status Journal::TooFew(uint64_t number) const {
  std::string lacking;
  size_t have = 1;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    const Replica& replica = replicas_[i];
    if (replica.has.has_value() && *replica.has >= number) {
      ++have;
      continue;
    }
    absl::StrAppend(&lacking, lacking.empty() ? "" : "; ", options_.replicas[i], ": ",
                    replica.has.has_value() ? "does not answer" : replica.why.message());
  }
  return absl::UnavailableError(absl::StrCat("only ", have, " of ", replicas_.size() + 1, " logs have it, and ",
                                             options_.acknowledge, " must; start the replicas that are missing (",
                                             lacking, ")"));
}

std::optional<Journal::Batches> Journal::After(uint64_t number, uint64_t most) const {
  const MutexLock lock(&mu_);
  Batches out{.bytes = {}, .last = number};
  if (number >= sealed_) return out;
  if (batches_.front().number > number + 1) return std::nullopt;
  for (size_t i = number + 1 - batches_.front().number; i < batches_.size(); ++i) {
    const Batch& batch = batches_[i];
    if (!out.bytes.empty() && out.bytes.size() + batch.bytes.size() > most) break;
    out.bytes += batch.bytes;
    out.last = batch.number;
  }
  return out;
}

uint64_t Journal::sealed() const {
  const MutexLock lock(&mu_);
  return sealed_;
}

void Journal::Have(size_t replica, uint64_t number) {
  {
    const MutexLock lock(&mu_);
    const std::optional<uint64_t> before = Safe();
    SetHas(replicas_[replica], number);
    if (Safe() == before) return;  // other logs are waited for: nobody is woken in vain
  }
  changed_.notify_all();
}

void Journal::Copying(size_t replica, uint64_t bytes, uint64_t of) {
  constexpr int kMebibyte = 20;  // as a shift
  const MutexLock lock(&mu_);
  SetHas(replicas_[replica], std::nullopt);
  replicas_[replica].why = absl::UnavailableError(
      absl::StrCat("is being sent a copy, ", bytes >> kMebibyte, " of ", of >> kMebibyte, " MiB"));
  patient_until_ = skein::After(options_.patience);
}

void Journal::Lack(size_t replica, const absl::Status& why) {
  const MutexLock lock(&mu_);
  SetHas(replicas_[replica], std::nullopt);
  replicas_[replica].why = why;
}

void Journal::End(const absl::Status& why) {
  {
    const MutexLock lock(&mu_);
    if (!end_.ok()) return;
    end_ = why;
  }
  changed_.notify_all();
}

bool Journal::ended() const {
  const MutexLock lock(&mu_);
  return !end_.ok();
}

}  // namespace skein::durable
