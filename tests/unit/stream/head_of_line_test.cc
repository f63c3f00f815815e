// A large message does not hold small ones back.
#include "gtest/gtest.h"
#include "tests/unit/stream/beside_a_transfer.h"

namespace skein::stream {
namespace {

constexpr int64_t kNever = 0;
constexpr size_t kTransfer = 16 << 20;

BesideATransfer Measure(int64_t large_payload, size_t bytes) {
  return TransferOnSim(large_payload, kTransfer).Run(/*messages=*/250, bytes);
}

TEST(HeadOfLineTest, SmallMessagesTakeThreeTimesAsLongAtMost) {
  const BesideATransfer alone = Measure(64 << 10, 0);
  const BesideATransfer beside = Measure(64 << 10, kTransfer);
  EXPECT_LT(alone.p99, absl::Microseconds(5));
  EXPECT_LE(beside.p99, 3 * alone.p99);
}

// And the transfer itself is not much slower.
TEST(HeadOfLineTest, TheWireIsKeptBusy) {
  EXPECT_LT(Measure(64 << 10, kTransfer).transfer, 1.1 * Measure(kNever, kTransfer).transfer);
}

// Else the tests above could not fail.
TEST(HeadOfLineTest, InTheRingTheyWaitForWhatIsBeforeThem) {
  const BesideATransfer beside = Measure(kNever, kTransfer);
  EXPECT_LT(beside.p99, absl::InfiniteDuration());
  EXPECT_GT(beside.p99, 3 * Measure(kNever, 0).p99);
}

}  // namespace
}  // namespace skein::stream
