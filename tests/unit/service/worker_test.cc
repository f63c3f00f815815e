#include "core/service/worker.h"

#include <poll.h>

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace skein::service {
namespace {

std::unique_ptr<Worker> NewWorker() { return Worker::Create().value(); }

bool IsReadable(int fd) {
  pollfd wait = {fd, POLLIN, 0};
  return poll(&wait, 1, 10'000) > 0;
}

TEST(WorkerTest, WorksInAnotherThreadAndThenInTheOneThatHeeds) {
  const auto worker = NewWorker();
  std::thread::id worked;
  std::thread::id heeded;
  worker->Do([&]() -> Worker::Then {
    worked = std::this_thread::get_id();
    return [&] { heeded = std::this_thread::get_id(); };
  });
  ASSERT_TRUE(IsReadable(worker->fd()));
  EXPECT_EQ(heeded, std::thread::id()) << "nobody has heeded";
  EXPECT_TRUE(worker->Heed());
  EXPECT_NE(worked, std::this_thread::get_id());
  EXPECT_EQ(heeded, std::this_thread::get_id());
  EXPECT_FALSE(worker->Heed()) << "once";
}

TEST(WorkerTest, KeepsTheOrder) {
  std::vector<int> worked;
  std::vector<int> heeded;
  auto worker = NewWorker();
  for (int i = 0; i < 100; ++i) {
    worker->Do([&worked, &heeded, i]() -> Worker::Then {
      worked.push_back(i);
      return [&heeded, i] { heeded.push_back(i); };
    });
  }
  worker = nullptr;
  std::vector<int> all(100);
  for (int i = 0; i < 100; ++i) all[i] = i;
  EXPECT_EQ(worked, all);
  EXPECT_EQ(heeded, all);
}

TEST(WorkerTest, EndsOnceWhatItsWorkLedToIsDone) {
  std::string done;
  auto worker = NewWorker();
  worker->Do([&, raw = worker.get()]() -> Worker::Then {
    return [&done, raw] {
      raw->Do([&done]() -> Worker::Then { return [&done] { done += "second"; }; });
      done += "first ";
    };
  });
  worker = nullptr;
  EXPECT_EQ(done, "first second");
}

}  // namespace
}  // namespace skein::service
