// Bytes that survive a crash: what the redo log stands on.
#ifndef SKEIN_CORE_DURABLE_STORAGE_STORAGE_H_
#define SKEIN_CORE_DURABLE_STORAGE_STORAGE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/durable/storage/persistence.h"

namespace skein::durable {

struct Extent {
  uint64_t offset = 0;
  uint64_t length = 0;
};

// A fixed number of bytes. Any thread may call anything at any time; what two threads write to the same bytes at once
// is for them to agree on. Offsets and lengths beyond the end are OUT_OF_RANGE, and nothing is done.
//
// What was written is read back at once. After a crash, each byte that was written since the last Persist that covers
// it and returned OK may be the old or the new one, or for bytes written more than once any of these; an aligned word
// that WriteWord wrote is one of them as a whole. All others are as they were.
class Storage {
 public:
  virtual ~Storage() = default;

  virtual uint64_t size() const = 0;
  // What a Persist that returned OK has truly achieved.
  virtual Persistence persistence() const = 0;
  // Persist costs by the cache line rather than a trip to a disk: it pays to persist data, then the word behind it.
  virtual bool fine_grained() const = 0;
  // All of it as memory, for a device or a peer to write into as well; empty where there is none. As long as this
  // lives.
  virtual absl::Span<std::byte> mapped() { return {}; }

  // Puts the pieces at `offset`, one after the other.
  virtual absl::Status Write(uint64_t offset, absl::Span<const absl::string_view> pieces) = 0;
  // `offset` is a multiple of 8.
  virtual absl::Status WriteWord(uint64_t offset, uint64_t value) = 0;
  // Returns when all that was written to the extents before the call is safe. After an error nobody knows what is, and
  // a further call that succeeds proves nothing: do not try again.
  virtual absl::Status Persist(absl::Span<const Extent> extents) = 0;
  virtual absl::Status Read(uint64_t offset, absl::Span<char> into) const = 0;

  absl::Status Write(uint64_t offset, absl::string_view bytes) { return Write(offset, absl::MakeConstSpan(&bytes, 1)); }
  absl::Status Persist(uint64_t offset, uint64_t length) {
    const Extent extent{offset, length};
    return Persist(absl::MakeConstSpan(&extent, 1));
  }

 protected:
  // For implementations.
  absl::Status CheckRange(uint64_t offset, uint64_t length) const;
  absl::Status CheckWord(uint64_t offset) const;
  absl::Status CheckRanges(absl::Span<const Extent> extents) const;
};

uint64_t TotalBytes(absl::Span<const absl::string_view> pieces);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_STORAGE_STORAGE_H_
