// A library that uses gRPC as soon as it is loaded, before anybody's main.
#include "tests/system/preloaded/channel.h"

namespace {

grpc_channel* channel = nullptr;

[[gnu::constructor]] void Begin() {
  grpc_init();
  channel = skein::MakeChannel("127.0.0.1:1", "");
}

}  // namespace

extern "C" __attribute__((visibility("default"))) grpc_channel* early_channel() { return channel; }
