// A host whose processes have no device: its skeind, in a thread of the test's, with a device of the simulation.
#ifndef SKEIN_TESTS_SUPPORT_SKEIND_HOST_H_
#define SKEIN_TESTS_SUPPORT_SKEIND_HOST_H_

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/fabric/sim/simulation.h"
#include "core/service/service.h"
#include "tests/support/temporary_folder.h"

namespace skein::service {

class SkeindHost {
 public:
  SkeindHost(fabric::Simulation& simulation, const std::string& name, UserLimits limits = {})
      : SkeindHost(simulation, simulation.CreateDevice(name), limits) {}
  SkeindHost(fabric::Simulation& simulation, std::shared_ptr<fabric::Device> device, UserLimits limits = {},
             TrunkPatience patience = {}, std::string secret = "")
      : simulation_(simulation),
        port_{std::move(device), "127.0.0.1"},
        limits_(limits),
        patience_(patience),
        secret_(std::move(secret)),
        folder_("/tmp") {
    Start();
  }
  ~SkeindHost() { Stop(); }

  // skeind begins, and ends.
  void Start() {
    ServiceOptions options;
    options.folder = folder_.path();
    options.trunk_address = port_.address;
    options.any_trunk_port = true;
    options.limits = limits_;
    options.patience = patience_;
    options.secret = secret_;
    service_ = Service::Create(options, [this](absl::string_view) { return port_; }).value();
    trunk_port_ = service_->trunk_port();
    mailbox_ = service_->mailbox();
    stop_ = false;
    thread_ = std::thread([this] { Serve(); });
  }
  void Stop() {
    if (!thread_.joinable()) return;
    stop_ = true;
    thread_.join();
    service_ = nullptr;
  }

  const std::string& folder() const { return folder_.path(); }
  uint16_t trunk_port() const { return trunk_port_; }
  const std::shared_ptr<StatisticsMailbox>& mailbox() const { return mailbox_; }
  uint64_t idle_turns() const { return idle_turns_; }
  // While it hangs it does nothing, as after SIGSTOP. When this returns it does.
  void Hang(bool hangs) {
    hangs_ = hangs;
    while (hangs && !hung_) std::this_thread::yield();
  }
  // While it is held, this host lets no simulated time pass: what skeinds have posted is under way.
  void HoldTime(bool held) { held_ = held; }

 private:
  void Serve() {
    while (!stop_) {
      if ((hung_ = hangs_.load())) {
        std::this_thread::yield();
        continue;
      }
      if (!held_) simulation_.RunUntilIdle();
      if (service_->Turn()) continue;
      ++idle_turns_;
      std::this_thread::yield();
    }
  }

  fabric::Simulation& simulation_;
  const Port port_;
  const UserLimits limits_;
  const TrunkPatience patience_;
  const std::string secret_;
  const TemporaryFolder folder_;  // whose path a socket's address has space for
  std::unique_ptr<Service> service_;
  std::shared_ptr<StatisticsMailbox> mailbox_;
  uint16_t trunk_port_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> held_ = false;
  std::atomic<bool> hangs_ = false;
  std::atomic<bool> hung_ = false;
  std::atomic<uint64_t> idle_turns_ = 0;
  std::thread thread_;
};

// Each skeind has looked at everything since, and found nothing to do, when what it had found was with the other one.
inline void Settle(const SkeindHost& a, const SkeindHost& b) {
  for (int round = 0; round < 3; ++round) {
    const uint64_t before[] = {a.idle_turns(), b.idle_turns()};
    while (a.idle_turns() < before[0] + 2 || b.idle_turns() < before[1] + 2) std::this_thread::yield();
  }
}

}  // namespace skein::service

#endif  // SKEIN_TESTS_SUPPORT_SKEIND_HOST_H_
