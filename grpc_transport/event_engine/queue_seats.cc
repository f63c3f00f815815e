#include "grpc_transport/event_engine/queue_seats.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace skein::grpc_transport {

QueueSeats::Seat* QueueSeats::Find(const grpc_completion_queue* queue) {
  const auto found = absl::c_find_if(seats_, [&](const auto& seat) { return seat->queue == queue; });
  return found == seats_.end() ? nullptr : found->get();
}

void QueueSeats::DropIfUnused(const Seat* seat) {
  if (seat->taken || seat->waiting > 0) return;
  std::erase_if(seats_, [&](const auto& each) { return each.get() == seat; });
}

bool QueueSeats::Sit(const grpc_completion_queue* queue, Deadline deadline) {
  MutexLock lock(&mu_);
  Seat* seat = Find(queue);
  if (seat == nullptr) seat = seats_.emplace_back(std::make_unique<Seat>(queue)).get();
  if (seat->taken && !Await(*seat, deadline)) {
    DropIfUnused(seat);
    return false;
  }
  seat->taken = true;
  seat->asleep = false;
  return true;
}

bool QueueSeats::Await(Seat& seat, Deadline deadline) {
  ++seat.waiting;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  bool watches = false;
  while (seat.taken && Clock::now() < deadline) {
    if (!seat.watched && !seat.asleep) watches = seat.watched = true;
    if (watches && seat.asleep) watches = seat.watched = false;
    Lockable lockable{mu_};
    const Deadline look = Clock::now() + kEmptyFor;
    if (watches && look < deadline) {
      seat.changed.wait_until(lockable, look);
    } else if (deadline == Deadline::max()) {
      seat.changed.wait(lockable);  // wait_until would compute with it
    } else {
      seat.changed.wait_until(lockable, deadline);
    }
  }
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  --seat.waiting;
  if (watches) seat.watched = false;
  if (!seat.watched && seat.waiting > 0) seat.changed.notify_one();  // somebody else looks from now on
  return !seat.taken;
}

void QueueSeats::FallAsleep(const grpc_completion_queue* queue) {
  MutexLock lock(&mu_);
  Find(queue)->asleep = true;
}

void QueueSeats::GetUp(const grpc_completion_queue* queue, bool call_next) {
  MutexLock lock(&mu_);
  Seat* const seat = Find(queue);
  const bool nobody_looks = seat->asleep;  // so the others sleep without end
  seat->taken = seat->asleep = false;
  if (seat->waiting > 0 && (call_next || nobody_looks)) seat->changed.notify_one();
  DropIfUnused(seat);
}

void QueueSeats::CallWhereEmpty() {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  MutexLock lock(&mu_);
  for (const std::unique_ptr<Seat>& seat : seats_) {
    if (!seat->taken && seat->waiting > 0) seat->changed.notify_one();
  }
}

}  // namespace skein::grpc_transport
