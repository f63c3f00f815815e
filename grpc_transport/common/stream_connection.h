// What an adapter's endpoint is for: a stream with a silent TCP connection beside it, read and written by gRPC. The
// adapter derives from it, and brings along what each gRPC has in its own way: callbacks, timers, quota, TCP. It
// outlives the endpoint while something kept for the peer is being sent.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_STREAM_CONNECTION_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_STREAM_CONNECTION_H_

#include <grpc/slice_buffer.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/base/mutex.h"
#include "core/stream/stream.h"
#include "core/wait/busy_set.h"
#include "grpc_transport/common/path_list.h"
#include "grpc_transport/common/unsent_bytes.h"

namespace skein::grpc_transport {

// Any thread. Lock: mu_, under which the stream is called (it calls back only from polling), but for Write. Kept alive
// by the endpoint, by the stream's observer, by the read that watches TCP and by what it has scheduled.
//
// A forked child takes no lock here: another thread of the parent may have held it, and is not there to let it go.
// Reads and writes fail at once. A read or write that was under way fails, once, unless the lock was held: then its
// callback was in another thread's hands, and stays there. Each way in begins with LeftInChild or InForkedChild.
class StreamConnection : public std::enable_shared_from_this<StreamConnection> {
 public:
  struct Parts {
    std::shared_ptr<stream::Stream> stream;
    wait::BusySet* busy_set;           // outlives the connection
    std::shared_ptr<wait::Busy> busy;  // the stream's link; null: it is not watched
    ListedPath path;
    // Called at most once, under mu_, when the stream's link fails although the connection is well. May be empty.
    std::function<void()> on_lost;
  };

  explicit StreamConnection(Parts parts);
  virtual ~StreamConnection() = default;
  StreamConnection(const StreamConnection&) = delete;
  StreamConnection& operator=(const StreamConnection&) = delete;

  // Once, before all else. The adapter watches TCP from then on: OnTcp.
  void Start() ABSL_LOCKS_EXCLUDED(mu_);
  // By the endpoint's shutdown, or its end. The first counts: reads and writes fail with `why`, under way or later.
  // With nothing to send, stream and connection are given back before it returns.
  void Shutdown(absl::Status why) ABSL_LOCKS_EXCLUDED(mu_);

  // By the stream's observer, inside a poll.
  virtual void OnReadable() ABSL_LOCKS_EXCLUDED(mu_);
  virtual void OnWritable() ABSL_LOCKS_EXCLUDED(mu_);

 protected:
  // What became of a read or write. nullopt: it is under way, and FinishRead or FinishWrite will tell.
  using Result = std::optional<absl::Status>;
  // One of each kind at a time.
  enum class Timer { kSilence, kDrain };

  // UNAVAILABLE: for reads and writes in a forked child, where the adapter asks for neither of the next two.
  static absl::Status MadeBeforeFork();

  // One of each at a time, until its result. The adapter knows what to call by then. `slices` is empty, and valid until
  // the result.
  Result BeginRead(grpc_slice_buffer* slices) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Lets go of mu_ while it writes. The caller keeps this object. Takes the slices before the result.
  Result BeginWrite(grpc_slice_buffer* slices) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // `over`: before its time, because it was stopped, or gRPC's timers have ended.
  void OnTimer(Timer timer, bool over) ABSL_LOCKS_EXCLUDED(mu_);
  // TCP has ended with an error, or the peer has written: `bytes` has at least two of them, if there are so many.
  void OnTcp(const absl::StatusOr<std::string>& bytes) ABSL_LOCKS_EXCLUDED(mu_);
  // The memory for what is kept is wanted back: ends the connection if there is some.
  void LoseKept(absl::string_view why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;

 private:
  class Observer;

  // What the adapter does. Under mu_ where that is said (in a forked child, too). None of it calls back before it
  // returns.

  // Has gRPC called back, not inline.
  virtual void FinishRead(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void FinishWrite(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // Runs `act` soon: under no lock, and behind the poll that this thread may be in.
  virtual void RunSoon(std::function<void()> act) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void StartTimer(Timer timer, absl::Duration after) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // Of kSilence, which runs. Whether it is told that it is over is the adapter's to choose.
  virtual void StopTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // `buffer`, counted in gRPC's quota as long as gRPC has it.
  virtual grpc_slice Received(stream::Buffer buffer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // Counts so many bytes until what it returns is destroyed.
  virtual std::shared_ptr<void> Reserve(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  virtual void SendOnTcp(absl::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // Once, under no lock: the end of TCP, and of all that the adapter has for the connection. Nothing of the above is
  // called any more, but FinishRead and FinishWrite for what gRPC still asks.
  virtual void LetGo() = 0;
  // Without mu_, by one thread at a time.
  virtual absl::StatusOr<size_t> WriteTo(stream::Stream& stream, absl::Span<const stream::ConstBytes> parts) {
    return stream.Write(parts);
  }
  // Bytes have just been read from it.
  virtual void Came(stream::Stream& /*stream*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {}

  // One thread at a time writes to the stream, without mu_: in Write it may wait for the link's other writers, one of
  // which the kernel may have preempted. The poller needs mu_, and must not wait for such writers.
  //
  //                   TryWrite                    back, and no mark: it goes
  //     kNobody  ---------------->  kWrites  ------------------------------------>  kNobody
  //                                  |   ^
  //      TryWrite of other threads,  |   |  back: it writes again, after a look at
  //      OnWritable, Shutdown        v   |  all that may have changed
  //                                 kMarked
  //
  // Other threads change what they have to change under mu_, then leave the mark: gRPC's next write, SpaceAgain(),
  // shutdown_, tcp_error_, a silence. The writer sees the mark under mu_ before it goes, so it misses nothing. Only the
  // writer takes bytes out of unsent_, ends the write and lets go of the stream: a shutdown meanwhile sets leaving_.
  // (In a forked child nobody writes; the writer is a thread of the parent.)
  enum class Writer { kNobody, kWrites, kMarked };

  Result TryRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReadSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);  // for the read under way
  bool MarkWriter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Result TryWrite() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WriteSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);  // for the write under way, and what is kept
  Result WriteOnce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Send() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountKept() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void AwaitSilence() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnSilence(bool over) ABSL_LOCKS_EXCLUDED(mu_);
  void PollToLeave() ABSL_LOCKS_EXCLUDED(mu_);

  absl::Status StreamEnded(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LinkFailed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status PeerWrote(absl::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DrainStream() ABSL_LOCKS_EXCLUDED(mu_);
  void Drained() ABSL_LOCKS_EXCLUDED(mu_);
  void EndTcp(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void LeaveSoon() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NobodyReads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LoseConnection(absl::string_view why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void End() ABSL_NO_THREAD_SAFETY_ANALYSIS;  // without mu_

  // True: this is a forked child, and nothing is left to do.
  bool LeftInChild();
  // True: the endpoint was shut down before the fork, so nobody else ends the connection.
  bool FailInChild();

  wait::BusySet& busy_set_;
  // Until End:
  std::shared_ptr<stream::Stream> stream_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<wait::Busy> busy_ ABSL_GUARDED_BY(mu_);
  ListedPath path_ ABSL_GUARDED_BY(mu_);

  std::function<void()> on_lost_ ABSL_GUARDED_BY(mu_);
  absl::Status shutdown_ ABSL_GUARDED_BY(mu_);
  bool tcp_ended_ ABSL_GUARDED_BY(mu_) = false;
  bool failure_told_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status why_tcp_ended_ ABSL_GUARDED_BY(mu_);
  absl::Status tcp_error_ ABSL_GUARDED_BY(mu_);  // the same, once the stream has been drained after that
  grpc_slice_buffer* read_slices_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool reads_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<stream::Buffer> arrived_ ABSL_GUARDED_BY(mu_);  // empty, but for a read: its memory is used again
  UnsentBytes unsent_ ABSL_GUARDED_BY(mu_);
  bool writes_ ABSL_GUARDED_BY(mu_) = false;
  Writer writer_ ABSL_GUARDED_BY(mu_) = Writer::kNobody;
  bool silence_runs_ ABSL_GUARDED_BY(mu_) = false;  // its timer
  bool leaving_ ABSL_GUARDED_BY(mu_) = false;       // shut down with something kept, or while a thread wrote

  // Each is taken once, by exchange. Relaxed: the exchange alone decides. In a parent, the thread that ends the
  // connection has held mu_ after all others that used it; a child sees its parent's memory as it was.
  std::atomic<bool> ended_{false};
  std::atomic<bool> failed_in_child_{false};
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_STREAM_CONNECTION_H_
