#include "core/service/trunk_silence.h"

namespace skein::service {
namespace {

// So that a skeind that was itself stopped gives the other one the time between them.
constexpr int kMostVainLooks = 2;

}  // namespace

void TrunkSilence::AwaitGreeting(absl::Time now) {
  heard_ = false;
  vain_looks_ = kMostVainLooks - 1;
  look_at_ = now + patience_;
}

void TrunkSilence::Asked(absl::Time now) {
  noted_ = false;
  heard_ = false;
  vain_looks_ = 0;
  look_at_ = now + patience_ / kMostVainLooks;
}

TrunkSilence::Verdict TrunkSilence::Look(absl::Time now) {
  if (now < look_at_) return Verdict::kNotYet;
  if (heard_) {
    BeQuiet();
    return Verdict::kIsThere;
  }
  if (++vain_looks_ >= kMostVainLooks) return Verdict::kSilent;
  look_at_ = now + patience_ / kMostVainLooks;
  return Verdict::kNotYet;
}

}  // namespace skein::service
