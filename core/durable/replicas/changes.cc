#include "core/durable/replicas/changes.h"

#include <algorithm>
#include <limits>

#include "core/durable/storage/storage.h"

namespace skein::durable {
namespace {

void AppendHeader(std::string& out, ChangeKind kind, uint32_t length, uint64_t value) {
  wire::Put(out, static_cast<uint32_t>(kind));
  wire::Put(out, length);
  wire::Put(out, value);
}

}  // namespace

void AppendChange(std::string& out, ChangeKind kind, uint64_t value) { AppendHeader(out, kind, 0, value); }

void AppendBytes(std::string& out, uint64_t offset, absl::Span<const absl::string_view> pieces) {
  // No entry of a log is as large as a record's length can say.
  AppendHeader(out, ChangeKind::kBytes, static_cast<uint32_t>(TotalBytes(pieces)), offset);
  for (const absl::string_view piece : pieces) out.append(piece.data(), piece.size());
}

void AppendZeros(std::string& out, uint64_t offset, uint32_t length) {
  AppendHeader(out, ChangeKind::kZeros, length, offset);
}

absl::StatusOr<Change> TakeChange(wire::FieldReader& reader) {
  Change change;
  const auto kind = reader.Take<uint32_t>();
  change.length = reader.Take<uint32_t>();
  change.value = reader.Take<uint64_t>();
  change.kind = static_cast<ChangeKind>(kind);
  const bool known =
      kind >= static_cast<uint32_t>(ChangeKind::kFollow) && kind <= static_cast<uint32_t>(ChangeKind::kCopied);
  const bool has_length = change.kind == ChangeKind::kBytes || change.kind == ChangeKind::kZeros;
  if (change.kind == ChangeKind::kBytes) change.bytes = reader.TakeBytes(change.length);
  if (reader.ok() && known && (has_length || change.length == 0)) return change;
  return absl::DataLossError("the primary sends what is no change of a log");
}

}  // namespace skein::durable
