// Which memory may be reached under which key.
#ifndef SKEIN_CORE_FABRIC_SIM_REGIONS_H_
#define SKEIN_CORE_FABRIC_SIM_REGIONS_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "core/fabric/fabric.h"
#include "core/fabric/sim/random.h"

namespace skein::fabric::sim {

// Not thread-safe: used under World::mu(). A device is known here by its number.
class RegionTable {
 public:
  struct Keys {
    uint32_t lkey = 0;
    RemoteAddress remote;
  };

  Keys Add(uint64_t device, absl::Span<std::byte> bytes, uint32_t access, Random& random);
  void Remove(const Keys& keys);

  // The memory that a peer names by `remote`, or nullptr when it may not do with all of `size` bytes what `access`
  // says.
  std::byte* Reach(uint64_t device, const RemoteAddress& remote, uint64_t size, uint32_t access) const;
  // Whether `segment` lies within the region of its lkey.
  bool Covers(uint64_t device, const Segment& segment) const;
  // INVALID_ARGUMENT for a segment that may not be posted.
  absl::Status Check(uint64_t device, const Segment& segment, bool may_be_inline) const;

 private:
  struct Region {
    uint64_t device = 0;
    absl::Span<std::byte> bytes;
    uint32_t access = 0;
    uint64_t base = 0;  // the remote address of bytes[0]
  };

  absl::flat_hash_map<uint32_t, Region> by_rkey_;
  absl::flat_hash_map<uint32_t, Region> by_lkey_;
  uint32_t next_key_ = 0;
  uint64_t next_base_ = uint64_t{1} << 44;
};

}  // namespace skein::fabric::sim

#endif  // SKEIN_CORE_FABRIC_SIM_REGIONS_H_
