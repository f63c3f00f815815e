// A program with a gRPC of its own inside, as far as anybody sees from outside.
#include <cstdio>

extern "C" __attribute__((visibility("default"))) void grpc_init() { std::puts("its own"); }

int main() { grpc_init(); }
