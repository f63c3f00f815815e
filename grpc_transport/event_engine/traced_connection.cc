#include "grpc_transport/event_engine/traced_connection.h"

#include <atomic>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/forked.h"
#include "core/wire/message.h"

namespace skein::grpc_transport {
namespace {

constexpr uint64_t kAWhile = 60'000'000'000;

// Lock: mu, a leaf. A forked child leaves it alone: a thread of the parent may have held it.
struct All {
  Mutex mu;
  absl::flat_hash_map<std::string, std::vector<std::weak_ptr<TracedConnection>>> by_key ABSL_GUARDED_BY(mu);

  static All& Get() {
    static auto* const all = new All;
    return *all;
  }
};

std::string KeyOf(Path::Role role, const std::string& peer) {
  return absl::StrCat(role == Path::Role::kClient ? "client " : "server ", peer);
}

// When the last traced message of a client came; 0: never. Relaxed: a hint, by which servers look at calls at all.
std::atomic<uint64_t> client_traced{0};

// Of who sends something on this thread, until the thread's next write.
thread_local std::shared_ptr<std::atomic<const TracedConnection*>> awaits_write;

}  // namespace

TracedConnection::NextWrite::NextWrite() : by_(std::make_shared<std::atomic<const TracedConnection*>>(nullptr)) {
  awaits_write = by_;
}

bool TracedConnection::NextWrite::WasOf(const TracedConnection& connection) const {
  return by_->load(std::memory_order_relaxed) == &connection;
}

std::shared_ptr<TracedConnection> TracedConnection::New(Path::Role role, const std::string& peer, trace::Path path,
                                                        uint8_t features) {
  auto connection = std::make_shared<TracedConnection>(role, path, features);
  if (InForkedChild()) return connection;
  connection->key_ = KeyOf(role, peer);
  All& all = All::Get();
  MutexLock lock(&all.mu);
  all.by_key[connection->key_].push_back(connection);
  return connection;
}

TracedConnection::~TracedConnection() {
  if (key_.empty() || InForkedChild()) return;
  All& all = All::Get();
  MutexLock lock(&all.mu);
  const auto found = all.by_key.find(key_);
  std::erase_if(found->second, [](const auto& weak) { return weak.expired(); });
  if (found->second.empty()) all.by_key.erase(found);
}

std::vector<std::shared_ptr<TracedConnection>> TracedConnection::Find(Path::Role role, const std::string& peer) {
  std::vector<std::shared_ptr<TracedConnection>> connections;
  if (InForkedChild()) return connections;
  All& all = All::Get();
  MutexLock lock(&all.mu);
  const auto found = all.by_key.find(KeyOf(role, peer));
  if (found == all.by_key.end()) return connections;
  for (const auto& weak : found->second) {
    if (auto connection = weak.lock()) connections.push_back(std::move(connection));
  }
  return connections;
}

bool TracedConnection::ClientsTrace() {
  const uint64_t last = client_traced.load(std::memory_order_relaxed);
  return last != 0 && trace::Now() - last < kAWhile;
}

void TracedConnection::Read(const link::Arrival& arrival) {
  const uint64_t now = trace::Now();
  Came(arrival, now);
  if (role_ == Path::Role::kServer && wire::SenderTraces(arrival.posted)) {
    client_traced.store(now, std::memory_order_relaxed);
  }
  if (role_ != Path::Role::kClient || !trace::Enabled()) return;
  MutexLock lock(&mu_);
  arrivals_.Add(arrival);
}

void TracedConnection::Wrote(const SentTimes& sent) {
  if (awaits_write != nullptr) std::exchange(awaits_write, nullptr)->store(this, std::memory_order_relaxed);
  MutexLock lock(&mu_);
  writes_.Add(sent);
}

SentTimes TracedConnection::WrittenSince(uint64_t time) const {
  MutexLock lock(&mu_);
  if (!writes_.whole() && writes_.oldest()->queued > time) return {};  // it may be forgotten
  return writes_.First([time](const SentTimes& sent) { return sent.queued >= time; });
}

link::Arrival TracedConnection::CameSince(uint64_t peer_time) const {
  {
    MutexLock lock(&mu_);
    const bool known = peer_time != 0 && (arrivals_.whole() || arrivals_.oldest()->posted <= peer_time);
    const auto later = [peer_time](const link::Arrival& arrival) { return arrival.posted >= peer_time; };
    if (const link::Arrival first = arrivals_.First(later); known && first.arrived != 0) return first;
  }
  return arrival();
}

}  // namespace skein::grpc_transport
