#include "core/service/trunk_memory.h"

namespace skein::service {

TrunkMemory::Here TrunkMemory::Find(const Place& place) const {
  const auto found = here_.find(place);
  return found == here_.end() ? nullptr : found->second.lock();
}

size_t TrunkMemory::Await(const Place& place, uint32_t number, Then then, bool& is_first) {
  const auto [waiting, is_new] = awaited_.try_emplace(place);
  is_first = is_new;
  waiting->second.emplace_back(number, std::move(then));
  return waiting->second.size();
}

void TrunkMemory::Registered(const Place& place, const Here& here) {
  const auto found = awaited_.find(place);
  if (found == awaited_.end()) return;
  const std::vector<std::pair<uint32_t, Then>> waiting = std::move(found->second);
  awaited_.erase(found);
  if (here != nullptr) here_[place] = here;
  for (const auto& [number, then] : waiting) then(here);
}

void TrunkMemory::Forget(uint32_t number) {
  absl::erase_if(lent_, [number](const auto& lent) { return lent.first.number == number; });
  for (auto& [place, waiting] : awaited_) {
    std::erase_if(waiting, [number](const auto& each) { return each.first == number; });
  }
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
