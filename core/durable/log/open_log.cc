// RedoLog's beginning: an empty log is made, or the one that is there made safe.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "core/durable/log/checksum.h"
#include "core/durable/log/redo_log.h"

namespace skein::durable {
namespace {

// Writes what is there over itself. After a failed fsync, a kernel may hold pages that it takes for clean and the disk
// has not; a process that starts anew cannot know that it is so.
absl::Status Rewrite(Storage& storage, const Extent& extent) {
  std::string part;
  for (uint64_t done = 0; done < extent.length; done += part.size()) {
    part.resize(std::min<uint64_t>(extent.length - done, 1 << 20));
    absl::Status status = storage.Read(extent.offset + done, absl::MakeSpan(part));
    if (status.ok()) status = storage.Write(extent.offset + done, part);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RedoLog>> RedoLog::Open(std::unique_ptr<Storage> storage, const RedoLogOptions& options,
                                                       EntryVisitor visit) {
  const absl::StatusOr<bool> blank = IsBlank(*storage);
  if (!blank.ok()) return blank.status();
  if (*blank) {
    const LogId identity = options.identity ? *options.identity : RandomId();
    if (absl::Status made = MakeLog(*storage, identity); !made.ok()) return made;
  }
  const absl::StatusOr<LogHeader> header = ReadLogHeader(*storage);
  if (!header.ok()) return header.status();
  if (options.identity && *options.identity != header->identity) {
    return absl::FailedPreconditionError("this is another redo log than the one asked for; name the right one");
  }
  const uint64_t ring_bytes = RingBytes(storage->size());
  std::vector<uint64_t> positions;
  const absl::StatusOr<Recovered> recovered = Recover(*storage, [&](const Entry& entry) {
    positions.push_back(entry.position);
    return visit(entry);
  });
  if (!recovered.ok()) return recovered.status();
  LogSpace space(ring_bytes, recovered->slot.head);
  for (const uint64_t position : positions) space.AddRecovered(position);
  space.EndRecovered(recovered->tail);
  auto log = absl::WrapUnique(new RedoLog(std::move(storage), header->identity, std::move(space)));
  if (absl::Status started = log->Start(*recovered); !started.ok()) return started;
  return log;
}

absl::Status RedoLog::Start(const Recovered& recovered) {
  if (recovered.epoch >= ~uint32_t{0} - 1) return absl::DataLossError("the redo log has been opened too often");
  if (absl::Status safe = MakeSafe(recovered); !safe.ok()) return safe;
  // Entries of before that turn up later, behind those of now, are told by their epoch.
  const HeadSlot slot = MakeHeadSlot(
      identity_, {.number = recovered.slot.number + 1, .head = recovered.slot.head, .epoch = recovered.epoch + 1});
  absl::Status status = storage_->Write(SlotOffset(slot.number), BytesOf(slot));
  if (status.ok()) status = storage_->Persist(SlotOffset(slot.number), sizeof(slot));
  if (!status.ok()) return status;
  const MutexLock lock(&mu_);
  epoch_ = slot.epoch;
  slot_ = slot;
  persisted_ = told_ = recovered.tail;
  last_persisted_ = space_.last();
  return absl::OkStatus();
}

// A process that died may have left entries in the system's memory only, or what the log begins with. They are shown
// as safe: so they must be.
absl::Status RedoLog::MakeSafe(const Recovered& recovered) {
  const uint64_t head = recovered.slot.head;
  std::vector<Extent> unsure = ExtentsOf(std::clamp(recovered.settled, head, recovered.tail), recovered.tail);
  unsure.push_back({0, kRingOffset});
  for (const Extent& extent : unsure) {
    if (absl::Status rewritten = Rewrite(*storage_, extent); !rewritten.ok()) return rewritten;
  }
  std::vector<Extent> extents = ExtentsOf(head, recovered.tail);
  extents.push_back({0, kRingOffset});
  return storage_->Persist(extents);
}

}  // namespace skein::durable
