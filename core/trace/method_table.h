// Names of methods as small numbers. Peers choose the names, so there are only so many, of bounded length.
#ifndef SKEIN_CORE_TRACE_METHOD_TABLE_H_
#define SKEIN_CORE_TRACE_METHOD_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/base/mutex.h"

namespace skein::trace {

inline constexpr uint32_t kNoMethod = 0;      // "": a message's, or not known
inline constexpr uint32_t kOtherMethods = 1;  // "other": those that came when the table was full

// Any thread.
class MethodTable {
 public:
  static constexpr size_t kMostMethods = 1024;
  static constexpr size_t kMostBytes = 256;  // of a name, which is cut

  MethodTable();

  // The number of `name`, which is the same every time. Takes a lock: who can keeps the number.
  uint32_t Intern(absl::string_view name);
  // Any bytes. Takes no lock; valid as long as the table. Of a number that is not from here: "other".
  absl::string_view Name(uint32_t method) const;

 private:
  // How many of names_ are there, and never change again. Released by Intern after the name is written; acquired by
  // Name.
  std::atomic<uint32_t> size_;
  std::array<std::string, kMostMethods> names_;
  Mutex mu_;
  absl::flat_hash_map<absl::string_view, uint32_t> numbers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_METHOD_TABLE_H_
