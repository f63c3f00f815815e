// The ledger's clients: a table of so many, from which those go that are not there and have been silent.
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/durable/ledger/kinds.h"
#include "core/durable/ledger/ledger.h"

namespace skein::durable {

void Ledger::Arrive(const ClientId& client) {
  const MutexLock lock(&mu_);
  ++there_[client];
}

void Ledger::Leave(const ClientId& client) {
  const MutexLock lock(&mu_);
  const auto found = there_.find(client);
  if (--found->second == 0) there_.erase(found);
  if (ClientRecord* const known = FindClient(clients_, client)) known->heard = options_.now();
}

bool Ledger::HasPlace() {
  const MutexLock lock(&mu_);
  return clients_.size() < options_.clients || LongestSilent() != clients_.end();
}

bool Ledger::MayForget(const ClientId& id, const ClientRecord& client) const {
  if (!client.Idle() || there_.contains(id)) return false;
  if (!options_.hold_outcomes) return true;
  return absl::c_none_of(client.requests, [this](const auto& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return outcomes_.IsHeld(*request.second.outcome);
  });
}

Clients::iterator Ledger::LongestSilent() {
  const absl::Time silent_since = options_.now() - options_.client_expiry;
  auto longest = clients_.end();
  for (auto client = clients_.begin(); client != clients_.end(); ++client) {
    const ClientRecord& record = *client->second;
    if (record.heard <= silent_since && (longest == clients_.end() || record.heard < longest->second->heard) &&
        MayForget(client->first, record)) {
      longest = client;
    }
  }
  return longest;
}

absl::Status Ledger::MakePlace() {
  outcomes_.LetGoOfTooMany();
  const auto longest = LongestSilent();
  if (longest != clients_.end()) return Forget(longest);
  return absl::ResourceExhaustedError(
      absl::StrCat("there are ", clients_.size(),
                   " clients, which is the most: let the server know more (`clients`), or wait until one has been "
                   "gone for ",
                   absl::FormatDuration(options_.client_expiry)));
}

// Its sequences may begin at 1 again, behind this entry. When that is safe, nothing before it counts; nor is it needed
// itself, since recovery does not read what it denies without it.
absl::Status Ledger::Forget(Clients::iterator client) {
  const absl::StatusOr<uint64_t> position =
      entries_.Append({.kind = kForget, .client = client->first, .payload = {}}, entries_.Reserved(),
                      [this](const absl::Status& status) { OnForgotten(status); });
  if (!position.ok()) return position.status();
  Forgetting gone{.needless = {*position}};
  if (client->second->mark_position) gone.needless.push_back(*client->second->mark_position);
  for (const auto& [sequence, record] : client->second->requests) gone.needless.push_back(*record.outcome);
  forgetting_.push_back(std::move(gone));
  clients_.erase(client);
  return absl::OkStatus();
}

void Ledger::OnForgotten(const absl::Status& status) {
  if (!status.ok()) return;
  const MutexLock lock(&mu_);
  const Forgetting gone = std::move(forgetting_.front());
  forgetting_.pop_front();
  for (std::optional<uint64_t> position : gone.needless) entries_.Release(position);
}

}  // namespace skein::durable
