// A gRPC of long ago, as far as a program asks for it below: version 1.30 had these functions in the place of today's.
#include <cstdio>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

char on_tcp;
char lame;

}  // namespace

EXPORTED void gpr_once_init(void* once, void (*function)());
EXPORTED void grpc_init() {
  gpr_once_init(nullptr, [] {});
}
EXPORTED void* grpc_insecure_channel_create(const char*, const void*, void*) { return &on_tcp; }
EXPORTED void* grpc_secure_channel_create(void*, const char*, const void*, void*) { return &on_tcp; }
EXPORTED void* grpc_lame_client_channel_create(const char*, int status, const char* message) {
  std::printf("lame %d %s\n", status, message);
  return &lame;
}
EXPORTED int grpc_server_add_insecure_http2_port(void*, const char*) { return 1; }
EXPORTED int grpc_server_add_secure_http2_port(void*, const char*, void*) { return 1; }
EXPORTED bool is_on_tcp(const void* channel) { return channel == &on_tcp; }
