// Lets a simulation's time pass, on a thread of its own.
#ifndef SKEIN_TESTS_UNIT_RPC_RUNNING_TIME_H_
#define SKEIN_TESTS_UNIT_RPC_RUNNING_TIME_H_

#include <atomic>
#include <thread>

#include "core/fabric/sim/simulation.h"

namespace skein::rpc {

class RunningTime {
 public:
  explicit RunningTime(fabric::Simulation& simulation)
      : thread_([&] {
          while (!over_) simulation.RunUntilIdle();
        }) {}
  ~RunningTime() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_ = false;  // before the thread that looks at it
  std::thread thread_;
};

}  // namespace skein::rpc

#endif  // SKEIN_TESTS_UNIT_RPC_RUNNING_TIME_H_
