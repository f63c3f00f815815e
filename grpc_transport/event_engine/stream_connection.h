// What an endpoint (endpoint.h) is for: a stream with a silent TCP connection beside it, read and written by gRPC. It
// outlives the endpoint while something kept for the peer is being sent.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_STREAM_CONNECTION_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_STREAM_CONNECTION_H_

#include <functional>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/base/forked.h"
#include "core/base/mutex.h"
#include "grpc_transport/common/unsent_bytes.h"
#include "grpc_transport/event_engine/endpoint.h"

namespace skein::grpc_transport {

// Any thread. Lock: mu_, under which the stream is called (it calls back only from polling), but for Write. Callbacks
// of gRPC's go through Ready, and never run inline. Kept alive by the endpoint, by the stream's observer, by the read
// that watches TCP and by what it has scheduled.
class StreamConnection : public std::enable_shared_from_this<StreamConnection> {
 public:
  using OnDone = absl::AnyInvocable<void(absl::Status)>;

  explicit StreamConnection(EndpointParts parts);
  void Start();

  // As EventEngine::Endpoint's. True: done.
  bool Read(OnDone on_read, SliceBuffer* buffer);
  bool Write(OnDone on_written, SliceBuffer* data);
  // By the endpoint's end, once: nobody reads or writes from now on. What is under way fails.
  void Shutdown();

 private:
  class Observer;

  // One thread at a time writes to the stream, without mu_: in Write it may wait for the link's other writers, one of
  // which the kernel may have preempted. The poller needs mu_, and must not wait for such writers.
  //
  //                   TryWrite                    back, and no mark: it goes
  //     kNobody  ---------------->  kWrites  ------------------------------------>  kNobody
  //                                  |   ^
  //      TryWrite of other threads,  |   |  back: it writes again, after a look at
  //      TryWriteSoon, Shutdown      v   |  all that may have changed
  //                                 kMarked
  //
  // Other threads change what they have to change under mu_, then leave the mark: gRPC's next write, RoomAgain(),
  // shut_down_, tcp_error_, a silence. The writer sees the mark under mu_ before it goes, so it misses nothing. Only
  // the writer takes bytes out of unsent_, ends the write and lets go of the stream: a shutdown meanwhile sets
  // leaving_.
  //
  // A forked child has no writer, whatever the state says: the writer is a thread of the parent.
  enum class Writer { kNobody, kWrites, kMarked };

  // What became of a read or write: nullopt: it is under way.
  using Result = std::optional<absl::Status>;

  Result TryRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReadSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);  // for the read under way
  bool MarkWriter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Result TryWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WriteSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);  // for the write under way, and what is kept
  void WriteAfterPoll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Result WriteOnce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Without mu_, by one thread at a time.
  absl::StatusOr<size_t> WriteTo(stream::Stream& stream, absl::Span<const stream::ConstBytes> parts);
  // What has just been read from it has come.
  void Came(stream::Stream& stream);
  void CountKept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FinishRead(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void FinishWrite(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void AwaitSilence() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnSilence();
  void PollToLeave();

  absl::Status StreamEnded(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellFailure() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LinkFailed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WatchTcp();
  absl::Status PeerWrote();
  void TcpEnded(absl::Status why);
  void TcpEndedAndDrained(const absl::Status& why);
  void EndTcp(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void LeaveSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NobodyReads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void End();

  const std::shared_ptr<EventEngine> engine_;
  const std::shared_ptr<TcpReader> reader_;
  const std::shared_ptr<TracedConnection> traced_;

  Mutex mu_;
  // Until End:
  std::unique_ptr<EventEngine::Endpoint> tcp_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<LinkPoller::User> user_ ABSL_GUARDED_BY(mu_);
  ListedPath path_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<stream::Stream> stream_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<Busy> busy_ ABSL_GUARDED_BY(mu_);  // its link; null also if that is not watched
  MemoryAllocator allocator_ ABSL_GUARDED_BY(mu_);   // of what is read, and kept

  std::function<void()> on_lost_ ABSL_GUARDED_BY(mu_);
  bool shut_down_ ABSL_GUARDED_BY(mu_) = false;
  bool tcp_ended_ ABSL_GUARDED_BY(mu_) = false;
  bool failure_told_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status tcp_error_ ABSL_GUARDED_BY(mu_);  // once the stream has been drained after that
  SliceBuffer* read_buffer_ ABSL_GUARDED_BY(mu_) = nullptr;
  OnDone on_read_ ABSL_GUARDED_BY(mu_);
  bool reads_ ABSL_GUARDED_BY(mu_) = false;
  UnsentBytes unsent_ ABSL_GUARDED_BY(mu_);
  OnDone on_written_ ABSL_GUARDED_BY(mu_);
  bool writes_ ABSL_GUARDED_BY(mu_) = false;
  Writer writer_ ABSL_GUARDED_BY(mu_) = Writer::kNobody;
  std::optional<EventEngine::TaskHandle> silence_ ABSL_GUARDED_BY(mu_);  // the timer that runs
  bool leaving_ ABSL_GUARDED_BY(mu_) = false;  // shut down with something kept, or while a thread wrote
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_STREAM_CONNECTION_H_
