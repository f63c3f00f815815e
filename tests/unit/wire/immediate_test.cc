#include "core/wire/immediate.h"

#include "gtest/gtest.h"

namespace skein::wire {
namespace {

TEST(ImmediateTest, RenewalsCarryAnyDegree) {
  for (const uint16_t degree : {0, 1, 2, 0x8000, 0xffff}) {
    const absl::StatusOr<std::optional<uint16_t>> decoded = DecodeImmediate(EncodeRenewal(degree));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, degree);
  }
  EXPECT_EQ(EncodeRenewal(3), 0x00010003u) << "FORMAT.md says so";
}

TEST(ImmediateTest, ABellIsNoRenewal) { EXPECT_EQ(DecodeImmediate(kBell).value(), std::nullopt); }

TEST(ImmediateTest, AnythingElseIsAnError) {
  for (const uint32_t immediate : {0x1u, 0xffffu, 0x20000u, 0x30001u, 0x80010001u, 0xffffffffu}) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeImmediate(immediate).status())) << immediate;
  }
}

}  // namespace
}  // namespace skein::wire
