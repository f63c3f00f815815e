// The receiver's core that polls one connection: takes what has come, executes what is short, and replies.
#ifndef SKEIN_BENCH_DURABLE_POLLER_H_
#define SKEIN_BENCH_DURABLE_POLLER_H_

#include <memory>
#include <vector>

#include "bench/durable/ends.h"
#include "bench/durable/measured.h"
#include "bench/durable/processor.h"

namespace skein::bench::durable {

class Poller {
 public:
  // Notes in `times` what it spends on each request.
  Poller(Measured& measured, ReceiverTimes& times, std::unique_ptr<ReceiverEnd> end)
      : measured_(measured),
        times_(times),
        end_(std::move(end)),
        core_(measured.simulation, measured.Share(measured.ReceiverTurn())) {}

  void Turn();

 private:
  void Take(absl::Duration cost);
  void Finish();

  Measured& measured_;
  ReceiverTimes& times_;
  const std::unique_ptr<ReceiverEnd> end_;
  Core core_;
  std::vector<ReceiverEnd::Request> executed_;
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_POLLER_H_
