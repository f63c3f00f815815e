#include "tests/chaos/credit_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace skein::chaos {
namespace {

// FORMAT.md's and the thesis' numbers, on purpose not those of core/schedule.
constexpr int64_t kCredits = 32;
constexpr int64_t kReserve = 8;

}  // namespace

CreditModel::CreditModel() : active_(true), least_(kReserve + kCredits), most_(least_) {}

// At which half is gone.
int64_t CreditModel::threshold() const { return active_ ? kReserve + kCredits / 2 : kReserve / 2; }

void CreditModel::Take(Word word) {
  if (word == Word::kActivate ? active_ : !asked_) return;  // a breach, which is for the receiver to see
  if (word != Word::kActivate) asked_ = false;
  active_ = word != Word::kDecline;
  // What was sent before it was seen to be taken may have been paid from what it brought.
  const int64_t doubtful = std::exchange(doubtful_, 0);
  least_ = std::max(least_, kReserve - doubtful) + (active_ ? kCredits : 0);
  most_ = std::max(most_, kReserve) + (active_ ? kCredits : 0);
}

std::string CreditModel::OnPosted(const Message& message) {
  while (!words_.empty() && words_.front().begin < message.head) {
    Take(words_.front().word);
    words_.pop_front();
  }
  // The message behind that head may just be being read.
  const bool reading = !words_.empty() && words_.front().begin == message.head;
  if (!reading) return TryPost(message);
  CreditModel without = *this;
  if (without.TryPost(message).empty()) {
    *this = std::move(without);
    ++doubtful_;
    return "";
  }
  Take(words_.front().word);
  words_.pop_front();
  return TryPost(message);
}

std::string CreditModel::Wrong(absl::string_view what) const {
  return absl::StrCat(what, " with ", least_, " to ", most_, " credits, ", active_ ? "active" : "inactive");
}

std::string CreditModel::TryPost(const Message& message) {
  const int64_t due = threshold();
  if (message.renews) {
    if (asked_) return Wrong("credits are asked for twice");
    if (least_ > due) return Wrong("credits are asked for");
    asked_ = true;
    most_ = std::min(most_, due);
  } else if (!asked_) {
    if (most_ <= due) return Wrong("no credits are asked for");
    least_ = std::max(least_, due + 1);
  }
  if (message.data && most_ <= kReserve) return Wrong("data is sent");
  if (message.data) least_ = std::max(least_, kReserve + 1);
  // Words on credits cost none, in messages of their own.
  if (!message.head_only || !message.word) --most_;
  --least_;
  if (!message.head_only && most_ < 0) return Wrong("a message is sent");
  least_ = std::max<int64_t>(least_, 0);
  return "";
}

}  // namespace skein::chaos
