// This process's sessions with skeind: one for each local address of its connections.
#ifndef SKEIN_CORE_CONNECT_SERVICE_SESSIONS_H_
#define SKEIN_CORE_CONNECT_SERVICE_SESSIONS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/connect/route.h"
#include "core/fabric/fabric.h"

namespace skein::connect {

// One thread at a time.
class ServiceSessions {
 public:
  // `retry_delay`: a skeind that was not there, or did not answer, is left alone for so long.
  ServiceSessions(std::string folder, absl::Duration retry_delay)
      : folder_(std::move(folder)), retry_delay_(retry_delay) {}

  // Asks skeind, for which it waits a second at most, unless there is a session already. UNAVAILABLE says why none is.
  absl::StatusOr<std::shared_ptr<fabric::Device>> For(const Route& route, absl::Time now);

 private:
  const std::string folder_;
  const absl::Duration retry_delay_;
  struct Known {
    std::shared_ptr<fabric::Device> device;
    absl::Status failed;
    absl::Time retry_at = absl::InfinitePast();
  };
  absl::flat_hash_map<std::string, Known> known_;  // by local address
};

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_SERVICE_SESSIONS_H_
