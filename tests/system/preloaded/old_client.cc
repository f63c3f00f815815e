// Makes all that the old gRPC makes, and says how many of the four are on TCP.
#include <cstdio>

extern "C" {
void grpc_init();
void* grpc_insecure_channel_create(const char* target, const void* arguments, void* reserved);
void* grpc_secure_channel_create(void* credentials, const char* target, const void* arguments, void* reserved);
int grpc_server_add_insecure_http2_port(void* server, const char* address);
int grpc_server_add_secure_http2_port(void* server, const char* address, void* credentials);
bool is_on_tcp(const void* channel);
}

bool WaitsAreOver();

int main() {
  grpc_init();
  const int made = int{is_on_tcp(grpc_insecure_channel_create("", nullptr, nullptr))} +
                   int{is_on_tcp(grpc_secure_channel_create(nullptr, "", nullptr, nullptr))} +
                   grpc_server_add_insecure_http2_port(nullptr, "") +
                   grpc_server_add_secure_http2_port(nullptr, "", nullptr);
  if (!WaitsAreOver()) return 1;
  std::printf("%d of 4 on TCP\n", made);
}
