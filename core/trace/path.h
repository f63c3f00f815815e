// Over what a connection's bytes go.
#ifndef SKEIN_CORE_TRACE_PATH_H_
#define SKEIN_CORE_TRACE_PATH_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace skein::trace {

enum class Path : uint8_t { kShm, kRdma, kTcp, kSim };
inline constexpr size_t kPaths = 4;

inline absl::string_view PathName(Path path) {
  constexpr std::array<absl::string_view, kPaths> kNames = {"shm", "rdma", "tcp", "sim"};
  return kNames[static_cast<size_t>(path)];
}

}  // namespace skein::trace

#endif  // SKEIN_CORE_TRACE_PATH_H_
