// Polls what it is given, whenever asked, and never sleeps.
#ifndef SKEIN_BENCH_MICRO_SPINNING_WAITER_H_
#define SKEIN_BENCH_MICRO_SPINNING_WAITER_H_

#include <memory>
#include <utility>
#include <vector>

#include "core/wait/source.h"

namespace skein::bench {

class SpinningWaiter final : public wait::Watcher {
 public:
  void Watch(std::shared_ptr<wait::Source> source) override { sources_.push_back(std::move(source)); }
  void Poll() {
    for (const std::shared_ptr<wait::Source>& source : sources_) source->Poll();
  }
  const std::vector<std::shared_ptr<wait::Source>>& sources() const { return sources_; }

 private:
  std::vector<std::shared_ptr<wait::Source>> sources_;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MICRO_SPINNING_WAITER_H_
