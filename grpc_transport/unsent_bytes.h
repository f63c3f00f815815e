// What gRPC has written to a connection and the stream has not taken: of the write under way, and of those before it
// that count as done because the peer is silent.
#ifndef SKEIN_GRPC_TRANSPORT_UNSENT_BYTES_H_
#define SKEIN_GRPC_TRANSPORT_UNSENT_BYTES_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "core/stream/stream.h"
#include "grpc_transport/grpc_internal.h"
#include "grpc_transport/received_slice.h"

namespace skein::grpc_transport {

// A peer that has read nothing for so long may be stopped. Writes to it count as done then: gRPC ends no call that has
// something to write while a write is under way, at its deadline neither.
constexpr grpc_core::Duration kSilence = grpc_core::Duration::Milliseconds(100);

// Under its endpoint's lock.
class UnsentBytes {
 public:
  UnsentBytes() { grpc_slice_buffer_init(&slices_); }
  ~UnsentBytes() { grpc_slice_buffer_destroy(&slices_); }
  UnsentBytes(const UnsentBytes&) = delete;
  UnsentBytes& operator=(const UnsentBytes&) = delete;

  bool empty() const { return slices_.length == 0; }
  // Takes the references to what `written` holds.
  void Add(grpc_slice_buffer* written) { grpc_slice_buffer_move_into(written, &slices_); }
  void Clear() { grpc_slice_buffer_reset_and_unref(&slices_); }

  // Valid until the next call that is not const.
  std::vector<stream::ConstBytes> Parts() const;
  // The stream has taken the first `bytes` of Parts(): if that is not all, it has no room until RoomAgain().
  void Taken(size_t bytes);
  bool no_room() const { return no_room_; }
  void RoomAgain() { no_room_ = false; }

  // Whether the write under way counts as done.
  bool CountsAsDone() const;
  // Counts in `quota` what is unsent of writes that have counted as done: chttp2 has forgotten them, and writes more.
  // (Of a write under way chttp2 holds the bytes itself, as over TCP.)
  void CountKept(bool write_under_way, Quota& quota);
  size_t kept() const { return kept_; }
  // A time of kSilence begins, and ends: silent if nothing has moved between the two.
  void BeginWatch() { moved_ = false; }
  void EndWatch() { silences_ += moved_ ? 0 : 1; }
  // A peer so silent will not read what is kept for it.
  bool GivenUp() const;

 private:
  grpc_slice_buffer slices_;
  size_t kept_ = 0;  // of it, as counted; while there is some, with the write that follows
  std::optional<Quota::Reservation> counted_;
  bool no_room_ = false;
  bool moved_ = false;  // in this watch
  int silences_ = 0;    // watches since anything has moved
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_UNSENT_BYTES_H_
