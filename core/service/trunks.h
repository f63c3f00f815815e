// The trunks between this skeind and those of other hosts.
#ifndef SKEIN_CORE_SERVICE_TRUNKS_H_
#define SKEIN_CORE_SERVICE_TRUNKS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "core/service/listeners.h"
#include "core/service/region.h"
#include "core/service/trunk.h"

namespace skein::service {

// skeind's thread. New ones come to the end, and those that have ended stay until DropEnded: so a loop by index is good
// even if a trunk makes or ends others meanwhile.
class Trunks {
 public:
  using List = std::vector<std::shared_ptr<Trunk>>;

  Trunks(TrunkOwner& owner, const ServiceOptions& options, const Listeners& listeners)
      : owner_(owner), options_(options), listeners_(listeners) {}

  const List& all() const { return trunks_; }
  // Where other hosts' skeinds reach this one.
  uint16_t port() const { return listeners_.trunk_port; }

  // The trunk to the skeind at that address and port, by the session's device. Makes one if there is none, of what the
  // session's user may have.
  absl::StatusOr<std::shared_ptr<Trunk>> To(absl::string_view host, uint16_t port, Session& session);
  // Another skeind has connected. Closes the connection where there are too many trunks.
  void Add(UniqueFd socket);

  // Hands over to the devices what was posted.
  void Flush() {
    for (size_t i = 0; i < trunks_.size(); ++i) trunks_[i]->line().Flush();
  }
  // Takes what has completed. False: nothing has.
  bool Poll() {
    bool any = false;
    for (size_t i = 0; i < trunks_.size(); ++i) any |= trunks_[i]->line().Poll();
    return any;
  }
  // Before the thread sleeps: arms, and looks again. False: something is there.
  bool Arm();
  // When to do so again; infinite: when something else has happened.
  absl::Time Tend();
  // A process has let go of it.
  void Revoke(const Region& region);
  void DropEnded();

 private:
  void CrowdOutUngreeted();

  TrunkOwner& owner_;
  const ServiceOptions& options_;
  const Listeners& listeners_;
  List trunks_;
  absl::flat_hash_map<std::string, std::weak_ptr<Trunk>> by_peer_;
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TRUNKS_H_
