// What a primary tells a replica to do with its log, as bytes: rows of records of 16 bytes, some with bytes behind
// them.
//
//   offset   0     4        8
//            kind  length   value
//   follow   1     0        number      the replica has all up to that; what follows goes into its log
//   copy     2     0        number      a new log is begun: a copy, from bytes and batches that follow
//   bytes    3     of them  offset      they are to be there; they follow
//   zeros    4     of them  offset      zeros are to be there
//   batch    5     0        number      ends a batch: what comes before it is to be persisted before what comes behind
//   copied   6     0        number      the copy has all bytes, and is a log once it has the batch of that number
//
// Little-endian.
#ifndef SKEIN_CORE_DURABLE_REPLICAS_CHANGES_H_
#define SKEIN_CORE_DURABLE_REPLICAS_CHANGES_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/wire/bytes.h"

namespace skein::durable {

enum class ChangeKind : uint32_t { kFollow = 1, kCopy = 2, kBytes = 3, kZeros = 4, kBatch = 5, kCopied = 6 };

struct Change {
  ChangeKind kind = ChangeKind::kBatch;
  uint64_t value = 0;       // a number, or an offset
  uint64_t length = 0;      // of bytes or zeros
  absl::string_view bytes;  // of kBytes
};

void AppendChange(std::string& out, ChangeKind kind, uint64_t value);
void AppendBytes(std::string& out, uint64_t offset, absl::Span<const absl::string_view> pieces);
void AppendZeros(std::string& out, uint64_t offset, uint32_t length);

// The next one, from bytes that any peer may have sent. DATA_LOSS: there is no such record.
absl::StatusOr<Change> TakeChange(wire::FieldReader& reader);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_REPLICAS_CHANGES_H_
