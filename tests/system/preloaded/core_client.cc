// core_client TARGET [MODE]: by gRPC's C interface alone, says on standard output whether a channel to TARGET becomes
// READY (or fails), whether a server gets a port, and which of gRPC's and Skein's libraries are in this process.
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>

#include <fstream>
#include <iostream>
#include <set>
#include <string>

#include "tests/system/preloaded/channel.h"

namespace skein {
namespace {

grpc_connectivity_state SettledState(grpc_channel* channel, grpc_completion_queue* queue) {
  const gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_seconds(20, GPR_TIMESPAN));
  grpc_connectivity_state state = grpc_channel_check_connectivity_state(channel, 1);
  while (state == GRPC_CHANNEL_IDLE || state == GRPC_CHANNEL_CONNECTING) {
    grpc_channel_watch_connectivity_state(channel, state, deadline, queue, nullptr);
    if (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr).success == 0) break;
    state = grpc_channel_check_connectivity_state(channel, 1);
  }
  return state;
}

void End(grpc_completion_queue* queue) {
  grpc_completion_queue_shutdown(queue);
  while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), nullptr).type != GRPC_QUEUE_SHUTDOWN) {
  }
  grpc_completion_queue_destroy(queue);
}

bool ServerGetsAPort() {
  grpc_server* const server = grpc_server_create(nullptr, nullptr);
  grpc_completion_queue* const queue = grpc_completion_queue_create_for_next(nullptr);
  grpc_server_register_completion_queue(server, queue, nullptr);
  grpc_server_credentials* const credentials = grpc_insecure_server_credentials_create();
  const bool port = grpc_server_add_http2_port(server, "127.0.0.1:0", credentials) > 0;
  grpc_server_credentials_release(credentials);
  grpc_server_shutdown_and_notify(server, queue, nullptr);
  End(queue);
  grpc_server_destroy(server);
  return port;
}

// Names of files.
std::set<std::string> Libraries() {
  std::set<std::string> names;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::string name = line.substr(line.rfind('/') + 1);
    if (name.starts_with("libgrpc") || name.starts_with("libskein")) names.insert(name);
  }
  return names;
}

}  // namespace
}  // namespace skein

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  grpc_init();
  grpc_channel* const channel = skein::MakeChannel(argv[1], argc > 2 ? argv[2] : "");
  grpc_completion_queue* const queue = grpc_completion_queue_create_for_next(nullptr);
  const bool ready = skein::SettledState(channel, queue) == GRPC_CHANNEL_READY;
  std::cout << (ready ? "ready" : "failed") << (skein::ServerGetsAPort() ? " port" : " no-port");
  for (const std::string& library : skein::Libraries()) std::cout << ' ' << library;
  std::cout << std::endl;
  grpc_channel_destroy(channel);
  skein::End(queue);
  grpc_shutdown_blocking();
}
