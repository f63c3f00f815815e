// One end of a link, as the fabric below it sees it: what it has lived through, and what it has told its peer of
// streams' windows.
#ifndef SKEIN_TESTS_CHAOS_LINK_END_H_
#define SKEIN_TESTS_CHAOS_LINK_END_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/strings/string_view.h"

namespace skein::chaos {

// Who has no excuse must not fail. Excuses are of a link, both of its ends, and of nothing else of their processes.
class LinkEnd {
 public:
  explicit LinkEnd(size_t process) : process_(process) {}

  // Something of it was broken: it may be lost.
  void Break();
  bool broken() const { return broken_; }
  // Something was refused to it: it may never come to be.
  void Refuse();
  bool refused() const { return refused_; }
  bool excused() const { return broken_ || refused_; }

  // The two ends are connected; what either has lived through, both have.
  static void Join(const std::shared_ptr<LinkEnd>& a, const std::shared_ptr<LinkEnd>& b);
  size_t process() const { return process_; }
  std::shared_ptr<LinkEnd> peer() const { return peer_.lock(); }

  // Bytes of a stream's window that it has given back.
  void GiveBack(uint32_t stream, uint64_t bytes) { given_back_[stream] += bytes; }
  uint64_t given_back(uint32_t stream) const {
    const auto found = given_back_.find(stream);
    return found == given_back_.end() ? 0 : found->second;
  }

 private:
  const size_t process_;
  bool broken_ = false;
  bool refused_ = false;
  std::weak_ptr<LinkEnd> peer_;
  absl::btree_map<uint32_t, uint64_t> given_back_;
};

// Which ends belong together, and between which processes nothing passes for too long to live through it.
class LinkEnds {
 public:
  void Offered(absl::string_view offer, const std::shared_ptr<LinkEnd>& end) { offers_[std::string(offer)] = end; }
  void Accepted(absl::string_view offer, const std::shared_ptr<LinkEnd>& end);
  // Links that are made meanwhile do not live either.
  void Part(size_t a, size_t b) { parted_.insert({a, b}); }
  void Heal(size_t a, size_t b) { parted_.erase({a, b}); }
  void HealAll() { parted_.clear(); }

 private:
  absl::btree_map<std::string, std::weak_ptr<LinkEnd>> offers_;
  absl::btree_set<std::pair<size_t, size_t>> parted_;
};

// Whether a link that was lost may have been lost for this reason, between honest peers. Anything else is one's
// protocol error, or a mistake of the other's.
bool IsLoss(absl::string_view reason);
// Whether it says that something was refused by the plan of faults.
bool IsRefusal(absl::string_view reason);

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_LINK_END_H_
