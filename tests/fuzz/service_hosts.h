// Two skeinds over the simulation, in the fuzzer's thread, and two honest processes that use them.
#ifndef SKEIN_TESTS_FUZZ_SERVICE_HOSTS_H_
#define SKEIN_TESTS_FUZZ_SERVICE_HOSTS_H_

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>

#include "core/fabric/sim/simulation.h"
#include "core/service/service.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/raw_session.h"

namespace skein::fuzz {

class ServiceHosts {
 public:
  struct Host {
    std::string folder;
    std::unique_ptr<service::Service> skeind;
  };

  ServiceHosts() {
    one = Begin("one");
    other = Begin("other");
    honest = NewProcess(one);
    peer = NewProcess(other);
    Connect(*honest, *peer);
  }
  ~ServiceHosts() {
    for (const Host* host : {&one, &other}) std::filesystem::remove_all(host->folder);
  }

  void Turn() {
    simulation.RunUntilIdle();
    one.skeind->Turn();
    other.skeind->Turn();
  }
  std::unique_ptr<service::RawProcess> NewProcess(const Host& host) {
    constexpr uint32_t kAccess = fabric::kRemoteWrite | fabric::kRemoteRead | fabric::kRemoteAtomic;
    return std::make_unique<service::RawProcess>(host.folder, uint64_t{1} << 32, kAccess, [this] { Turn(); });
  }
  static void Connect(service::RawProcess& a, service::RawProcess& b) {
    using Operation = service::RawSession::Operation;
    const auto offer = a.session.Ask(Operation::kOffer, a.number).value();
    const auto answer = b.session.Ask(Operation::kAccept, b.number, offer.text_view()).value();
    Require(a.session.Ask(Operation::kComplete, a.number, answer.text_view()).ok(), "honest processes connect");
  }
  // What the honest processes have between them works.
  void RequireWorks() {
    const uint64_t value = honest->laid + 1;
    std::memcpy(honest->memory.mapping.data(), &value, sizeof(value));
    honest->Lay(honest->Write({peer->base + 8, peer->rkey}));
    honest->Publish();
    auto& completed = honest->completed.header();
    for (int turns = 0; turns < 1000 && completed.published.load() != value; ++turns) Turn();
    completed.consumed.store(completed.published.load());
    Require(honest->end() == fabric::service::End::kOpen, "nobody else ends an honest process's queue pair");
    Require(completed.published.load() == value && honest->completed.at(value - 1).status == 0, "its WRITE arrives");
    Require(std::memcmp(peer->memory.mapping.data() + 8, &value, sizeof(value)) == 0, "whole");
  }

  fabric::Simulation simulation{20261129, {}};
  Host one;
  Host other;
  std::unique_ptr<service::RawProcess> honest;
  std::unique_ptr<service::RawProcess> peer;

 private:
  Host Begin(const std::string& name) {
    Host host;
    // One that the fuzzer's last process left is taken.
    host.folder = "/tmp/skein-fuzz-" + std::to_string(getpid()) + name;
    std::filesystem::create_directory(host.folder);
    service::ServiceOptions options;
    options.folder = host.folder;
    options.trunk_address = "127.0.0.1";
    options.any_trunk_port = true;
    options.limits.bytes = 1 << 24;
    options.workers_threads = false;
    const service::Port port = {simulation.CreateDevice(name), "127.0.0.1"};
    host.skeind = service::Service::Create(options, [port](absl::string_view) { return port; }).value();
    return host;
  }
};

}  // namespace skein::fuzz

#endif  // SKEIN_TESTS_FUZZ_SERVICE_HOSTS_H_
