// Preloaded, makes libgrpc look like another version.
extern "C" __attribute__((visibility("default"))) const char* grpc_version_string() { return "30.1.0"; }
