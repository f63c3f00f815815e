// A flush entry's checksum: four CRC-32C that take the payload's words in turn, mixed.
//
// A processor's CRC instruction takes three cycles and one can begin in each; four independent rows use that, one row
// would wait. zlib's CRC-32, which the log's entries have, takes six times as long: for 64 KiB it would cost the sender
// more than the wire, and unlike on a disk nothing hides it. (Abseil's CRC32C is internal in Debian's version.)
#ifndef SKEIN_CORE_DURABLE_FLUSH_FAST_CHECKSUM_H_
#define SKEIN_CORE_DURABLE_FLUSH_FAST_CHECKSUM_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace skein::durable {

// Of the header's bytes, then the payload's. FORMAT.md has it in words. Any thread.
uint32_t FastChecksum(absl::string_view header, absl::string_view payload);

// The same without the instruction, and CRC-32C itself (iSCSI's), for tests.
uint32_t PlainFastChecksum(absl::string_view header, absl::string_view payload);
uint32_t Crc32c(absl::string_view bytes);

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_FLUSH_FAST_CHECKSUM_H_
