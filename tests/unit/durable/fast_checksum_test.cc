#include "core/durable/flush/fast_checksum.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace skein::durable {
namespace {

std::string Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 37 + i / 251);
  return bytes;
}

TEST(FastChecksumTest, ItsRowsAreIscsis) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
}

TEST(FastChecksumTest, TheInstructionAndTheTableAgree) {
  const std::string bytes = Bytes(3000);
  for (size_t size = 0; size < 200; ++size) {
    const absl::string_view all(bytes);
    EXPECT_EQ(FastChecksum(all.substr(size % 9, 56), all.substr(0, size)),
              PlainFastChecksum(all.substr(size % 9, 56), all.substr(0, size)));
    EXPECT_EQ(FastChecksum({}, all.substr(size)), PlainFastChecksum({}, all.substr(size)));
  }
}

TEST(FastChecksumTest, IsAsTheFormatSays) {
  // So that what one version has written the next one reads.
  EXPECT_EQ(PlainFastChecksum(Bytes(56), Bytes(1000)), FastChecksum(Bytes(56), Bytes(1000)));
  EXPECT_EQ(FastChecksum(Bytes(56), Bytes(1000)), 0x4ce3ced3u);
}

TEST(FastChecksumTest, EveryBitAndEveryLengthCounts) {
  std::set<uint32_t> seen = {FastChecksum(Bytes(56), Bytes(100))};
  for (size_t bit = 0; bit < 8 * 156; ++bit) {
    std::string header = Bytes(56);
    std::string payload = Bytes(100);
    char& byte = bit / 8 < 56 ? header[bit / 8] : payload[bit / 8 - 56];
    byte = static_cast<char>(byte ^ (1 << bit % 8));
    EXPECT_TRUE(seen.insert(FastChecksum(header, payload)).second) << bit;
  }
  for (size_t size = 0; size < 100; ++size) {
    EXPECT_TRUE(seen.insert(FastChecksum({}, std::string(size, '\0'))).second) << "zeros are counted";
  }
}

}  // namespace
}  // namespace skein::durable
