// What a combining queue is made of: a thread's request, and several that are done together.
#ifndef SKEIN_CORE_COALESCE_BATCH_H_
#define SKEIN_CORE_COALESCE_BATCH_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/wait/atomics.h"

namespace skein::coalesce {

template <class Request>
class CombiningQueue;
template <class Request>
class Batch;

// The base of a request. It belongs to its thread, but while that is in Join, to the queue; and it may be gone as soon
// as it is done.
template <class Request, class Policy = wait::SystemAtomics>
class Entry {
 public:
  using Atomics = Policy;

 private:
  friend CombiningQueue<Request>;
  friend Batch<Request>;

  // What a follower has been told, or says.
  enum State : uint32_t {
    kWaiting,
    kOffered,  // by the leader: help yourself
    kHelping,  // by the follower, as is the next
    kHelped,
    kLeads,
    kDone,
    kParked = 0x80,  // beside kWaiting or kHelped: sleeps, or is about to
  };

  typename Policy::template Atomic<Request*> next_{nullptr};
  typename Policy::template Atomic<uint32_t> state_{kWaiting};
};

// Consecutive requests, the leader's own first. Valid until Finish.
template <class Request>
class Batch {
 public:
  explicit Batch(Request& own) : own_(&own), last_(&own) {}
  size_t size() const { return size_; }

  class Iterator {
   public:
    Iterator(Request* at, size_t left) : at_(at), left_(left) {}
    Request& operator*() const { return *at_; }
    Iterator& operator++() {
      at_ = at_->next_.load(std::memory_order_relaxed);
      --left_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return left_ != other.left_; }

   private:
    Request* at_;
    size_t left_;
  };
  Iterator begin() const { return {own_, size_}; }
  Iterator end() const { return {nullptr, 0}; }

 private:
  friend CombiningQueue<Request>;
  Request* own_;
  Request* last_;
  size_t size_ = 1;
};

}  // namespace skein::coalesce

#endif  // SKEIN_CORE_COALESCE_BATCH_H_
