#include "core/durable/storage/file_storage.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "absl/container/inlined_vector.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"

namespace skein::durable {
namespace {

using Vectors = absl::InlinedVector<iovec, 4>;

// What is left after `written` bytes.
void Advance(Vectors& vectors, size_t written) {
  while (!vectors.empty() && written >= vectors.front().iov_len) {
    written -= vectors.front().iov_len;
    vectors.erase(vectors.begin());
  }
  if (vectors.empty()) return;
  vectors.front().iov_base = static_cast<char*>(vectors.front().iov_base) + written;
  vectors.front().iov_len -= written;
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileStorage>> FileStorage::Open(const std::string& path, uint64_t size) {
  absl::StatusOr<LogFile> file = OpenLogFile(path, size);
  if (!file.ok()) return file.status();
  return absl::WrapUnique(new FileStorage(path, *std::move(file)));
}

absl::Status FileStorage::Write(uint64_t offset, absl::Span<const absl::string_view> pieces) {
  if (absl::Status inside = CheckRange(offset, TotalBytes(pieces)); !inside.ok()) return inside;
  Vectors vectors;
  for (const absl::string_view piece : pieces) {
    if (!piece.empty()) vectors.push_back({const_cast<char*>(piece.data()), piece.size()});
  }
  while (!vectors.empty()) {
    const ssize_t wrote =
        pwritev(file_.fd.get(), vectors.data(), static_cast<int>(vectors.size()), static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return ErrnoStatus(errno, absl::StrCat("write ", path_));
    offset += static_cast<uint64_t>(wrote);
    Advance(vectors, static_cast<size_t>(wrote));
  }
  return absl::OkStatus();
}

absl::Status FileStorage::WriteWord(uint64_t offset, uint64_t value) {
  if (absl::Status inside = CheckWord(offset); !inside.ok()) return inside;
  return Storage::Write(offset, absl::string_view(reinterpret_cast<const char*>(&value), sizeof(value)));
}

absl::Status FileStorage::Persist(absl::Span<const Extent> extents) {
  if (absl::Status inside = CheckRanges(extents); !inside.ok()) return inside;
  if (extents.empty() || fdatasync(file_.fd.get()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("fdatasync ", path_));
}

absl::Status FileStorage::Read(uint64_t offset, absl::Span<char> into) const {
  if (absl::Status inside = CheckRange(offset, into.size()); !inside.ok()) return inside;
  while (!into.empty()) {
    const ssize_t got = pread(file_.fd.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, absl::StrCat("read ", path_));
    if (got == 0) return absl::DataLossError(absl::StrCat(path_, " has become shorter than it was"));
    offset += static_cast<uint64_t>(got);
    into.remove_prefix(static_cast<size_t>(got));
  }
  return absl::OkStatus();
}

}  // namespace skein::durable
