// Whether the other skeind is there: when to ask, and when to give up.
//
//            Noted, then Asked                     time is up
//     quiet -------------------> asked ------------------------------> asked again, then silent
//       ^                          | Heard, then time is up
//       +--------------------------+
#ifndef SKEIN_CORE_SERVICE_TRUNK_SILENCE_H_
#define SKEIN_CORE_SERVICE_TRUNK_SILENCE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace skein::service {

// skeind's thread.
class TrunkSilence {
 public:
  enum class Verdict : uint8_t { kNotYet, kIsThere, kSilent };

  explicit TrunkSilence(absl::Duration patience) : patience_(patience) {}

  // Something was posted or said, after which the other skeind should be asked.
  void Noted() { noted_ = true; }
  bool noted() const { return noted_; }
  void Heard() { heard_ = true; }
  // It is to say its first word.
  void AwaitGreeting(absl::Time now);
  void Asked(absl::Time now);
  void BeQuiet() { look_at_ = absl::InfiniteFuture(); }
  bool quiet() const { return look_at_ == absl::InfiniteFuture(); }

  absl::Time look_at() const { return look_at_; }
  // Quiet again after kIsThere.
  Verdict Look(absl::Time now);

 private:
  const absl::Duration patience_;
  bool noted_ = false;
  bool heard_ = true;
  int vain_looks_ = 0;
  absl::Time look_at_ = absl::InfiniteFuture();
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TRUNK_SILENCE_H_
