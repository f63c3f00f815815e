#include "core/connect/link_pool.h"

#include <utility>

namespace skein::connect {
namespace {

// All bytes of the address: those behind it are zero.
std::string PeerOf(const Route& route) {
  return std::string(reinterpret_cast<const char*>(&route.peer), sizeof(route.peer));
}

}  // namespace

LinkPool::Introduction LinkPool::AttemptBegins(const Route& route) {
  MutexLock lock(&mu_);
  ++attempts_;
  ForgetLost();
  const Peer& peer = PeerAt(PeerOf(route));
  return {peer.name, leaving_ > 0 || peer.unaware};
}

void LinkPool::AttemptEnds() {
  {
    MutexLock lock(&mu_);
    --attempts_;
  }
  LeaveIdle();
}

absl::Status LinkPool::Add(const wire::Yes& yes, const Route& route, bool asked,
                           const std::shared_ptr<link::Link>& link) {
  const Place place{PeerOf(route), yes.process, yes.link};
  MutexLock lock(&mu_);
  ForgetLost();
  if (links_.contains(place)) {
    return FallbackError(FallbackCode::kProtocol, "a new link by the name of one that there is");
  }
  CloseUnused(place.peer);
  if (asked) {
    PeerAt(place.peer).unaware = false;
    for (auto& [at, older] : links_) {
      if (at.peer == place.peer && at.process == place.process && at < place) older.may_be_named = false;
    }
  }
  links_[place] = {link, !link->transport().traits().announces_close};
  return absl::OkStatus();
}

void LinkPool::CloseUnused(const std::string& peer) {
  std::vector<std::shared_ptr<link::Link>> unused;
  for (const auto& [place, pooled] : links_) {
    std::shared_ptr<link::Link> link = place.peer == peer ? pooled.link.lock() : nullptr;
    if (link != nullptr && link->ports().unused()) unused.push_back(std::move(link));
  }
  for (size_t i = 0; i + kMostUnused < unused.size(); ++i) {
    if (unused[i]->ports().CloseIfUnused()) unused[i]->Close();
  }
}

void LinkPool::NamedInVain(const Route& route) {
  MutexLock lock(&mu_);
  PeerAt(PeerOf(route)).unaware = true;
}

std::shared_ptr<link::Link> LinkPool::Find(const wire::Yes& yes, const Route& route) {
  MutexLock lock(&mu_);
  const auto found = links_.find({PeerOf(route), yes.process, yes.link});
  return found == links_.end() || found->second.left ? nullptr : found->second.link.lock();
}

void LinkPool::LeaveIdle() {
  const std::vector<std::shared_ptr<link::Link>> idle = TakeIdle();
  if (idle.empty()) return;
  for (const std::shared_ptr<link::Link>& link : idle) link->Leave();
  MutexLock lock(&mu_);
  leaving_ -= idle.size();
}

std::vector<std::shared_ptr<link::Link>> LinkPool::TakeIdle() {
  std::vector<std::shared_ptr<link::Link>> idle;
  MutexLock lock(&mu_);
  if (attempts_ > 0) return idle;
  ForgetLost();
  for (auto& [place, pooled] : links_) {
    std::shared_ptr<link::Link> link = pooled.link.lock();
    if (link == nullptr || pooled.left) continue;
    if (!link->ports().unused() || !link->flushing().Flushed()) {
      // Its last words may find no space any more because the peer is gone.
      if (link->ports().unused()) link->StillConnected();
      continue;
    }
    if (std::exchange(pooled.may_be_named, false)) PeerAt(place.peer).unaware = true;
    pooled.left = true;
    idle.push_back(std::move(link));
  }
  leaving_ += idle.size();
  return idle;
}

void LinkPool::ForgetLost() {
  absl::erase_if(links_, [&](const auto& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const std::shared_ptr<link::Link> link = entry.second.link.lock();
    if (link != nullptr && !link->finished()) return false;
    if (entry.second.may_be_named) PeerAt(entry.first.peer).unaware = true;
    return true;
  });
}

LinkPool::Peer& LinkPool::PeerAt(const std::string& address) {
  if (peers_.size() == kMostPeers && !peers_.contains(address)) peers_.erase(peers_.begin());
  return peers_[address];
}

}  // namespace skein::connect
