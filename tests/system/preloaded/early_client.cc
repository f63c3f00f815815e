// Linked in front of core_client's main: needs the early library, so that it is loaded.
extern "C" struct grpc_channel* early_channel();

struct grpc_channel* needed = early_channel();
