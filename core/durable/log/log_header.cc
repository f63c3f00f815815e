#include "core/durable/log/log_header.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "core/durable/log/checksum.h"
#include "core/durable/log/head_slot.h"
#include "core/durable/storage/blank.h"

namespace skein::durable {
namespace {

uint32_t ChecksumOf(const LogHeader& header) {
  return Checksum(0, BytesOf(header).substr(0, offsetof(LogHeader, checksum)));
}

absl::Status CheckSize(uint64_t size) {
  if (size >= kSmallestLog && size <= kLargestLog) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a redo log has ", kSmallestLog, " to ", kLargestLog, " bytes, not ", size));
}

}  // namespace

LogHeader MakeLogHeader(uint64_t size, const LogId& identity) {
  LogHeader header;
  header.size = size;
  header.identity = identity;
  header.checksum = ChecksumOf(header);
  return header;
}

absl::StatusOr<bool> IsBlank(const Storage& storage) {
  if (absl::Status size = CheckSize(storage.size()); !size.ok()) return size;
  uint64_t magic = 0;
  if (absl::Status read = storage.Read(0, MutableBytesOf(magic)); !read.ok()) return read;
  if (magic == kReplicaMagic) {
    return absl::FailedPreconditionError(
        "this is a replica's log; if its primary is gone for good, `skein durable promote` makes it one to be served");
  }
  return IsBlank(storage, kMakingMagic, kLogMagic, "redo log");
}

absl::StatusOr<LogHeader> ReadLogHeader(const Storage& storage) {
  if (absl::Status size = CheckSize(storage.size()); !size.ok()) return size;
  LogHeader header;
  if (absl::Status read = storage.Read(0, MutableBytesOf(header)); !read.ok()) return read;
  if (header.magic != kLogMagic) return absl::FailedPreconditionError("no redo log");
  if (header.version != kLogVersion) {
    return absl::FailedPreconditionError(absl::StrCat("a redo log of version ", header.version, ", and this reads ",
                                                      kLogVersion,
                                                      "; let the version of Skein that wrote it finish it"));
  }
  if (header.checksum != ChecksumOf(header)) return absl::DataLossError("the redo log's header is damaged");
  if (header.size != storage.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("a redo log of ", header.size, " bytes in a storage of ", storage.size()));
  }
  return header;
}

absl::Status MakeLog(Storage& storage, const LogId& identity) {
  if (absl::Status size = CheckSize(storage.size()); !size.ok()) return size;
  // The magic says that it is being made before there is anything else, and that it is made when all else is safe.
  absl::Status status = storage.WriteWord(0, kMakingMagic);
  if (status.ok()) status = storage.Persist(0, sizeof(kMakingMagic));
  const LogHeader header = MakeLogHeader(storage.size(), identity);
  if (status.ok()) status = storage.Write(sizeof(header.magic), BytesOf(header).substr(sizeof(header.magic)));
  for (const uint64_t number : {0, 1}) {
    const HeadSlot slot = MakeHeadSlot(identity, {.number = number});
    if (status.ok()) status = storage.Write(SlotOffset(number), BytesOf(slot));
  }
  if (status.ok()) status = storage.Persist(0, kRingOffset);
  if (status.ok()) status = storage.WriteWord(0, kLogMagic);
  if (status.ok()) status = storage.Persist(0, sizeof(kLogMagic));
  return status;
}

}  // namespace skein::durable
