#include "core/base/received_bytes.h"

#include <atomic>
#include <new>

#include "core/base/forked.h"
#include "core/base/mutex.h"

namespace skein {
namespace {

// In front of the bytes; while nobody uses them, the pool's.
struct alignas(std::max_align_t) Header {
  union {
    Header* next = nullptr;  // of large pieces in their pool
    uint32_t home;           // of a small one
  };
  size_t capacity = 0;
};

std::byte* BytesOf(Header* header) { return reinterpret_cast<std::byte*>(header + 1); }
Header* HeaderOf(std::byte* bytes) { return reinterpret_cast<Header*>(bytes) - 1; }

Header* Allocate(size_t size) { return new (::operator new(sizeof(Header) + size)) Header{{nullptr}, size}; }

#ifdef __SANITIZE_ADDRESS__
constexpr bool kPools = false;
#else
constexpr bool kPools = true;
#endif

bool LargePoolWorks() { return kPools && !InForkedChild(); }  // there another thread may have had the pool's lock

// Where one small piece waits. Any thread takes it out and any thread puts one in, without a lock: the taker exchanges
// the pointer for null, the giver exchanges null for the pointer. In between the piece is its holder's alone. Neither
// exchange depends on an older look: so it does no harm that the same piece comes back meanwhile.
class alignas(64) Home {
 public:
  // Null: nothing waits. Acquire: pairs with Put, so the last user has done with the bytes.
  Header* Take() {
    return piece_.load(std::memory_order_relaxed) == nullptr ? nullptr
                                                             : piece_.exchange(nullptr, std::memory_order_acquire);
  }
  // False: another piece waits already.
  bool Put(Header* piece) {
    Header* nothing = nullptr;
    return piece_.load(std::memory_order_relaxed) == nullptr &&
           piece_.compare_exchange_strong(nothing, piece, std::memory_order_release, std::memory_order_relaxed);
  }

 private:
  std::atomic<Header*> piece_{nullptr};
};

// Constant from the start and never destroyed: threads that outlive main give back, too.
constinit Home homes[kHomes];

Header* TakeSmall(uint32_t home) {
  home %= kHomes;
  Header* piece = kPools ? homes[home].Take() : nullptr;
  if (piece == nullptr) piece = Allocate(kSmallPiece);
  piece->home = home;
  return piece;
}

// Of large pieces: last in, first out. Lock: mu_, a leaf.
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
  if (header->capacity == kSmallPiece && kPools && homes[header->home].Put(header)) return;
  if (header->capacity == kPooledBytes && LargePoolWorks()) return ThePool().Give(header);
  ::operator delete(header);
}

ReceivedBytes NewReceivedBytes(size_t size, uint32_t home) {
  if (size <= kSmallPiece) return ReceivedBytes(BytesOf(TakeSmall(home)));
  const bool fits = size >= kLeastPooled && size <= kPooledBytes;
  return ReceivedBytes(BytesOf(fits && LargePoolWorks() ? ThePool().Take() : Allocate(size)));
}

size_t CapacityOf(const ReceivedBytes& bytes) { return HeaderOf(bytes.get())->capacity; }

}  // namespace skein
