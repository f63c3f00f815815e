// A process of its own: Init() is called once.
#include <grpc/grpc.h>
#include <skein/grpc.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

TEST(LateInitTest, IsToldThatThreadsWillNotSpin) {
  grpc_init();
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Init().ok());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("Init() came after grpc_init()"));
  grpc_shutdown_blocking();
}

}  // namespace
}  // namespace skein::grpc_transport
