// The RDMA ports of this host: which one leads along a route. Opened when first needed.
#ifndef SKEIN_CORE_CONNECT_RDMA_PORTS_H_
#define SKEIN_CORE_CONNECT_RDMA_PORTS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "core/base/options.h"
#include "core/connect/route.h"
#include "core/fabric/fabric.h"
#include "core/fabric/verbs/gid_list.h"

namespace skein::connect {

// One thread at a time.
class RdmaPorts {
 public:
  using GidEntry = fabric::verbs::GidEntry;
  using List = std::function<absl::StatusOr<std::vector<GidEntry>>()>;
  using Open = std::function<absl::StatusOr<std::shared_ptr<fabric::Device>>(const GidEntry&)>;

  // Ports come and go, addresses move: what was listed is looked up again after this long.
  static constexpr absl::Duration kListingIsFresh = absl::Seconds(5);

  RdmaPorts(const RdmaOptions& options, List list, Open open)
      : options_(options), list_(std::move(list)), open_(std::move(open)) {}

  // Of the port that has the route's local address, unless the options name another.
  absl::StatusOr<std::shared_ptr<fabric::Device>> For(const Route& route, absl::Time now);

  // Whether this host had no RDMA device when its ports were last listed.
  bool none() const { return absl::IsNotFound(entries_.status()); }

 private:
  using Key = std::tuple<std::string, uint8_t, uint32_t, fabric::verbs::Gid>;
  static Key KeyOf(const GidEntry& entry) { return {entry.device, entry.port, entry.index, entry.gid}; }

  void Refresh();
  absl::StatusOr<GidEntry> Through(const Route& route) const;

  const RdmaOptions options_;
  const List list_;
  const Open open_;
  absl::StatusOr<std::vector<GidEntry>> entries_ = absl::UnknownError("not listed yet");
  absl::Time listed_ = absl::InfinitePast();
  std::map<Key, std::shared_ptr<fabric::Device>> devices_;  // only of what is listed
};

// Whether the options, where they name a device, port or GID index, mean that entry.
bool Means(const RdmaOptions& options, const fabric::verbs::GidEntry& entry);

// Whether they name any: who does knows what it reaches.
bool NamesPort(const RdmaOptions& options);

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_RDMA_PORTS_H_
