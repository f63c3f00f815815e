// Which of the threads that wait for one queue looks into it.
#include "grpc_transport/event_engine/queue_seats.h"

#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

class QueueSeatsTest : public testing::Test {
 protected:
  static const grpc_completion_queue* Queue(uintptr_t number) {
    return reinterpret_cast<const grpc_completion_queue*>(number * 64);
  }
  // Another thread waits for the seat and gets up at once.
  std::thread Waiter(absl::Notification& sat, bool call_next = false) {
    return std::thread([&, call_next] {
      EXPECT_TRUE(seats_.Sit(Queue(1), Deadline::max()));
      sat.Notify();
      seats_.GetUp(Queue(1), call_next);
    });
  }

  QueueSeats seats_;
};

TEST_F(QueueSeatsTest, OneThreadOfAQueueHasTheSeat) {
  EXPECT_TRUE(seats_.Sit(Queue(1), Deadline::max()));
  EXPECT_FALSE(seats_.Sit(Queue(1), Clock::now())) << "the time is up before it is empty";
  EXPECT_FALSE(seats_.Sit(Queue(1), Clock::now() + std::chrono::milliseconds(5)));
  EXPECT_TRUE(seats_.Sit(Queue(2), Clock::now())) << "each queue has a seat";
  seats_.GetUp(Queue(2), false);
  seats_.GetUp(Queue(1), false);
  EXPECT_TRUE(seats_.Sit(Queue(1), Clock::now()));
  seats_.GetUp(Queue(1), false);
}

// Whose holder works for its event, and may not be back for long.
TEST_F(QueueSeatsTest, AnEmptySeatIsFoundWithoutACall) {
  EXPECT_TRUE(seats_.Sit(Queue(1), Deadline::max()));
  absl::Notification sat;
  std::thread waiter = Waiter(sat);
  EXPECT_FALSE(sat.WaitForNotificationWithTimeout(absl::Milliseconds(5)));
  seats_.GetUp(Queue(1), /*call_next=*/false);
  EXPECT_TRUE(sat.WaitForNotificationWithTimeout(kPatience));
  waiter.join();
}

TEST_F(QueueSeatsTest, AllThatWaitFindItOneAfterTheOther) {
  EXPECT_TRUE(seats_.Sit(Queue(1), Deadline::max()));
  std::vector<absl::Notification> sat(4);
  std::vector<std::thread> waiters;
  for (absl::Notification& each : sat) waiters.push_back(Waiter(each));
  seats_.GetUp(Queue(1), /*call_next=*/false);
  for (absl::Notification& each : sat) EXPECT_TRUE(each.WaitForNotificationWithTimeout(kPatience));
  for (std::thread& waiter : waiters) waiter.join();
}

// Then nobody looks: an idle process is idle.
TEST_F(QueueSeatsTest, WhoHasSleptInTheQueueCallsTheNext) {
  EXPECT_TRUE(seats_.Sit(Queue(1), Deadline::max()));
  seats_.FallAsleep(Queue(1));
  std::vector<absl::Notification> sat(4);
  std::vector<std::thread> waiters;
  for (absl::Notification& each : sat) waiters.push_back(Waiter(each));
  absl::SleepFor(absl::Milliseconds(5));
  seats_.GetUp(Queue(1), /*call_next=*/false);
  for (absl::Notification& each : sat) EXPECT_TRUE(each.WaitForNotificationWithTimeout(kPatience));
  for (std::thread& waiter : waiters) waiter.join();
}

TEST_F(QueueSeatsTest, TheEndOfAQueueIsPassedOn) {
  EXPECT_TRUE(seats_.Sit(Queue(1), Deadline::max()));
  seats_.FallAsleep(Queue(1));
  std::vector<absl::Notification> sat(4);
  std::vector<std::thread> waiters;
  for (absl::Notification& each : sat) waiters.push_back(Waiter(each, /*call_next=*/true));
  seats_.GetUp(Queue(1), /*call_next=*/true);
  for (std::thread& waiter : waiters) waiter.join();
}

TEST_F(QueueSeatsTest, WhoWaitsKeepsItsDeadline) {
  EXPECT_TRUE(seats_.Sit(Queue(1), Deadline::max()));
  seats_.FallAsleep(Queue(1));
  EXPECT_FALSE(seats_.Sit(Queue(1), Clock::now() + std::chrono::milliseconds(5)));
  seats_.GetUp(Queue(1), false);
}

}  // namespace
}  // namespace skein::grpc_transport
