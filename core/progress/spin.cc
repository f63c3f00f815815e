#include "core/progress/spin.h"

#include <sched.h>

namespace skein::progress {

bool Spin::Pass(Yielding& yielding, int others) {
  const Then then = Next(Clock::now(), yielding);
  if (then == Then::kYield) {
    sched_yield();
    Yielded(Clock::now(), yielding, others);
  }
  return then != Then::kOver;
}

}  // namespace skein::progress
