// The peer's memory regions as this end of a connection has them: asked for at the first use of an rkey, then mapped.
#ifndef SKEIN_CORE_FABRIC_SHM_IMPORTS_H_
#define SKEIN_CORE_FABRIC_SHM_IMPORTS_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/fabric/fabric.h"
#include "core/fabric/shm/memory.h"
#include "core/fabric/shm/regions.h"
#include "core/fabric/shm/shm_device.h"
#include "core/fabric/shm/side_message.h"

namespace skein::fabric::shm {

// One region of the peer.
class Import {
 public:
  Import(Mapping mapping, const SideMessage& grant)
      : mapping_(std::move(mapping)),
        access_(grant.access),
        size_(grant.size),
        base_(grant.base),
        address_(grant.address) {}

  bool mapped() const { return address_ == 0; }
  bool Allows(uint32_t access, uint64_t address, uint64_t size) const;
  // Of mapped regions.
  std::byte* at(uint64_t address) const { return mapping_.data() + kHeader + (address - base_); }
  // Of registered ones: out of the memory of process `pid`.
  absl::Status ReadFrom(pid_t pid, uint64_t address, absl::Span<const Segment> into) const;

 private:
  static constexpr size_t kHeader = kRegionHeaderBytes;
  Mapping mapping_;
  uint32_t access_;
  uint64_t size_;
  uint64_t base_;
  uint64_t address_;
};

// Not thread-safe: used under its queue pair's send lock.
class Imports {
 public:
  explicit Imports(const ShmOptions& limits) : limits_(limits) {}

  const Import* Find(uint32_t rkey) const;
  bool Refused(uint32_t rkey) const { return refused_.contains(rkey); }
  // Whether the rkey is still to be asked for; it is then taken as asked.
  bool StartAsking(uint32_t rkey) { return asked_.insert(rkey).second; }
  // The peer's answer. An error is the end of the connection: the peer broke the protocol or a limit.
  absl::Status Add(const SideMessage& grant, int memfd);
  absl::Status Refuse(uint32_t rkey);

 private:
  const ShmOptions limits_;
  absl::flat_hash_map<uint32_t, Import> imports_;
  absl::flat_hash_set<uint32_t> asked_;
  absl::flat_hash_set<uint32_t> refused_;
  size_t mapped_bytes_ = 0;
};

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_IMPORTS_H_
