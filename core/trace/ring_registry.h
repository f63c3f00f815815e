// The rings of all threads that make records, for one who collects them.
#ifndef SKEIN_CORE_TRACE_RING_REGISTRY_H_
#define SKEIN_CORE_TRACE_RING_REGISTRY_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "core/base/mutex.h"
#include "core/trace/record_ring.h"

namespace skein::trace {

// Any thread, but for Drain.
class RingRegistry {
 public:
  static constexpr size_t kMostRings = 256;  // 40 MB

  // A ring for a thread, until it gives it back; valid as long as the registry. What the one before left in it is still
  // collected. nullptr: there are as many as there may be, or no memory.
  RecordRing* Claim();
  void Release(RecordRing* ring);

  // By one at a time: take(record) for each record that is there now, of each ring in order. The most that one ring
  // had. The lock is not held meanwhile.
  size_t Drain(absl::FunctionRef<void(const Record&)> take);

 private:
  Mutex mu_;
  std::vector<std::unique_ptr<RecordRing>> rings_ ABSL_GUARDED_BY(mu_);  // none ever goes
  // Who claims a ring has the lock after who released it: so it sees all that the former producer wrote.
  std::vector<RecordRing*> free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_RING_REGISTRY_H_
