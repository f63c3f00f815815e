// What both sides of a negotiation have in common: reading and writing on a new connection before HTTP/2 or TLS begins,
// a timer, and the ways it can end. A side (client_negotiation.h, server_negotiation.h) says what to do with what
// arrives.
//
//                        Begin
//     (not begun)  ----------------->  under way  --- Finish, once --->  finished
//                                       |     ^
//     Read, Write, StartTimer, Wait,    |     |   OnRead, OnWritten, OnTimer, OnReached, OnReconnected, OnShutdown
//     Reconnect: by the negotiation     v     |   by the adapter
//                                      the connection
//
// Lock: the connection's mu. The negotiation holds it during each call of the connection's, so the connection calls
// back only later, when that call has returned. The negotiation ignores late callbacks after its end.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_NEGOTIATION_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_NEGOTIATION_H_

#include <skein/grpc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/fallback.h"
#include "core/base/forked.h"
#include "core/base/lost_at_fork.h"
#include "core/base/mutex.h"
#include "core/base/options.h"
#include "core/stream/connector.h"
#include "grpc_transport/common/path_list.h"
#include "grpc_transport/common/process_state.h"

namespace skein::grpc_transport {

// How a negotiation has ended.
struct Negotiated {
  // Not OK: the connection has failed, and nothing is left of it.
  absl::Status failed;
  // Null: TCP goes on.
  std::shared_ptr<stream::Stream> stream;
  ListedPath path;
  uint8_t features = 0;  // with a stream: what both ends have of Connection::Features
  // With TCP: so many SETTINGS frames of an offer, behind the preface of HTTP/2, are on their way; 0: none was sent.
  int settings_frames = 0;
  // With those, or empty: the adapter calls it if gRPC's own first bytes are not that preface. Then something else
  // than HTTP/2 begins on the channel's connections, and none of them should begin with such an offer for a while.
  std::function<void()> on_other_beginning;
  // With a stream, or empty: the adapter calls it when the link fails although the connection is well.
  std::function<void()> on_lost;
};

// One connection of gRPC's that ends negotiate about, by the adapter that gRPC gave it to.
class Connection {
 public:
  virtual ~Connection() = default;

  Mutex mu;
  // In a forked child the negotiation hears nothing any more if the lock is lost, and nothing comes of the connection.
  LostAtFork mu_lost{mu};

  // Then OnRead.
  virtual void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  // The read under way is not awaited any more; the next reader gets its bytes. True: OnRead will not
  // come.
  virtual bool WithdrawRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  // After an OnRead that is OK: its bytes count as received from now on.
  virtual void TakeRead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  // Then OnWritten. One at a time.
  virtual void Write(absl::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  // Then OnTimer, if the end has not come before.
  virtual void StartTimer(absl::Duration duration) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  // The adapter says when the stream has reached the peer (Stream::WhenReached): OnReached.
  virtual void AwaitReached(stream::Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  // Destroys the connection and makes another one to the same address, with nothing received: then OnReconnected.
  // Returns why there is no address to come back to.
  virtual absl::Status Reconnect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  // True: OnReconnected will not come.
  virtual bool CancelReconnect() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  // The end. Called once. The adapter goes on with it, or destroys the connection if it failed.
  virtual void Finish(Negotiated end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;

  // All that was received, but at most `max_bytes` of it.
  virtual std::string Received(size_t max_bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  virtual size_t ReceivedBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  virtual void DropReceived(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;

  // Of this connection, or of the one that follows it after Reconnect.
  virtual connect::Route RouteNow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  virtual std::string Local() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;  // as gRPC writes addresses
  virtual std::string Peer() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  // TLS or the like will run on the connection.
  virtual bool Secure() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  // Whether the connection has been made, and whether its peer has ended it.
  virtual bool IsMade() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  virtual bool HasEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
  // What the adapter can do on a stream besides HTTP/2, as bits of the offer.
  virtual uint8_t Features() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return 0; }
  // Why links cannot be watched in this process; kNone if they can.
  virtual Fallback Prevented() const { return {}; }
  // From before the first link could be made.
  virtual void WatchLinks() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) = 0;
};

// Of an offer, and of the answer if the server has them, too.
inline constexpr uint8_t kCallsFeature = 1;  // frames of calls beside HTTP/2's
// How a client hears of its traced calls' times at the server, which its program does not see (call_times.h): the
// client asks for each call in its metadata, and the server takes that out; or the server tells the times of every call
// while the client's messages say that it traces, and the client takes them out.
inline constexpr uint8_t kAskedTimesFeature = 2;
inline constexpr uint8_t kUnaskedTimesFeature = 4;

// Ends what is owned, but in a forked child: there it is the parent's, and stays for good (core/base/forked.h).
template <typename Owned>
void LetGo(Owned& owned) {
  if (InForkedChild()) new Owned(std::move(owned));
  owned = Owned();
}

// UNAVAILABLE: calls that meet it may be retried.
inline absl::Status Failure(absl::string_view message) { return absl::UnavailableError(message); }

class Negotiation {
 public:
  // `connection` and `process` outlive it.
  Negotiation(Path::Role role, absl::StatusOr<Options> options, Connection& connection, ProcessState& process)
      : connection_(connection), process_(process), role_(role), options_(std::move(options)) {}
  virtual ~Negotiation() = default;
  Negotiation(const Negotiation&) = delete;
  Negotiation& operator=(const Negotiation&) = delete;

  // With a connection. Wrong options end the negotiation at once, and so does a shutdown that came before.
  void Start() ABSL_LOCKS_EXCLUDED(connection_.mu);
  // gRPC wants the connection no more. True: the negotiation is under way. Then what it awaits of the connection has to
  // fail soon: the adapter shuts the connection down and calls EndWaits.
  bool ShutDown() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  // After ShutDown: ends what does not depend on bytes.
  virtual void EndWaits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) {}

  void OnRead(const absl::Status& status) ABSL_LOCKS_EXCLUDED(connection_.mu);
  void OnWritten(const absl::Status& status) ABSL_LOCKS_EXCLUDED(connection_.mu);
  void OnTimer() ABSL_LOCKS_EXCLUDED(connection_.mu);
  void OnReached(const absl::Status& status) ABSL_LOCKS_EXCLUDED(connection_.mu);
  void OnReconnected(const absl::Status& status) ABSL_LOCKS_EXCLUDED(connection_.mu);

  bool finished() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) { return finished_; }

 protected:
  // With a connection and the options.
  virtual void Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) = 0;
  virtual void Written() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) = 0;
  virtual void BytesCame() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) = 0;
  // The connection was lost, at the latest while reading or writing.
  virtual void Lost(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) = 0;
  virtual void TimedOut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) = 0;  // the read under way may go on
  virtual void Reached(const absl::Status& /*status*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) {}
  virtual void Reconnected(const absl::Status& /*status*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) {}

  void Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void StartTimer(absl::Duration least = absl::ZeroDuration()) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) {
    connection_.StartTimer(std::max(least, options_->negotiation_timeout));
  }
  // For something else than bytes: from now on TimedOut may come at once. EndWaiting: whether that is still awaited.
  void Wait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  bool EndWaiting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) { return std::exchange(waiting_, false); }

  // The ends; one of them, once. The next reader gets all bytes that were received and not dropped.
  void FinishWithStream(stream::Outcome outcome) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  // Fails instead if the mode is require. `settings_frames`: of an offer that went ahead of HTTP/2; else 0.
  void FinishWithTcp(const Fallback& why, int settings_frames = 0, std::function<void()> on_other_beginning = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void Fail(absl::Status why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);

  // For GRPC_TRACE=skein.
  void Step(absl::string_view what, absl::string_view more = {}) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);

  const stream::Streams& streams() { return process_.StreamsFor(options()); }
  bool is_shut_down() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) { return shut_down_; }
  const Options& options() const { return *options_; }

  Connection& connection_;
  ProcessState& process_;

 private:
  ListedPath List(std::string path, std::string why, bool below_http2 = false)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void Finish(Negotiated end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);

  const Path::Role role_;
  const absl::StatusOr<Options> options_;
  std::string traced_as_ ABSL_GUARDED_BY(connection_.mu);  // empty: steps are not logged
  bool finished_ ABSL_GUARDED_BY(connection_.mu) = false;
  bool shut_down_ ABSL_GUARDED_BY(connection_.mu) = false;
  bool timed_out_ ABSL_GUARDED_BY(connection_.mu) = false;
  bool reading_ ABSL_GUARDED_BY(connection_.mu) = false;
  bool waiting_ ABSL_GUARDED_BY(connection_.mu) = false;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_NEGOTIATION_H_
