// Timely (Mittal and others, SIGCOMM 2015) as eRPC has it (NSDI 2019, 5.2): a session's rate out of the round trip
// times of its datagrams. A session is uncongested while it may send at its link's rate; then short round trips change
// nothing, and eRPC computes nothing.
#ifndef SKEIN_BENCH_SIM_UD_TIMELY_H_
#define SKEIN_BENCH_SIM_UD_TIMELY_H_

#include <algorithm>

#include "absl/time/time.h"

namespace skein::bench {

class Timely {
 public:
  static constexpr double kMinRate = 15e6;  // bytes a second
  static constexpr double kAddRate = 5e6;
  static constexpr double kWeight = 0.46;    // of a sample in the moving average
  static constexpr double kDecrease = 0.26;  // beta
  static constexpr int kHyperactive = 5;  // falling round trips in a row, from which the rate grows five times as fast
  static constexpr absl::Duration kMinRoundTrip = absl::Microseconds(2);
  static constexpr absl::Duration kLow = absl::Microseconds(50);
  static constexpr absl::Duration kHigh = absl::Microseconds(1000);

  Timely(double link, absl::Time now) : link_(link), rate_(link), updated_(now) {}

  double rate() const { return rate_; }  // bytes a second
  bool uncongested() const { return rate_ == link_; }
  // Whether a sample changes nothing, so that eRPC passes it by.
  bool Bypasses(absl::Duration round_trip) const { return uncongested() && round_trip <= kLow; }

  void Update(absl::Time now, absl::Duration round_trip) {
    if (round_trip < kMinRoundTrip) return;
    const double difference = absl::FDivDuration(round_trip - last_, kMinRoundTrip);
    falling_ = difference < 0 ? falling_ + 1 : 0;
    gradient_ = (1 - kWeight) * gradient_ + kWeight * difference;
    // No more than once in a round trip is a full step.
    const double part = std::min(absl::FDivDuration(now - updated_, kMinRoundTrip), 1.0);
    rate_ = std::clamp(std::max(Wanted(round_trip, part), rate_ / 2), std::min(kMinRate, link_), link_);
    last_ = round_trip;
    updated_ = now;
  }

 private:
  double Wanted(absl::Duration round_trip, double part) const {
    if (round_trip < kLow) return rate_ + kAddRate * part;
    if (round_trip > kHigh) return rate_ * (1 - part * kDecrease * (1 - absl::FDivDuration(kHigh, round_trip)));
    if (gradient_ > 0) return rate_ * (1 - part * kDecrease * gradient_);
    return rate_ + kAddRate * part * (falling_ >= kHyperactive ? 5 : 1);
  }

  const double link_;
  double rate_;
  double gradient_ = 0;  // of round trips, in kMinRoundTrip
  int falling_ = 0;
  absl::Duration last_ = kMinRoundTrip;
  absl::Time updated_;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_UD_TIMELY_H_
