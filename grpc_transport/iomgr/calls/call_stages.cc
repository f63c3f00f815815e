#include "grpc_transport/iomgr/calls/call_stages.h"

#include <climits>
#include <cstring>

#include "grpc_transport/iomgr/calls/call_endpoint.h"
#include "grpc_transport/iomgr/calls/call_transport.h"

namespace skein::grpc_transport {
namespace {

bool IsOurs(const grpc_core::ChannelStackBuilder& stack) {
  ::grpc_transport* const transport = stack.transport();
  return transport != nullptr && std::strcmp(transport->vtable->name, kCallTransportName) == 0;
}

template <bool kIsClient>
bool Install(grpc_core::ChannelStackBuilder* stack) {
  ::grpc_transport* const transport = stack->transport();
  if (transport == nullptr || std::strcmp(transport->vtable->name, "chttp2") != 0) return true;
  CallEndpoint* const endpoint = CallEndpoint::Of(transport->vtable->get_endpoint(transport));
  if (endpoint != nullptr) new CallTransport(transport, *endpoint, kIsClient, stack->channel_args());
  return true;
}

// As gRPC's own plugin does for HTTP.
bool AddCompression(grpc_core::ChannelStackBuilder* stack) {
  if (!IsOurs(*stack)) return true;
  const auto wanted = [args = stack->channel_args()](const char* name) {
    return args.GetBool(name).value_or(!args.WantMinimalStack());
  };
  if (wanted(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION)) stack->PrependFilter(&grpc_message_compress_filter);
  if (wanted(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION)) stack->PrependFilter(&grpc_core::MessageDecompressFilter);
  return true;
}

}  // namespace

void RegisterCallTransport(grpc_core::CoreConfiguration::Builder* builder) {
  auto* const stages = builder->channel_init();
  // Before all others, which look at the transport's name.
  stages->RegisterStage(GRPC_CLIENT_SUBCHANNEL, INT_MIN, Install<true>);
  stages->RegisterStage(GRPC_SERVER_CHANNEL, INT_MIN, Install<false>);
  for (const grpc_channel_stack_type type : {GRPC_CLIENT_SUBCHANNEL, GRPC_SERVER_CHANNEL}) {
    stages->RegisterStage(type, GRPC_CHANNEL_INIT_BUILTIN_PRIORITY, AddCompression);
  }
}

}  // namespace skein::grpc_transport
