// A byte stream to another process over a link: ordered, reliable, flow-controlled, half-closable; many share one link.
//
// A Stream is used by one owner. Any thread may call any method; Read calls must not overlap each other, nor Write
// calls each other. No method blocks. Readiness is edge-triggered through the observer.
#ifndef SKEIN_CORE_STREAM_STREAM_H_
#define SKEIN_CORE_STREAM_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/received_bytes.h"
#include "core/link/hop.h"

namespace skein::link {
class Link;
}

namespace skein::stream {

// Received bytes, owned.
struct Buffer {
  ReceivedBytes data;
  size_t size = 0;
};

using ConstBytes = absl::Span<const std::byte>;

// Called on the thread that polls the link, with no lock of core held; never two calls at once for one stream. May
// call the stream's methods; must not block. A last call may still arrive shortly after the stream was closed.
class StreamObserver {
 public:
  virtual ~StreamObserver() = default;
  virtual void OnReadable() = 0;  // after a Read that gave nothing: there are bytes, the end, or an error now
  virtual void OnWritable() = 0;  // after a Write that took less than all: it will take more, or fail, now
};

class Stream {
 public:
  // Aborts if neither side is closed yet.
  virtual ~Stream() = default;

  // Must be set before the first Read or Write.
  virtual void SetObserver(std::shared_ptr<StreamObserver> observer) = 0;

  // Takes as many bytes of `buffers`, in order, as window and ring allow: 0 up to all. They are copied or sent when
  // this returns. UNAVAILABLE when the link is lost, FAILED_PRECONDITION after CloseWrite, ABORTED when the peer
  // aborted.
  virtual absl::StatusOr<size_t> Write(absl::Span<const ConstBytes> buffers) = 0;

  // Appends up to about `max_bytes` received bytes to `out` (whole buffers; at least one if there is any). Nothing
  // appended and OK: nothing there yet. OUT_OF_RANGE: the peer half-closed and all its bytes were read. UNAVAILABLE:
  // the link was lost (bytes that had arrived are given first). ABORTED: the peer aborted, with its reason.
  virtual absl::Status Read(size_t max_bytes, std::vector<Buffer>& out) = 0;

  // Whether the peer has half-closed, as far as this end has polled; its bytes may still be unread. Takes no lock.
  virtual bool PeerHasClosed() const = 0;

  // No more writes; the peer reads what was written, then the end. Idempotent.
  virtual void CloseWrite() = 0;

  // Ends both directions now: unread bytes are dropped, the peer sees ABORTED with `reason`'s message (bounded).
  // Idempotent.
  virtual void Abort(const absl::Status& reason) = 0;

  // Calls `then`, from a poll or at once, when all that was sent so far has reached the peer, or with why it cannot.
  virtual void WhenReached(std::function<void(const absl::Status&)> then) = 0;

  // The fabric's name, for paths and logs: "shm".
  virtual std::string path() const = 0;

  // What carries it, for who waits for it with others.
  virtual std::shared_ptr<link::Link> link() const = 0;

  // Polls the link under this stream until nothing more has arrived: everything the peer had sent before it died is
  // then readable, or Coming. Used when another channel says that the peer is gone.
  // False: another thread is polling just now; call again.
  virtual bool Drain() = 0;

  // Whether bytes are on their way that the peer has announced and this end pulls. OnReadable follows: they come, or
  // the link is lost.
  virtual bool Coming() = 0;

  // Of the youngest bytes that have arrived (of large ones: that were announced), if their message is traced.
  virtual link::Arrival last_arrival() = 0;
};

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_STREAM_H_
