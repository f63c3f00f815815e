// What gRPC has written to a connection and the stream has not taken: of the write under way, and of those before it
// that count as done because the peer is silent.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_UNSENT_BYTES_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_UNSENT_BYTES_H_

#include <grpc/slice_buffer.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/stream/stream.h"

namespace skein::grpc_transport {

// A peer that has read nothing for so long may be stopped. Writes to it count as done then: gRPC ends no call that has
// something to write while a write is under way, at its deadline neither.
inline constexpr absl::Duration kSilence = absl::Milliseconds(100);

// Under its endpoint's lock. A writer gives the bytes to the stream without that lock (BeginWrite): meanwhile no slice
// moves, and the next write's slices stay in gRPC's buffer, which is there until that write is done.
class UnsentBytes {
 public:
  // Counts so many bytes in gRPC's quota, until what it returns is destroyed.
  using Reserve = absl::FunctionRef<std::shared_ptr<void>(size_t)>;

  UnsentBytes() { grpc_slice_buffer_init(&slices_); }
  ~UnsentBytes() { grpc_slice_buffer_destroy(&slices_); }
  UnsentBytes(const UnsentBytes&) = delete;
  UnsentBytes& operator=(const UnsentBytes&) = delete;

  bool empty() const { return slices_.length == 0; }
  // Takes the references to what `written` holds, now or when the writer is back.
  void Add(grpc_slice_buffer* written);
  // As Taken, this says that the writer is back.
  void Clear();

  // All bytes; valid until the writer is back.
  absl::Span<const stream::ConstBytes> BeginWrite();
  // The writer is back: the stream has taken the first `bytes`. If those are not all, the stream has no space until
  // SpaceAgain(), which may have come while the writer was away.
  void Taken(size_t bytes);
  bool no_space() const { return no_space_; }
  void SpaceAgain() { no_space_ = false; }

  // Whether the write under way counts as done.
  bool CountsAsDone() const;
  // Counts what is unsent of writes that have counted as done: chttp2 has forgotten them, and writes more. (Of a write
  // under way chttp2 holds the bytes itself, as over TCP.)
  void CountKept(bool write_under_way, Reserve reserve);
  size_t kept() const { return kept_; }
  // A time of kSilence begins, and ends: silent if nothing has moved between the two.
  void BeginWatch() { moved_ = false; }
  void EndWatch() { silences_ += moved_ ? 0 : 1; }
  // A peer so silent will not read what is kept for it.
  bool GivenUp() const;

 private:
  grpc_slice_buffer slices_;
  std::vector<stream::ConstBytes> parts_;  // the writer's: of slices_ while it is away
  bool writing_ = false;                   // the writer is away
  grpc_slice_buffer* behind_ = nullptr;    // written meanwhile
  size_t kept_ = 0;                        // of it, as counted; while there is some, with the write that follows
  std::shared_ptr<void> counted_;
  bool no_space_ = false;
  bool moved_ = false;  // in this watch
  int silences_ = 0;    // watches since anything has moved
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_UNSENT_BYTES_H_
