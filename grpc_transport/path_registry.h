// The live connections and how they run, for Paths() and the log.
#ifndef SKEIN_GRPC_TRANSPORT_PATH_REGISTRY_H_
#define SKEIN_GRPC_TRANSPORT_PATH_REGISTRY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "core/base/mutex.h"
#include "grpc_transport/skein.h"

namespace skein::grpc_transport {

class PathRegistry {
 public:
  // Held by a connection's endpoint: the path is listed until it is destroyed.
  class Entry {
   public:
    Entry(PathRegistry* registry, uint64_t number) : registry_(registry), number_(number) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() { registry_->Remove(number_); }

   private:
    PathRegistry* const registry_;
    const uint64_t number_;
  };

  // Logs it, too. The registry outlives all entries.
  std::unique_ptr<Entry> Add(Path path);
  std::vector<Path> List() const;

 private:
  void Remove(uint64_t number);

  mutable Mutex mu_;
  uint64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
  absl::btree_map<uint64_t, Path> paths_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_PATH_REGISTRY_H_
