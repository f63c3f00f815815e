// The first page of a log: that it is one, which one, and how large.
#ifndef SKEIN_CORE_DURABLE_LOG_LOG_HEADER_H_
#define SKEIN_CORE_DURABLE_LOG_LOG_HEADER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/durable/log/identity.h"
#include "core/durable/log/layout.h"
#include "core/durable/storage/storage.h"

namespace skein::durable {

inline constexpr uint64_t kLogMagic = 0x474f4c4e49454b53;      // "SKEINLOG"
inline constexpr uint64_t kMakingMagic = 0x57454e4e49454b53;   // "SKEINNEW": it was being made when that was cut short
inline constexpr uint64_t kReplicaMagic = 0x5045524e49454b53;  // "SKEINREP": a replica's, until it is promoted

struct LogHeader {
  uint64_t magic = kLogMagic;
  uint32_t version = kLogVersion;
  uint32_t reserved = 0;
  uint64_t size = 0;
  LogId identity{};
  uint32_t checksum = 0;
  uint32_t reserved2 = 0;
};
static_assert(sizeof(LogHeader) == 48);

// With its checksum.
LogHeader MakeLogHeader(uint64_t size, const LogId& identity);

// Whether a log is still to be made there: nothing but zeros, or what an earlier making has left. FAILED_PRECONDITION
// if it is neither that nor a log, or of a size that no log has.
absl::StatusOr<bool> IsBlank(const Storage& storage);
// FAILED_PRECONDITION: of another version or size. DATA_LOSS: damaged.
absl::StatusOr<LogHeader> ReadLogHeader(const Storage& storage);

// Makes an empty log of what is blank. Cut short anywhere, it is still blank.
absl::Status MakeLog(Storage& storage, const LogId& identity);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LOG_LOG_HEADER_H_
