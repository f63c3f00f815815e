// Where skeind is met: by processes at a path, by other hosts' skeinds at a TCP port.
#ifndef SKEIN_CORE_SERVICE_LISTENERS_H_
#define SKEIN_CORE_SERVICE_LISTENERS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"

namespace skein::service {

class Predecessor;
struct ServiceOptions;

struct Listeners {
  UniqueFd processes;
  UniqueFd skeinds;
  uint16_t trunk_port = 0;
};

// As the options say; null: there is no predecessor. ALREADY_EXISTS: another skeind serves the folder, and is not to be
// replaced.
absl::StatusOr<Listeners> Listen(const ServiceOptions& options, const Predecessor* predecessor);

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_LISTENERS_H_
