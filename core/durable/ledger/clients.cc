// The ledger's clients: a table of so many, from which those go that have been silent.
#include <algorithm>

#include "core/durable/ledger/kinds.h"
#include "core/durable/ledger/ledger.h"

namespace skein::durable {

absl::Status Ledger::MakePlace() {
  const absl::Time silent_since = options_.now() - options_.client_expiry;
  auto longest = clients_.end();
  for (auto client = clients_.begin(); client != clients_.end(); ++client) {
    const ClientRecord& record = *client->second;
    if (record.Idle() && record.heard <= silent_since &&
        (longest == clients_.end() || record.heard < longest->second->heard)) {
      longest = client;
    }
  }
  if (longest != clients_.end()) return Forget(longest);
  return absl::ResourceExhaustedError("there are too many clients; wait until some have been silent for long");
}

// Its sequences may begin at 1 again, behind this entry. When that is safe, nothing before it counts; nor is it needed
// itself, since recovery does not read what it denies without it.
absl::Status Ledger::Forget(Clients::iterator client) {
  const absl::StatusOr<uint64_t> position =
      Append({.kind = kForget, .client = client->first, .payload = {}}, Reserved(),
             [this](const absl::Status& status) { OnForgotten(status); });
  if (!position.ok()) return position.status();
  forgetting_.push_back({client->second->mark_position, *position});
  clients_.erase(client);
  return absl::OkStatus();
}

void Ledger::OnForgotten(const absl::Status& status) {
  if (!status.ok()) return;
  const MutexLock lock(&mu_);
  Forgetting done = forgetting_.front();
  forgetting_.pop_front();
  Release(done.mark);
  Release(done.forget);
}

}  // namespace skein::durable
