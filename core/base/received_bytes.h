// Memory for bytes that have arrived, until whoever reads them has done with them.
//
// Pieces of some size come from a pool of the process and go back there: the next to arrive land where the last have
// just been read, in memory that is still in a cache and still mapped. malloc would return large pieces to the kernel,
// whose page faults then cost more than the copy.
#ifndef SKEIN_CORE_BASE_RECEIVED_BYTES_H_
#define SKEIN_CORE_BASE_RECEIVED_BYTES_H_

#include <cstddef>
#include <memory>

namespace skein {

// Pieces of the pool are of one size; smaller and larger requests are malloc's, and all are in a child made by fork()
// and under AddressSanitizer, which would not see who reads what has been given back.
inline constexpr size_t kPooledBytes = size_t{32} << 10;
inline constexpr size_t kLeastPooled = size_t{8} << 10;
// What the process keeps at most while nobody uses it.
inline constexpr size_t kMostPooled = size_t{8} << 20;

// Any thread.
struct ReleaseReceivedBytes {
  void operator()(std::byte* bytes) const;
};
using ReceivedBytes = std::unique_ptr<std::byte[], ReleaseReceivedBytes>;

// At least `size`, not cleared.
ReceivedBytes NewReceivedBytes(size_t size);
// How many there are.
size_t CapacityOf(const ReceivedBytes& bytes);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_RECEIVED_BYTES_H_
