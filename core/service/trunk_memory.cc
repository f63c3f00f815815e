#include "core/service/trunk_memory.h"

namespace skein::service {

TrunkMemory::Here TrunkMemory::Find(const Place& place) const {
  const auto found = here_.find(place);
  return found == here_.end() ? nullptr : found->second.lock();
}

size_t TrunkMemory::Await(const Place& place, Then then) {
  std::vector<Then>& waiting = awaited_[place];
  waiting.push_back(std::move(then));
  return waiting.size();
}

void TrunkMemory::Registered(const Place& place, const Here& here) {
  const auto found = awaited_.find(place);
  if (found == awaited_.end()) return;
  const std::vector<Then> waiting = std::move(found->second);
  awaited_.erase(found);
  if (here != nullptr) here_[place] = here;
  for (const Then& then : waiting) then(here);
}

void TrunkMemory::TakeBackAll(uint32_t number) {
  absl::erase_if(lent_, [number](const auto& lent) { return lent.first.number == number; });
}

std::vector<TrunkMemory::Lent> TrunkMemory::LentOf(const Region& region) const {
  std::vector<Lent> found;
  for (const auto& [to, what] : lent_) {
    if (&what->region() == &region) found.push_back(to);
  }
  return found;
}

void TrunkMemory::Forget(const Region& region) {
  for (const uint32_t access : {uint32_t{fabric::kLocalOnly}, region.access()}) {
    here_.erase({&region, access});
    Registered({&region, access}, nullptr);
  }
}

void TrunkMemory::Clear() {
  lent_.clear();
  here_.clear();
  awaited_.clear();
}

}  // namespace skein::service
