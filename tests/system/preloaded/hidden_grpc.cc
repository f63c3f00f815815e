// A program with a gRPC of its own inside, stripped: what is left to be seen is a text that gRPC traces.
#include <cstdio>

int main() { std::puts("grpc_init(void)"); }
