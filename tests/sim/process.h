// One process as far as it polls and sleeps: what core gives it to watch.
#ifndef SKEIN_TESTS_CHAOS_PROCESS_H_
#define SKEIN_TESTS_CHAOS_PROCESS_H_

#include <memory>
#include <vector>

#include "core/link/link.h"
#include "core/wait/source.h"
#include "tests/sim/fault_device.h"

namespace skein::chaos {

class Process final : public wait::Watcher {
 public:
  // `sleeps`: it polls when it has been woken, as who waits for a descriptor does; else whenever it is asked.
  Process(std::shared_ptr<FaultDevice> device, bool sleeps) : device_(std::move(device)), sleeps_(sleeps) {}
  // What is left on links that nobody ends keeps them, and they it.
  ~Process() override;

  void Watch(std::shared_ptr<wait::Source> source) override;
  // One turn of its loop.
  void Poll();
  // Links that it has now; for who ends one.
  std::vector<std::shared_ptr<link::Link>> links() const;
  const std::shared_ptr<FaultDevice>& device() const { return device_; }

 private:
  bool PollAll();
  bool ArmAll();

  const std::shared_ptr<FaultDevice> device_;
  const bool sleeps_;
  bool asleep_ = false;
  std::vector<std::shared_ptr<wait::Source>> sources_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_PROCESS_H_
