#include "core/wire/immediate.h"

#include "gtest/gtest.h"

namespace skein::wire {
namespace {

TEST(ImmediateTest, ANotificationIsNoRenewal) {
  EXPECT_TRUE(IsRenewal(65536).value()) << "FORMAT.md says so";
  EXPECT_FALSE(IsRenewal(0).value());
}

TEST(ImmediateTest, AnythingElseIsAnError) {
  for (const uint32_t immediate : {0x1u, 0xffffu, 0x10001u, 0x20000u, 0x30001u, 0x80010001u, 0xffffffffu}) {
    EXPECT_TRUE(absl::IsDataLoss(IsRenewal(immediate).status())) << immediate;
  }
}

}  // namespace
}  // namespace skein::wire
