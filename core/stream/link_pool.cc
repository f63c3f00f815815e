#include "core/stream/link_pool.h"

namespace skein::stream {
namespace {

// All bytes of the address: those behind it are zero.
std::string PeerOf(const Route& route) {
  return std::string(reinterpret_cast<const char*>(&route.peer), sizeof(route.peer));
}

}  // namespace

bool LinkPool::AttemptBegins(const Route& route) {
  MutexLock lock(&mu_);
  ++attempts_;
  ForgetLost();
  return leaving_ > 0 || unaware_.contains(PeerOf(route));
}

void LinkPool::AttemptEnds() {
  {
    MutexLock lock(&mu_);
    --attempts_;
  }
  LeaveIdle();
}

void LinkPool::Add(const wire::Yes& yes, const Route& route, bool asked, const std::shared_ptr<link::Link>& link) {
  std::string peer = PeerOf(route);
  MutexLock lock(&mu_);
  if (asked) {
    unaware_.erase(peer);
    for (auto& [key, older] : links_) {
      if (key.first == yes.process && key.second < yes.link) older.may_be_named = false;
    }
  }
  links_[{yes.process, yes.link}] = {link, std::move(peer), !link->device()->capabilities().announces_close};
}

void LinkPool::NamedInVain(const Route& route) {
  MutexLock lock(&mu_);
  NoteUnaware(PeerOf(route));
}

std::shared_ptr<link::Link> LinkPool::Find(const wire::Yes& yes) {
  MutexLock lock(&mu_);
  const auto found = links_.find({yes.process, yes.link});
  return found == links_.end() ? nullptr : found->second.link.lock();
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
  absl::erase_if(links_, [&](const auto& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::shared_ptr<link::Link> link = entry.second.link.lock();
    if (link == nullptr) return false;
    if (!link->idle()) {
      // Its last words may find no room any more because the peer is gone.
      if (link->unused()) link->StillConnected();
      return false;
    }
    if (entry.second.may_be_named) NoteUnaware(entry.second.peer);
    idle.push_back(std::move(link));
    return true;
  });
  leaving_ += idle.size();
  return idle;
}

void LinkPool::ForgetLost() {
  absl::erase_if(links_, [&](const auto& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const std::shared_ptr<link::Link> link = entry.second.link.lock();
    if (link != nullptr && !link->finished()) return false;
    if (entry.second.may_be_named) NoteUnaware(entry.second.peer);
    return true;
  });
}

void LinkPool::NoteUnaware(std::string peer) {
  if (unaware_.size() == kMostUnaware && !unaware_.contains(peer)) unaware_.erase(unaware_.begin());
  unaware_.insert(std::move(peer));
}

}  // namespace skein::stream
