#include "core/link/blocks.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace skein::link {

absl::StatusOr<Blocks::Block> Blocks::Take(Port& port) {
  MutexLock lock(&mu_);
  if (free_.empty() && !Grow()) {
    if (slabs_.empty()) return absl::FailedPreconditionError("no memory for blocks");
    if (!std::exchange(port.waits_for_block_, true)) waiters_.push_back(port.weak_from_this());
    wanted_.store(true, std::memory_order_relaxed);
    return absl::ResourceExhaustedError("all blocks are in use");
  }
  const uint32_t number = free_.back();
  free_.pop_back();
  states_[number] = State::kTaken;
  const fabric::MemoryRegion& slab = *slabs_[number / kSlabBlocks];
  const size_t at = number % kSlabBlocks * kBlockBytes;
  fabric::RemoteAddress remote = slab.remote();
  remote.address += at;
  return Block{number, slab.bytes().data() + at, remote};
}

bool Blocks::Grow() {
  if (device_ == nullptr || slabs_.size() == kMaxSlabs) return false;
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> slab =
      device_->Allocate(kSlabBlocks * kBlockBytes, fabric::kRemoteRead);
  if (!slab.ok()) return false;
  slabs_.push_back(*std::move(slab));
  const size_t before = states_.size();
  states_.resize(before + kSlabBlocks, State::kFree);
  for (size_t number = states_.size(); number > before; --number) free_.push_back(static_cast<uint32_t>(number - 1));
  return true;
}

void Blocks::Announce(uint32_t number) {
  MutexLock lock(&mu_);
  states_[number] = State::kOut;
}

void Blocks::Free(uint32_t number) {
  states_[number] = State::kFree;
  free_.push_back(number);
}

bool Blocks::GiveBack(uint32_t number) {
  MutexLock lock(&mu_);
  // A peer may guess a number, and say that it has pulled the block: it is free then, or somebody else's to fill.
  if (states_[number] == State::kOut) Free(number);
  return !waiters_.empty();
}

absl::Status Blocks::OnPulled(uint32_t number) {
  MutexLock lock(&mu_);
  if (number >= states_.size() || states_[number] != State::kOut) {
    return absl::DataLossError(absl::StrCat("block ", number, " pulled, which is not out"));
  }
  Free(number);
  return absl::OkStatus();
}

std::vector<std::shared_ptr<Port>> Blocks::TakeWaiters() {
  std::vector<std::shared_ptr<Port>> ports;
  if (!wanted_.load(std::memory_order_relaxed)) return ports;
  MutexLock lock(&mu_);
  if (free_.empty()) return ports;
  wanted_.store(false, std::memory_order_relaxed);
  for (const std::weak_ptr<Port>& waiter : std::exchange(waiters_, {})) {
    if (std::shared_ptr<Port> port = waiter.lock()) {
      port->waits_for_block_ = false;
      ports.push_back(std::move(port));
    }
  }
  return ports;
}

bool Blocks::AllBack(bool tells) {
  MutexLock lock(&mu_);
  const bool all = failed_ || free_.size() == states_.size();
  if (!all || tells) flush_wanted_.store(!all, std::memory_order_relaxed);
  return all;
}

void Blocks::Fail() {
  MutexLock lock(&mu_);
  failed_ = true;
  waiters_.clear();
}

}  // namespace skein::link
