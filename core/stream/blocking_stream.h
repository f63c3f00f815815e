// A stream for threads that wait for it. While they do, they poll its link themselves, by turns with all others of this
// process that wait for something of the same link.
#ifndef SKEIN_CORE_STREAM_BLOCKING_STREAM_H_
#define SKEIN_CORE_STREAM_BLOCKING_STREAM_H_

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/base/deadline.h"
#include "core/stream/stream.h"
#include "core/wait/wait_set.h"

namespace skein::stream {

class Readiness;

// One thread may read while another writes; Interrupt is any thread's.
class BlockingStream {
 public:
  // `tcp`: the connection that the negotiation came by, which outlives this; its end, or any byte on it, says that the
  // peer has gone.
  BlockingStream(std::shared_ptr<Stream> stream, std::shared_ptr<wait::WaitSet> space, int tcp);
  BlockingStream(const BlockingStream&) = delete;
  BlockingStream& operator=(const BlockingStream&) = delete;
  ~BlockingStream();

  // Appends what has arrived, up to about `max_bytes` of it. OUT_OF_RANGE, UNAVAILABLE, ABORTED: see Stream::Read.
  // DEADLINE_EXCEEDED: nothing has, in time. CANCELLED: see Interrupt.
  absl::Status Read(size_t max_bytes, std::vector<Buffer>& out, Deadline deadline);
  // The same without waiting, of what has been polled. Nothing: a Read would wait.
  std::optional<absl::Status> TryRead(size_t max_bytes, std::vector<Buffer>& out);
  // By the reader, who waits elsewhere from now on, on a descriptor: it becomes readable when a Read that has given
  // nothing, or TryRead, would give something; the background thread polls for that. What the descriptor says otherwise
  // is the reader's (Readiness::Tell). Null: there is no descriptor to be had. Lives as long as this.
  Readiness* ShowReadiness();
  // All of `buffers`. DEADLINE_EXCEEDED: some of it may have gone, and the stream is good for nothing any more.
  // UNAVAILABLE: nobody reads it, for the peer has closed its side or has gone. (Users of blocking streams close both
  // sides at once.) The second of two writes with no read between them looks for a close that nobody has polled yet.
  absl::Status Write(absl::Span<const ConstBytes> buffers, Deadline deadline);
  // The same, as much as goes at once.
  absl::StatusOr<size_t> TryWrite(absl::Span<const ConstBytes> buffers);
  // Until it is known that what this end sends gets there, with nobody polling here: once for a link, it takes a
  // message and its acknowledgement.
  absl::Status AwaitReached(Deadline deadline);
  // The peer reads what was written, then the end. Waits for that no longer than until `deadline`, and only where the
  // end of this process, or of the TCP connection, would otherwise come before it.
  void Close(Deadline deadline);

  // Reads that wait, and all that are to come, fail with CANCELLED.
  void Interrupt();

  std::string path() const { return stream_->path(); }
  link::Arrival last_arrival() { return stream_->last_arrival(); }

 private:
  class Waits;

  void LookForAClose();
  absl::StatusOr<size_t> WriteSome(absl::Span<const ConstBytes> buffers);
  absl::Status AwaitFlushed(Deadline deadline);

  const std::shared_ptr<Stream> stream_;
  const std::shared_ptr<Waits> waits_;
  const std::shared_ptr<wait::NegotiationConnection> liveness_;
  std::atomic<bool> wrote_last_ = false;  // relaxed: a hint; the reader's and the writer's
};

}  // namespace skein::stream

#endif  // SKEIN_CORE_STREAM_BLOCKING_STREAM_H_
