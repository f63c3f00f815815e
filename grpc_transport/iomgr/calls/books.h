// What chttp2 is told of the calls beside it: that there are some, by a placeholder, and what traffic there is.
//
//                 a call begins
//     closed  ------------------------>  open  (the placeholder is in chttp2's books)
//             <------------------------
//               a second without calls, or the last call's end once the connection drains, or the transport's end
//
// Not closed with every last call: one caller's calls would open and close it each.
#ifndef SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_BOOKS_H_
#define SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_BOOKS_H_

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "core/base/mutex.h"
#include "grpc_transport/iomgr/calls/call_endpoint.h"
#include "grpc_transport/iomgr/calls/placeholder.h"
#include "grpc_transport/iomgr/grpc_internal.h"

namespace skein::grpc_transport {

// Any thread, under an ExecCtx; CallBegins and LastCallEnds under their caller's lock. Lock: mu_, a leaf. The
// placeholder itself is opened and closed under chttp2's combiner: a Visit, of which one at a time is out.
//
// chttp2 handles what reaches it in the order in which it is told. So a placeholder that is asked for before chttp2
// reads an answer to a ping, or hears of a shutdown, is in the books by then.
class Books final : public PlaceholderOwner {
 public:
  // `calls` outlives End.
  Books(::grpc_transport* chttp2, CallSink& calls);

  void CallBegins() ABSL_LOCKS_EXCLUDED(mu_);
  // `close`: the connection drains.
  void LastCallEnds(bool close) ABSL_LOCKS_EXCLUDED(mu_);
  // Calls have sent something: pings are welcome. They have received something: the peer lives.
  void Sent() { Note(kSent); }
  void Received() { Note(kReceived); }
  // The channel is to make another connection for new calls. What is under way goes on.
  void EndNewCalls();
  // The transport is about to be destroyed.
  void End() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  enum : uint8_t { kSent = 1, kReceived = 2 };

  void Note(uint8_t what) ABSL_LOCKS_EXCLUDED(mu_);
  void Visit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellTraffic();  // under chttp2's combiner
  static void OnVisit(void* arg, grpc_error_handle error);
  void OnGivenUp() override ABSL_LOCKS_EXCLUDED(mu_);
  void StartTimer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  static void OnTimer(void* arg, grpc_error_handle error);

  grpc_chttp2_transport* const chttp2_;
  CallSink& calls_;
  Placeholder placeholder_;  // under chttp2's combiner
  grpc_closure on_visit_;    // holds a reference and one to chttp2's transport while it is out
  grpc_closure on_timer_;    // holds a reference while it is out

  std::atomic<bool> active_ = false;  // there are calls; written under the caller's lock, read under mu_
  // A call has begun since the timer began. True: the placeholder is asked for, and the timer will look again. Written
  // under mu_; a call that reads true has nothing to do.
  std::atomic<bool> used_ = false;
  std::atomic<uint8_t> noted_ = 0;    // since the last visit; relaxed: chttp2 hears of it some ms sooner or later
  std::atomic<int64_t> visited_ = 0;  // when, in ms; relaxed: likewise

  Mutex mu_;
  grpc_timer timer_ ABSL_GUARDED_BY(mu_);
  bool open_ ABSL_GUARDED_BY(mu_) = false;  // is to be
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool timer_runs_ ABSL_GUARDED_BY(mu_) = false;
  bool visit_out_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_IOMGR_CALLS_BOOKS_H_
