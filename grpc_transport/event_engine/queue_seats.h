// Threads that wait for one completion queue (grpc_completion_queue_next), of which one polls. gRPC wakes a thread that
// sleeps in it whenever an event comes, also if the thread that has brought the event polls, and takes it at once. So
// one thread of a queue has the seat, and waits inside gRPC or polls; the others wait here.
//
//   The seat's holder polls:                  one of the others looks every millisecond whether the seat is empty.
//   it sleeps inside gRPC:                    the others wait for it. It calls one when it is back.
//   it has an event, and works for its own:   nobody is called, since it is mostly back before another one is awake;
//                                             within a millisecond, or when a link brings something, one takes the
//                                             seat.
#ifndef SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_QUEUE_SEATS_H_
#define SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_QUEUE_SEATS_H_

#include <grpc/grpc.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "core/base/deadline.h"
#include "core/base/mutex.h"

namespace skein::grpc_transport {

// Any thread. Lock: mu_, a leaf.
class QueueSeats {
 public:
  // How long a queue may have events and nobody who looks.
  static constexpr std::chrono::milliseconds kEmptyFor{1};

  // Waits for the seat of `queue`. False: the deadline has come before it.
  bool Sit(const grpc_completion_queue* queue, Deadline deadline) ABSL_LOCKS_EXCLUDED(mu_);
  // By the seat's holder, which goes to sleep inside gRPC: until GetUp.
  void FallAsleep(const grpc_completion_queue* queue) ABSL_LOCKS_EXCLUDED(mu_);
  // `call_next`: this thread may not be back soon.
  void GetUp(const grpc_completion_queue* queue, bool call_next) ABSL_LOCKS_EXCLUDED(mu_);
  // Queues whose seats are empty may have events. A hint: without it, somebody looks within kEmptyFor.
  void CallWhereEmpty() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Seat {
    explicit Seat(const grpc_completion_queue* queue) : queue(queue) {}
    const grpc_completion_queue* const queue;
    bool taken = false;
    bool asleep = false;   // its holder, inside gRPC
    bool watched = false;  // one of those that wait looks now and then
    int waiting = 0;
    std::condition_variable_any changed;
  };

  Seat* Find(const grpc_completion_queue* queue) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Await(Seat& seat, Deadline deadline) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Nobody waits for it or has it: a queue's address may be another one's tomorrow.
  void DropIfUnused(const Seat* seat) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  std::vector<std::unique_ptr<Seat>> seats_ ABSL_GUARDED_BY(mu_);
  std::atomic<int> waiting_{0};  // at all seats; written under mu_, relaxed: a hint
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_EVENT_ENGINE_QUEUE_SEATS_H_
