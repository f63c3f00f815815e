// The live connections that Skein has had a say in, and how each runs: of the process, whatever framework they are for.
#ifndef SKEIN_CORE_INSPECT_LIVE_PATHS_H_
#define SKEIN_CORE_INSPECT_LIVE_PATHS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/forked.h"
#include "core/base/mutex.h"

namespace skein::inspect {

struct LivePath {
  std::string framework;  // "grpc", "thrift"
  bool client = false;
  std::string local;         // as the framework writes addresses
  std::string peer;          // the same
  std::string path;          // "shm", "rdma", "tcp"
  std::string why;           // why not a better one; empty when there is none
  bool secure = false;       // TLS or the like runs on top
  bool below_http2 = false;  // gRPC's calls travel without HTTP/2

  friend bool operator==(const LivePath&, const LivePath&) = default;
};

// Any thread.
class LivePaths {
 public:
  // The process's. Never destroyed.
  static LivePaths& Get();

  // The path is listed while this exists; not longer than the list does.
  class Entry {
   public:
    Entry(LivePaths* list, uint64_t number) : list_(list), number_(number) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      if (!InForkedChild()) list_->Remove(number_);
    }

   private:
    LivePaths* const list_;
    const uint64_t number_;
  };
  // In a forked child nothing is listed, and nobody asks: a thread of the parent may have had the lock.
  std::unique_ptr<Entry> Add(LivePath path);
  // Oldest first.
  std::vector<LivePath> List() const;

 private:
  void Remove(uint64_t number);

  mutable Mutex mu_;
  uint64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
  absl::btree_map<uint64_t, LivePath> paths_ ABSL_GUARDED_BY(mu_);
};

// As one process tells them to another: a line each. Decode: DATA_LOSS if `text` is none of these.
std::string EncodePaths(const std::vector<LivePath>& paths);
absl::StatusOr<std::vector<LivePath>> DecodePaths(absl::string_view text);
// Another process's; errors are Ask's.
absl::StatusOr<std::vector<LivePath>> AskPaths(pid_t process);

}  // namespace skein::inspect

#endif  // SKEIN_CORE_INSPECT_LIVE_PATHS_H_
