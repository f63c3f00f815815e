#include "tests/unit/grpc_transport/iomgr/calls_chaos/leftovers.h"

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "grpc_transport/iomgr/grpc_internal.h"
#include "tests/unit/grpc_transport/iomgr/channelz.h"

namespace skein::calls_chaos {
namespace {

using grpc_transport::Number;
using grpc_transport::Told;
using nlohmann::json;

// The elements of a list that may not be there.
json List(const json& of, const char* name) { return of.is_object() ? of.value(name, json::array()) : json::array(); }

long Count(const json& data, const char* name) {
  return data.contains(name) ? std::stol(data.at(name).get<std::string>()) : 0;
}

// Any of them may go at any moment.
long ListedAt(const json& socket_references) {
  long calls = 0;
  for (const json& reference : socket_references) {
    const json told = Told(grpc_channelz_get_socket(Number(reference, "socketId")));
    if (!told.is_object()) continue;
    const json& data = told.at("socket").at("data");
    // Too many ends at one end must not make up for too few at the other.
    calls += std::abs(Count(data, "streamsStarted") - Count(data, "streamsSucceeded") - Count(data, "streamsFailed"));
  }
  return calls;
}

double Pressure(grpc_resource_quota* quota) {
  const grpc_core::ExecCtx exec_ctx;
  const auto memory = grpc_core::ResourceQuota::FromC(quota)->memory_quota();
  return memory->CreateMemoryOwner("probe").GetPressureInfo().instantaneous_pressure;
}

size_t Entries(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace

long CallsListed() {
  long calls = 0;
  for (const json& channel : List(Told(grpc_channelz_get_top_channels(0)), "channel")) {
    for (const json& reference : List(channel, "subchannelRef")) {
      const json told = Told(grpc_channelz_get_subchannel(Number(reference, "subchannelId")));
      if (told.is_object()) calls += ListedAt(List(told.at("subchannel"), "socketRef"));
    }
  }
  for (const json& server : List(Told(grpc_channelz_get_servers(0)), "server")) {
    const auto number = Number(server.at("ref"), "serverId");
    calls += ListedAt(List(Told(grpc_channelz_get_server_sockets(number, 0, 0)), "socketRef"));
  }
  return calls;
}

// The probe takes some, too.
double BytesUsed(const grpc::ResourceQuota& quota) {
  grpc::ResourceQuota unused("unused");
  unused.Resize(kQuotaBytes);
  return (Pressure(quota.c_resource_quota()) - Pressure(unused.c_resource_quota())) * kQuotaBytes;
}

size_t Threads() { return Entries("/proc/self/task"); }
size_t Descriptors() { return Entries("/proc/self/fd"); }

}  // namespace skein::calls_chaos
