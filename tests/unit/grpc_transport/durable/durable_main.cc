#include <skein/grpc.h>

#include "gtest/gtest.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const absl::Status status = skein::grpc_transport::Init(); !status.ok()) return 2;
  return RUN_ALL_TESTS();
}
