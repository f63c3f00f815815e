// Memory for bytes that have arrived, until whoever reads them has done with them.
//
// Pieces of two sizes come from pools of the process and go back there: the next to arrive land where the last have
// just been read, in memory that is still in a cache and still mapped. malloc would return large pieces to the kernel,
// whose page faults then cost more than the copy. For a small piece malloc and free are most of the cost.
#ifndef SKEIN_CORE_BASE_RECEIVED_BYTES_H_
#define SKEIN_CORE_BASE_RECEIVED_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace skein {

// The smallest piece. Each message of a stream takes one, or shares the last. So the pool keeps one for each *home*: a
// small piece that is given back waits at its home for the next request from there.
inline constexpr size_t kSmallPiece = 256;
inline constexpr uint32_t kHomes = 64;
// Large pieces are of one size. A request of kLeastPooled to kPooledBytes bytes gets one; malloc serves the others
// above kSmallPiece. So does malloc every request under AddressSanitizer, which would not see who reads what has been
// given back, and so is every large piece in a child made by fork().
inline constexpr size_t kPooledBytes = size_t{32} << 10;
inline constexpr size_t kLeastPooled = size_t{8} << 10;
// What the process keeps at most while nobody uses it.
inline constexpr size_t kMostPooled = size_t{8} << 20;

// Any thread.
struct ReleaseReceivedBytes {
  void operator()(std::byte* bytes) const;
};
using ReceivedBytes = std::unique_ptr<std::byte[], ReleaseReceivedBytes>;

// At least `size`, not cleared. `home`: any number; users of the same number modulo kHomes share a home.
ReceivedBytes NewReceivedBytes(size_t size, uint32_t home = 0);
// How many there are.
size_t CapacityOf(const ReceivedBytes& bytes);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_RECEIVED_BYTES_H_
