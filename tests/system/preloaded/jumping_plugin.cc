// A plug-in whose function ends with a jump to gRPC's, which then returns to the plug-in's host.
#include <grpc/grpc.h>

extern "C" grpc_channel* plugin_channel(const char* target, grpc_channel_credentials* credentials) {
  return grpc_channel_create(target, credentials, nullptr);
}
