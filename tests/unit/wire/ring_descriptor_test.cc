// A ring that a peer describes is one that could be, or an error.
#include "core/wire/ring_descriptor.h"

#include "core/wire/control.h"
#include "gtest/gtest.h"
#include "tests/support/exact_bytes.h"
#include "tests/support/wire_samples.h"

namespace skein::wire {
namespace {

absl::StatusOr<RingDescriptor> Decode(absl::string_view bytes) {
  return DecodeRingDescriptor(ExactBytes(bytes).text());
}

absl::StatusCode CodeWith(uint64_t address, uint64_t size) {
  RingDescriptor ring = SampleRing();
  ring.address = address;
  ring.size = size;
  return Decode(EncodeRingDescriptor(ring)).status().code();
}

TEST(RingDescriptorTest, ComesBackAsItWas) {
  const RingDescriptor ring = SampleRing();
  const std::string bytes = EncodeRingDescriptor(ring);
  EXPECT_EQ(bytes.size(), kRingDescriptorBytes);
  const absl::StatusOr<RingDescriptor> decoded = Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->address, ring.address);
  EXPECT_EQ(decoded->size, ring.size);
  EXPECT_EQ(decoded->secret, ring.secret);
  EXPECT_EQ(decoded->rkey, ring.rkey);
}

TEST(RingDescriptorTest, OtherLengthsAreRefused) {
  const std::string bytes = EncodeRingDescriptor(SampleRing());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(Decode(bytes.substr(0, size)).status().code(), absl::StatusCode::kDataLoss) << size;
  }
  EXPECT_EQ(Decode(bytes + '\0').status().code(), absl::StatusCode::kDataLoss);
}

TEST(RingDescriptorTest, SizesOutsideTheFormatAreRefused) {
  for (uint64_t size : {uint64_t{0}, uint64_t{1}, kRingGranule - 1, kRingGranule + 64, kMaxRingBytes + kRingGranule,
                        uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_EQ(CodeWith(4096, size), absl::StatusCode::kDataLoss) << size;
  }
  for (uint64_t size : {kRingGranule, 3 * kRingGranule, kMaxRingBytes}) {
    EXPECT_EQ(CodeWith(4096, size), absl::StatusCode::kOk) << size;
  }
}

TEST(RingDescriptorTest, AddressesThatNoRingHasAreRefused) {
  EXPECT_EQ(CodeWith(4096 + 8, kRingGranule), absl::StatusCode::kDataLoss);
  EXPECT_EQ(CodeWith(UINT64_MAX & ~uint64_t{63}, kRingGranule), absl::StatusCode::kDataLoss);
  EXPECT_EQ(CodeWith(UINT64_MAX - kRingGranule + 1, kRingGranule), absl::StatusCode::kDataLoss);
  const uint64_t last = (UINT64_MAX - kRingGranule - kControlBytes) & ~uint64_t{63};
  EXPECT_EQ(CodeWith(last, kRingGranule), absl::StatusCode::kOk);
  EXPECT_EQ(CodeWith(last + 64, kRingGranule), absl::StatusCode::kDataLoss) << "no place for the control line";
  EXPECT_EQ(CodeWith(0, kRingGranule), absl::StatusCode::kOk);
}

TEST(RingDescriptorTest, ItsLastWordIsZero) {
  for (size_t at = 28; at < 32; ++at) {
    std::string bytes = EncodeRingDescriptor(SampleRing());
    bytes[at] = 1;
    EXPECT_EQ(Decode(bytes).status().code(), absl::StatusCode::kDataLoss) << at;
  }
}

}  // namespace
}  // namespace skein::wire
