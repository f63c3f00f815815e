// What the adapter takes for granted of the gRPC that it is built for.
#include <grpc/event_engine/event_engine.h>
#include <grpcpp/version_info.h>
#include <gtest/gtest.h>

namespace skein::grpc_transport {
namespace {

TEST(EventEngineSeam, GrpcsOwnEngineIsThereToBeWrapped) {
  EXPECT_NE(grpc_event_engine::experimental::GetDefaultEventEngine(), nullptr);
}

}  // namespace
}  // namespace skein::grpc_transport
