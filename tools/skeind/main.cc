// skeind: owns this host's RDMA device for the processes of this host. docs/service.md.
#include <sys/types.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/options.h"
#include "core/fabric/service/service_device.h"
#include "core/service/host_ports.h"
#include "core/service/offer.h"
#include "core/service/secret.h"
#include "core/service/service.h"

namespace skein {
namespace {

service::Service* running = nullptr;  // Serve's, for signals

struct CommandLine {
  service::ServiceOptions options;
  RdmaOptions rdma;
  std::string address;      // by which other hosts reach this one; empty: the RDMA port's own
  std::string secret_file;  // empty: none
  int64_t spin_us = 0;
};

void Say(absl::string_view line) { std::cerr << "skeind: " << line << std::endl; }

// The exit status of what went wrong.
int Fail(absl::string_view why) {
  Say(why);
  return 1;
}

// The exit status of a call with wrong words, as skein's.
constexpr int kCalledWrongly = 2;

// sd_listen_fds(3): the first descriptor that systemd passes; -1: it passes none.
int PassedSocket() {
  constexpr int kFirstPassed = 3;
  const char* const to = std::getenv("LISTEN_PID");
  const char* const count = std::getenv("LISTEN_FDS");
  const bool is_for_this =
      to != nullptr && count != nullptr && std::to_string(getpid()) == to && std::string("1") == count;
  return is_for_this ? kFirstPassed : -1;
}

// The environment sets for skeind what it sets for each process (docs/options.md). The command line wins.
absl::Status SetDefaults(CommandLine& line) {
  Options base;
  base.rdma.memory = int64_t{1} << 40;
  const EnvironmentOptions environment = OptionsFromEnvironment(base, "", environ);
  if (!environment.warning.empty()) Say(environment.warning);
  line.rdma = environment.options.rdma;
  line.spin_us = absl::ToInt64Microseconds(line.options.spin);
  line.options.folder = line.rdma.service;
  line.options.trunk_port = 18517;
  return environment.error;
}

// For CLI11: why `word` is no address; empty: it is one.
std::string NoAddress(const std::string& word) {
  if (word.empty() || service::IsAddress(word)) return "";
  return absl::StrCat("'", word, "' is no IP address in its usual form");
}

void AddOptions(CLI::App& app, CommandLine& line) {
  service::ServiceOptions& options = line.options;
  app.get_formatter()->column_width(36);
  app.footer("SKEIN_RDMA_TIMEOUT and the other SKEIN_RDMA variables say how the device is used, as to every process.");
  app.add_option("--folder", options.folder, "Where processes find skeind.sock; a container mounts it")
      ->capture_default_str();
  app.add_option("--port", options.trunk_port,
                 "TCP port at which the skeinds of all hosts reach each other; one for all")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--listen", options.trunk_address, "The address to listen on there")->capture_default_str();
  app.add_option("--address", line.address,
                 "By which other hosts reach this one; by default the RDMA port's own IP address")
      ->check(CLI::Validator(NoAddress, ""));
  app.add_option("--secret-file", line.secret_file,
                 "A file with a secret that the skeinds of all hosts have; others are not let in");
  app.add_option("--device", line.rdma.device,
                 "The RDMA device; by default the one that has the address of a connection");
  app.add_option("--device-port", line.rdma.port, "Its port")->check(CLI::Range(0, 255));
  app.add_option("--gid-index", line.rdma.gid_index, "Index into the port's GID table")->check(CLI::Range(-1, 255));
  app.add_option("--spin", line.spin_us, "Microseconds without work before skeind sleeps")->capture_default_str();
  app.add_option("--user-sessions", options.limits.sessions,
                 "Sessions of one user's processes; a process has one for each of its addresses")
      ->capture_default_str();
  app.add_option("--user-queue-pairs", options.limits.queue_pairs, "Virtual queue pairs of one user's processes")
      ->capture_default_str();
  app.add_option("--user-memory", options.limits.bytes, "Bytes that one user's processes register")
      ->capture_default_str();
  app.add_option("--user-hosts", options.limits.hosts, "Other hosts to which skeind connects for one user's processes")
      ->capture_default_str();
  app.add_flag("--replace", options.replaces,
               "Takes the place of the skeind that runs with that folder, which then ends");
  app.set_version_flag("--version", SKEIN_VERSION);
}

absl::Status Complete(CommandLine& line) {
  line.options.spin = absl::Microseconds(line.spin_us);
  line.options.log = Say;
  line.options.listening = PassedSocket();
  if (line.options.listening >= 0 && line.options.replaces) {
    return absl::InvalidArgumentError("--replace is for one that systemd has not started: systemctl restart skeind");
  }
  if (line.secret_file.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> secret = service::ReadSecret(line.secret_file);
  if (!secret.ok()) return secret.status();
  line.options.secret = *std::move(secret);
  return absl::OkStatus();
}

int Serve(const CommandLine& line) {
  auto ports = std::make_shared<service::HostPorts>(line.rdma, line.address);
  const absl::StatusOr<service::Port> port = ports->For("");
  if (!port.ok() && line.options.replaces && fabric::OpenServiceDevice(line.options.folder, "").ok()) {
    return Fail(
        absl::StrCat("the one that runs has an RDMA port, and this one would have none: ", port.status().message()));
  }
  if (port.ok()) {
    std::cout << "skeind: " << port->device->name() << ", reached at " << port->address << std::endl;
  } else {
    Say(absl::StrCat("no RDMA port yet: ", port.status().message()));
  }
  const auto service = service::Service::Create(
      line.options, [ports](absl::string_view local_address) { return ports->For(local_address); });
  if (!service.ok()) return Fail(service.status().message());
  running = service->get();
  service::HandleStatistics((*service)->mailbox());
  for (const int number : {SIGTERM, SIGINT}) std::signal(number, [](int) { running->Stop(); });
  std::signal(SIGPIPE, SIG_IGN);
  std::cout << "skeind: serves " << line.options.folder << ", and other hosts at port " << (*service)->trunk_port()
            << std::endl;
  (*service)->Run();
  for (const int number : {SIGTERM, SIGINT}) std::signal(number, SIG_DFL);
  return 0;
}

int Main(int argc, char** argv) {
  CommandLine line;
  const absl::Status set = SetDefaults(line);
  CLI::App app("Owns this host's RDMA device for its processes, which use it with skein.rdma=service or auto.",
               "skeind");
  AddOptions(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {  // help and the version, too
    return app.exit(error) == 0 ? 0 : kCalledWrongly;
  }
  if (!set.ok()) return Fail(set.message());
  if (const absl::Status complete = Complete(line); !complete.ok()) return Fail(complete.message());
  return Serve(line);
}

}  // namespace
}  // namespace skein

int main(int argc, char** argv) {
  try {
    return skein::Main(argc, argv);
  } catch (const std::exception& error) {  // of CLI11
    return skein::Fail(error.what());
  }
}
