// What has been done to each call, and what has befallen its connection: that explains how the call may end.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_JOURNAL_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_JOURNAL_H_

#include <grpcpp/client_context.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace skein::calls_chaos {

// What befalls a connection.
inline constexpr uint8_t kCut = 1;
inline constexpr uint8_t kServerEnds = 2;

struct Record {
  size_t channel = 0;
  grpc::ClientContext* context = nullptr;  // while the call is under way
  uint8_t befallen = 0;                    // since the call began, or when that was not over yet
  bool cancelled = false;
  int handled = 0;        // how often a handler has begun
  bool complete = false;  // a handler has done all of its plan
};

// Any thread.
class Journal {
 public:
  Journal(uint64_t seed, size_t channels) : seed_(seed), befalling_(channels) {}

  // `context` stays until End.
  void Begin(uint64_t call, size_t channel, grpc::ClientContext& context) ABSL_LOCKS_EXCLUDED(mu_);
  Record End(uint64_t call) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns when so many calls have ended. Where none ends for longer than any call has, the process ends: nothing
  // could bring the callers back.
  void AwaitEnded(size_t calls) ABSL_LOCKS_EXCLUDED(mu_);
  void Cancel(uint64_t call) ABSL_LOCKS_EXCLUDED(mu_);

  void HandlerBegins(uint64_t call) ABSL_LOCKS_EXCLUDED(mu_);
  void HandlerIsComplete(uint64_t call) ABSL_LOCKS_EXCLUDED(mu_);

  // From now on, until Over, calls of the channel may end because of `what`: those that begin, and those that are under
  // way. `spares_handled`: but for those that a handler has.
  void Befalls(size_t channel, uint8_t what, bool spares_handled = false) ABSL_LOCKS_EXCLUDED(mu_);
  // A call that begins now has a connection that is well.
  void Over(size_t channel) ABSL_LOCKS_EXCLUDED(mu_);

  // A failure of the test.
  void Wrong(uint64_t call, absl::string_view what) ABSL_LOCKS_EXCLUDED(mu_);
  // What has become of a call, in a word.
  void Count(const std::string& outcome) ABSL_LOCKS_EXCLUDED(mu_);
  std::map<std::string, int> outcomes() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const uint64_t seed_;
  absl::Mutex mu_;
  std::map<uint64_t, Record> calls_ ABSL_GUARDED_BY(mu_);
  std::vector<uint8_t> befalling_ ABSL_GUARDED_BY(mu_);  // each channel
  size_t ended_ ABSL_GUARDED_BY(mu_) = 0;
  int wrong_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, int> outcomes_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::calls_chaos

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_JOURNAL_H_
