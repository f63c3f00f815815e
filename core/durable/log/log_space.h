// The ring as an account of space: which entries are still wanted, and where the next may lie. Pure.
#ifndef SKEIN_CORE_DURABLE_LOG_LOG_SPACE_H_
#define SKEIN_CORE_DURABLE_LOG_LOG_SPACE_H_

#include <cstdint>
#include <deque>
#include <optional>

namespace skein::durable {

// Positions count the bytes of all laps. Not thread-safe.
class LogSpace {
 public:
  LogSpace(uint64_t ring_bytes, uint64_t head);

  // An entry that recovery has found, the next one; and at last, where they end.
  void AddRecovered(uint64_t position);
  void EndRecovered(uint64_t tail);

  struct Place {
    uint64_t position = 0;
    uint64_t pad_bytes = 0;  // just before it, up to the ring's end
  };
  // For an entry of `bytes`, if so much and `keep_free` more is free.
  std::optional<Place> Take(uint64_t bytes, uint64_t keep_free);
  // Whether Take would do that if all that is released were written over, too.
  bool WouldFit(uint64_t bytes, uint64_t keep_free) const;

  // The entry at `position` is wanted no more. False: there is none, or it was released before.
  bool Release(uint64_t position);

  // Where the first entry is that is still wanted, or the tail.
  uint64_t head() const { return entries_.empty() ? tail_ : entries_.front().position; }
  uint64_t tail() const { return tail_; }
  uint64_t used() const { return tail_ - head(); }
  // The last entry, wanted or not; while there is none, where the log began.
  uint64_t last() const { return last_; }
  uint64_t ring_bytes() const { return ring_bytes_; }
  // What is before this, recovery will not look at any more: so it may be written over.
  uint64_t limit() const { return limit_; }
  void SetLimit(uint64_t limit) { limit_ = limit; }

 private:
  struct Wanted {
    uint64_t position;
    bool released;
  };
  uint64_t PadBefore(uint64_t bytes) const;
  bool Fits(uint64_t bytes, uint64_t keep_free, uint64_t limit) const;

  const uint64_t ring_bytes_;
  uint64_t limit_;
  uint64_t tail_;
  uint64_t last_;
  std::deque<Wanted> entries_;  // by position; the first is not released
};

}  // namespace skein::durable

#endif  // SKEIN_CORE_DURABLE_LOG_LOG_SPACE_H_
