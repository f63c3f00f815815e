// skeind: owns this host's RDMA device for the processes of this host. docs/service.md.
#include <sys/types.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "core/base/options.h"
#include "core/fabric/service/service_device.h"
#include "core/service/host_ports.h"
#include "core/service/offer.h"
#include "core/service/secret.h"
#include "core/service/service.h"

namespace skein {
namespace {

service::Service* running = nullptr;  // of main(), while it serves

// sd_listen_fds(3): the first descriptor that systemd passes; -1: it passes none.
int PassedSocket() {
  constexpr int kFirstPassed = 3;
  const char* const to = std::getenv("LISTEN_PID");
  const char* const count = std::getenv("LISTEN_FDS");
  const bool is_for_this =
      to != nullptr && count != nullptr && std::to_string(getpid()) == to && std::string("1") == count;
  return is_for_this ? kFirstPassed : -1;
}

int Serve(const service::ServiceOptions& options, const RdmaOptions& rdma, const std::string& address) {
  if (!address.empty() && !service::IsAddress(address)) {
    std::cerr << "skeind: --address takes an IP address in its usual form, not '" << address << "'" << std::endl;
    return 1;
  }
  auto ports = std::make_shared<service::HostPorts>(rdma, address);
  const absl::StatusOr<service::Port> port = ports->For("");
  if (!port.ok() && options.replaces && fabric::OpenServiceDevice(options.folder, "").ok()) {
    std::cerr << "skeind: the one that runs has an RDMA port, and this one would have none: " << port.status().message()
              << std::endl;
    return 1;
  }
  if (port.ok()) {
    std::cout << "skeind: " << port->device->name() << ", reached at " << port->address << std::endl;
  } else {
    std::cerr << "skeind: no RDMA port yet: " << port.status().message() << std::endl;
  }
  const auto service =
      service::Service::Create(options, [ports](absl::string_view local_address) { return ports->For(local_address); });
  if (!service.ok()) {
    std::cerr << "skeind: " << service.status().message() << std::endl;
    return 1;
  }
  running = service->get();
  service::HandleStatistics((*service)->mailbox());
  for (const int number : {SIGTERM, SIGINT}) std::signal(number, [](int) { running->Stop(); });
  std::signal(SIGPIPE, SIG_IGN);
  std::cout << "skeind: serves " << options.folder << ", and other hosts at port " << (*service)->trunk_port()
            << std::endl;
  (*service)->Run();
  for (const int number : {SIGTERM, SIGINT}) std::signal(number, SIG_DFL);
  return 0;
}

}  // namespace
}  // namespace skein

int main(int argc, char** argv) {
  skein::service::ServiceOptions options;
  skein::Options base;
  base.rdma.memory = int64_t{1} << 40;
  // As every process has it (docs/options.md); the command line wins.
  const skein::EnvironmentOptions environment = skein::OptionsFromEnvironment(base, "", environ);
  if (!environment.error.ok()) {
    std::cerr << "skeind: " << environment.error.message() << std::endl;
    return 1;
  }
  if (!environment.warning.empty()) std::cerr << "skeind: " << environment.warning << std::endl;
  skein::RdmaOptions rdma = environment.options.rdma;
  std::string address;
  int64_t spin_us = absl::ToInt64Microseconds(options.spin);
  options.folder = rdma.service;
  options.trunk_port = 18517;

  CLI::App app("Owns this host's RDMA device for its processes, which use it with skein.rdma=service or auto.",
               "skeind");
  app.get_formatter()->column_width(36);
  app.footer("SKEIN_RDMA_TIMEOUT and the other SKEIN_RDMA variables say how the device is used, as to every process.");
  app.add_option("--folder", options.folder, "Where processes find skeind.sock; a container mounts it")
      ->capture_default_str();
  app.add_option("--port", options.trunk_port,
                 "TCP port at which the skeinds of all hosts reach each other; one for all")
      ->capture_default_str();
  app.add_option("--listen", options.trunk_address, "The address to listen on there")->capture_default_str();
  app.add_option("--address", address,
                 "By which other hosts reach this one; by default the RDMA port's own IP address");
  std::string secret_file;
  app.add_option("--secret-file", secret_file,
                 "A file with a secret that the skeinds of all hosts have; others are not let in");
  app.add_option("--device", rdma.device, "The RDMA device; by default the one that has the address of a connection");
  app.add_option("--device-port", rdma.port, "Its port")->check(CLI::Range(0, 255));
  app.add_option("--gid-index", rdma.gid_index, "Index into the port's GID table")->check(CLI::Range(-1, 255));
  app.add_option("--spin", spin_us, "Microseconds without work before skeind sleeps")->capture_default_str();
  app.add_option("--user-sessions", options.limits.sessions,
                 "Sessions of one user's processes; a process has one for each of its addresses")
      ->capture_default_str();
  app.add_option("--user-queue-pairs", options.limits.queue_pairs, "Virtual queue pairs of one user's processes")
      ->capture_default_str();
  app.add_option("--user-memory", options.limits.bytes, "Bytes that one user's processes register")
      ->capture_default_str();
  app.add_flag("--replace", options.replaces,
               "Takes the place of the skeind that runs with that folder, which then ends");
  app.set_version_flag("--version", SKEIN_VERSION);
  CLI11_PARSE(app, argc, argv);
  options.spin = absl::Microseconds(spin_us);
  options.log = [](absl::string_view line) { std::cerr << "skeind: " << line << std::endl; };
  options.listening = skein::PassedSocket();
  if (options.listening >= 0 && options.replaces) {
    std::cerr << "skeind: --replace is for one that systemd has not started: systemctl restart skeind" << std::endl;
    return 1;
  }
  if (!secret_file.empty()) {
    absl::StatusOr<std::string> secret = skein::service::ReadSecret(secret_file);
    if (!secret.ok()) {
      std::cerr << "skeind: " << secret.status().message() << std::endl;
      return 1;
    }
    options.secret = *std::move(secret);
  }
  return skein::Serve(options, rdma, address);
}
