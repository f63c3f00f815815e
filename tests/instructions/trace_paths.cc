// What tracing costs a call: while it is off, and while each is traced.
#include "core/trace/record_ring.h"
#include "core/trace/tracer.h"
#include "tests/instructions/hot_path.h"

namespace skein::instructions {
namespace {

Operation TraceOff() {
  return [] { Require(!trace::Enabled(), "off"); };
}

// Times are numbers here: what clock_gettime costs is not ours. All rounds together do not fill the ring, so that no
// collector is needed, whose thread would run beside this one.
constexpr int kRecords = 100;
static_assert(size_t{9} * kRecords < trace::RecordRing::kCapacity);

Operation FillAndPush() {
  trace::Push({});  // a thread's first makes its ring
  return [now = uint64_t{1}]() mutable {
    trace::Record record;
    record.kind = trace::RecordKind::kCall;
    record.method = trace::kOtherMethods;
    record.link = 1;
    record.stream = 2;
    record.bytes = 64;
    record.id = now;
    for (size_t stage = 0; stage <= static_cast<size_t>(trace::Stage::kDelivered); ++stage) {
      record.times[stage] = now++;
    }
    trace::Push(record);
  };
}

}  // namespace

std::vector<HotPath> TracePaths() { return {{"trace.off", 2048, TraceOff}, {"trace.record", kRecords, FillAndPush}}; }

}  // namespace skein::instructions
