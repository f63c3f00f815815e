// What is decided for each message: who leads, whether there are credits, who may go on.
#include <memory>

#include "core/coalesce/combining_queue.h"
#include "core/schedule/credits.h"
#include "core/schedule/turns.h"
#include "tests/instructions/hot_path.h"

namespace skein::instructions {
namespace {

// Several requesters on one thread: where one would spin until it is told, the next one comes, and at last the leader
// does its work.
struct NestedAtomics : wait::SystemAtomics {
  template <class T>
  static T Spin(const std::atomic<T>& atom, T, std::memory_order order) {
    (*meanwhile)();
    return atom.load(order);
  }
  static inline const Operation* meanwhile = nullptr;
};

struct Request : coalesce::Entry<Request, NestedAtomics> {};

class Combining {
 public:
  Combining() { NestedAtomics::meanwhile = &next_; }

  void Combine() {
    joined_ = 1;
    Require(queue_.Join(leader_) == coalesce::Turn::kLead, "the first leads");
    next_();
  }

 private:
  static constexpr size_t kRequests = 8;

  void Next() {
    if (joined_ < kRequests) {
      ++joined_;
      Request follower;
      Require(queue_.Join(follower) == coalesce::Turn::kDone, "the others do not");
    } else {
      coalesce::Batch<Request> batch = queue_.Gather(leader_, 32, [](const Request&) { return true; });
      Require(batch.size() == kRequests, "all together");
      queue_.Finish(batch);
    }
  }

  coalesce::CombiningQueue<Request> queue_;
  Request leader_;
  size_t joined_ = 0;
  const Operation next_ = [this] { Next(); };
};

Operation CombineEight() {
  return [combining = std::make_shared<Combining>()] { combining->Combine(); };
}

Operation SpendCredit() {
  const auto credits = std::make_shared<schedule::Credits>(schedule::kDefaultCredits, /*active=*/true);
  return [credits] {
    Require(credits->CanSend(schedule::Credits::Use::kData), "a credit");
    credits->OnSent();
    if (!credits->renewal_due()) return;
    credits->OnAsked();
    Require(credits->OnAnswer(/*granted=*/true).ok(), "more");
  };
}

// Of 64 peers, in turn.
Operation AnswerRenewal() {
  const auto turns = std::make_shared<schedule::Turns>();
  const auto senders = std::make_shared<std::vector<schedule::Turns::Sender>>();
  for (int i = 0; i < 64; ++i) senders->push_back(turns->Add());
  return [turns, senders, i = size_t{0}]() mutable {
    Require(turns->OnRenewal((*senders)[i++ % senders->size()]).granted, "more");
    if (i % 256 == 0) turns->Redistribute();
  };
}

}  // namespace

std::vector<HotPath> SchedulePaths() {
  return {{"coalesce.eight_requests", 256, CombineEight},
          {"schedule.credit", 2048, SpendCredit},
          {"schedule.renewal", 2048, AnswerRenewal}};
}

}  // namespace skein::instructions
