// How one part of a call goes through its steps.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_STEPS_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_STEPS_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <cstdint>

#include "absl/time/clock.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/journal.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/plan.h"

namespace skein::calls_chaos {

// The part's own thread.
class Steps {
 public:
  Steps(Journal& journal, const Plan& plan, Part part)
      : journal_(journal), plan_(plan), part_(part), dice_(plan.call * 4 + static_cast<uint64_t>(part)) {}

  // At each. A pause is the program's own time, of which nobody can tell it when to go on.
  void Next() {
    if (dice_.OneIn(plan_.pauses)) absl::SleepFor(dice_.Between(absl::ZeroDuration(), absl::Milliseconds(8)));
    if (plan_.canceller == part_ && plan_.cancel_at == taken_) journal_.Cancel(plan_.call);
    ++taken_;
  }
  // Of the next message.
  grpc::WriteOptions Options() {
    grpc::WriteOptions options;
    if (plan_.hints && dice_.OneIn(2)) options.set_buffer_hint();
    if (plan_.compresses && dice_.OneIn(4)) options.set_no_compression();
    return options;
  }

 private:
  Journal& journal_;
  const Plan& plan_;
  const Part part_;
  Dice dice_;
  size_t taken_ = 0;
};

}  // namespace skein::calls_chaos

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_STEPS_H_
