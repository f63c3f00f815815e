// What gRPC's channelz tells, as JSON.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CHANNELZ_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CHANNELZ_H_

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace skein::grpc_transport {

// What a function of channelz has told; null: there is no such thing.
inline nlohmann::json Told(char* text) {
  const std::unique_ptr<char, void (*)(void*)> owned(text, gpr_free);
  return owned == nullptr ? nlohmann::json() : nlohmann::json::parse(owned.get());
}

inline intptr_t Number(const nlohmann::json& reference, const char* name) {
  return std::stol(reference.at(name).get<std::string>());
}

}  // namespace skein::grpc_transport

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CHANNELZ_H_
