// Bytes that have arrived and are read bit by bit from where they lie.
#ifndef SKEIN_THRIFT_TRANSPORT_ARRIVED_H_
#define SKEIN_THRIFT_TRANSPORT_ARRIVED_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/stream/stream.h"

namespace skein::thrift_transport {

// Not thread-safe.
class Arrived {
 public:
  static constexpr size_t kMostTaken = 1 << 20;  // bytes of a stream, at once

  bool empty() const { return current_ == buffers_.size(); }
  // When it is empty: where to put what comes next.
  std::vector<stream::Buffer>& Refill() {
    buffers_.clear();
    current_ = 0;
    return buffers_;
  }

  // When it is not empty: at most `size` bytes, at least one.
  uint32_t Take(uint8_t* to, uint32_t size) {
    const uint32_t taken = std::min(size, here());
    std::memcpy(to, at(), taken);
    Consume(taken);
    return taken;
  }
  // Of what lies in one piece: null if that is less than `*size`.
  const uint8_t* Borrow(uint32_t* size) const {
    if (empty() || here() < *size) return nullptr;
    *size = here();
    return at();
  }
  // Of what was borrowed.
  void Consume(uint32_t size) {
    read_ += size;
    if (read_ < buffers_[current_].size) return;
    buffers_[current_++].data = nullptr;
    read_ = 0;
  }

 private:
  uint32_t here() const { return static_cast<uint32_t>(std::min<size_t>(buffers_[current_].size - read_, UINT32_MAX)); }
  const uint8_t* at() const { return reinterpret_cast<const uint8_t*>(buffers_[current_].data.get()) + read_; }

  std::vector<stream::Buffer> buffers_;
  size_t current_ = 0;  // of buffers_
  size_t read_ = 0;     // of the current one
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_ARRIVED_H_
