#include "tests/sim/link_end.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"

namespace skein::chaos {

void LinkEnd::Break() {
  broken_ = true;
  if (const auto peer = peer_.lock()) peer->broken_ = true;
}

void LinkEnd::Refuse() {
  refused_ = true;
  if (const auto peer = peer_.lock()) peer->refused_ = true;
}

void LinkEnd::Join(const std::shared_ptr<LinkEnd>& a, const std::shared_ptr<LinkEnd>& b) {
  a->peer_ = b;
  b->peer_ = a;
  a->broken_ = b->broken_ = a->broken_ || b->broken_;
  a->refused_ = b->refused_ = a->refused_ || b->refused_;
}

void LinkEnds::Accepted(absl::string_view offer, const std::shared_ptr<LinkEnd>& end) {
  const auto offered = offers_.find(offer);
  if (offered == offers_.end()) return;
  const std::shared_ptr<LinkEnd> active = offered->second.lock();
  offers_.erase(offered);
  if (active == nullptr) return;
  LinkEnd::Join(active, end);
  const size_t a = active->process();
  const size_t b = end->process();
  if (parted_.contains({a, b}) || parted_.contains({b, a})) end->Break();
}

bool IsLoss(absl::string_view reason) {
  constexpr absl::string_view kReasons[] = {"the device was killed",
                                            "the device reported a fatal queue pair error",
                                            "the peer has stopped answering",
                                            "the peer closed the connection",
                                            "completion queue of ",
                                            "closed by this end",
                                            "it was closed",
                                            "the peer has left it",
                                            "the accepting queue pair is gone",
                                            "the queue pair is connected, in error"};
  return IsRefusal(reason) || std::any_of(std::begin(kReasons), std::end(kReasons),
                                          [&](absl::string_view each) { return absl::StrContains(reason, each); });
}

bool IsRefusal(absl::string_view reason) { return absl::StrContains(reason, "refused by the plan of faults"); }

}  // namespace skein::chaos
