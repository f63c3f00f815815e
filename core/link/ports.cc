#include "core/link/ports.h"

#include <algorithm>
#include <utility>

namespace skein::link {

uint32_t Ports::NewNumber() {
  MutexLock lock(&mu_);
  if (lost() || closed_ || highest_ == UINT32_MAX) return 0;
  return ++highest_;
}

absl::Status Ports::Add(const std::shared_ptr<Port>& port) {
  MutexLock lock(&mu_);
  if (lost() || closed_) return absl::UnavailableError("the link to the peer is lost");
  const uint32_t stream = port->stream();
  if (!ports_.try_emplace(stream, port).second) return absl::DataLossError("the peer gave a stream twice");
  highest_ = std::max(highest_, stream);
  return absl::OkStatus();
}

bool Ports::Remove(uint32_t stream) {
  MutexLock lock(&mu_);
  const auto port = ports_.find(stream);
  if (port != ports_.end()) {
    queue_.Remove(*port->second);
    port->second->removed_.store(true, std::memory_order_release);
    if (port->second->counted_as_abandoned_) --abandoned_;
    ports_.erase(port);
  }
  return ports_.empty();
}

bool Ports::Abandoned(Port& port) {
  MutexLock lock(&mu_);
  if (ports_.contains(port.stream()) && !std::exchange(port.counted_as_abandoned_, true)) ++abandoned_;
  return abandoned_ <= kMostAbandoned;
}

bool Ports::unused() const {
  MutexLock lock(&mu_);
  return ports_.size() == abandoned_;
}

size_t Ports::size() const {
  MutexLock lock(&mu_);
  return ports_.size();
}

bool Ports::CloseIfUnused() {
  MutexLock lock(&mu_);
  if (ports_.size() != abandoned_) return false;
  closed_ = true;
  return true;
}

// The port that was found last, if that is it: without the lock, and without keeping it alive.
std::shared_ptr<Port> Ports::Recent(uint32_t stream) const {
  if (stream != recent_stream_) return nullptr;
  std::shared_ptr<Port> port = recent_.lock();
  return port != nullptr && !port->removed_.load(std::memory_order_acquire) ? port : nullptr;
}

Ports::Found Ports::Find(uint32_t stream) {
  if (std::shared_ptr<Port> recent = Recent(stream)) return {std::move(recent)};
  MutexLock lock(&mu_);
  const auto found = ports_.find(stream);
  if (found == ports_.end()) return {nullptr, highest_};
  recent_ = found->second;
  recent_stream_ = stream;
  return {found->second};
}

void Ports::Touch(std::shared_ptr<Port> port) {
  if (!std::exchange(port->touched_, true)) touched_.push_back(std::move(port));
}

void Ports::TellOfSpace(const std::vector<std::shared_ptr<Port>>& waiters) {
  for (const std::shared_ptr<Port>& port : waiters) {
    port->OnSpace();
    Touch(port);
  }
}

// A port's Notify may poll, and is told that another thread does: so nobody is touched meanwhile.
void Ports::NotifyTouched() {
  for (const std::shared_ptr<Port>& port : touched_) {
    port->touched_ = false;
    port->Notify();
  }
  touched_.clear();
}

std::vector<std::shared_ptr<Port>> Ports::Lose() {
  MutexLock lock(&mu_);
  lost_.store(true, std::memory_order_release);
  std::vector<std::shared_ptr<Port>> ports;
  for (auto& [stream, port] : ports_) ports.push_back(std::move(port));
  ports_.clear();
  abandoned_ = 0;
  return ports;
}

}  // namespace skein::link
