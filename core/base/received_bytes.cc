#include "core/base/received_bytes.h"

#include <new>

#include "core/base/forked.h"
#include "core/base/mutex.h"

namespace skein {
namespace {

// In front of the bytes; while nobody uses them, the pool's.
struct alignas(std::max_align_t) Header {
  Header* next = nullptr;
  size_t capacity = 0;
};

std::byte* BytesOf(Header* header) { return reinterpret_cast<std::byte*>(header + 1); }
Header* HeaderOf(std::byte* bytes) { return reinterpret_cast<Header*>(bytes) - 1; }

Header* Allocate(size_t size) { return new (::operator new(sizeof(Header) + size)) Header{nullptr, size}; }

bool PoolWorks() {
#ifdef __SANITIZE_ADDRESS__
  return false;
#else
  return !InForkedChild();  // where another thread may have had the pool's lock
#endif
}

// Last in, first out. Lock: mu_, a leaf.
class Pool {
 public:
  Header* Take() {
    {
      MutexLock lock(&mu_);
      if (Header* const first = first_; first != nullptr) {
        first_ = first->next;
        --count_;
        return first;
      }
    }
    return Allocate(kPooledBytes);
  }

  void Give(Header* header) {
    {
      MutexLock lock(&mu_);
      if (count_ < kMostPooled / kPooledBytes) {
        header->next = first_;
        first_ = header;
        ++count_;
        return;
      }
    }
    ::operator delete(header);
  }

 private:
  Mutex mu_;
  Header* first_ ABSL_GUARDED_BY(mu_) = nullptr;
  size_t count_ ABSL_GUARDED_BY(mu_) = 0;
};

// Never destroyed: threads that outlive main give back, too.
Pool& ThePool() {
  static Pool* const pool = new Pool;
  return *pool;
}

}  // namespace

void ReleaseReceivedBytes::operator()(std::byte* bytes) const {
  Header* const header = HeaderOf(bytes);
  if (header->capacity == kPooledBytes && PoolWorks()) return ThePool().Give(header);
  ::operator delete(header);
}

ReceivedBytes NewReceivedBytes(size_t size) {
  const bool fits = size >= kLeastPooled && size <= kPooledBytes;
  return ReceivedBytes(BytesOf(fits && PoolWorks() ? ThePool().Take() : Allocate(size)));
}

size_t CapacityOf(const ReceivedBytes& bytes) { return HeaderOf(bytes.get())->capacity; }

}  // namespace skein
