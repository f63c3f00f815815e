#include "grpc_transport/common/settings_acks.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

std::string Frame(uint8_t type, uint8_t flags, const std::string& payload) {
  std::string frame = {0, static_cast<char>(payload.size() >> 8), static_cast<char>(payload.size())};
  frame += {static_cast<char>(type), static_cast<char>(flags), 0, 0, 0, 0};
  return frame + payload;
}
const std::string kSettings = Frame(4, 0, std::string(12, 'x'));
const std::string kAck = Frame(4, 1, "");
// Whose payload looks like an acknowledgement.
const std::string kData = Frame(0, 1, kAck);

TEST(SettingsAcksTest, TheFirstSoManyAreTakenOut) {
  SettingsAcks acks(2);
  EXPECT_EQ(acks.Pass(kSettings + kAck + kData + kAck + kAck + kData), kSettings + kData + kAck + kData);
  EXPECT_TRUE(acks.done());
}

TEST(SettingsAcksTest, HoweverTheBytesArrive) {
  const std::string sent = kSettings + kAck + kData + kAck + kData;
  for (size_t piece = 1; piece <= sent.size(); ++piece) {
    SettingsAcks acks(1);
    std::string passed;
    for (size_t at = 0; at < sent.size(); at += piece) passed += acks.Pass(sent.substr(at, piece));
    EXPECT_EQ(passed, kSettings + kData + kAck + kData) << "in pieces of " << piece;
    EXPECT_TRUE(acks.done());
  }
}

TEST(SettingsAcksTest, ItIsDoneOnlyWhenNothingIsHeldBack) {
  SettingsAcks acks(1);
  EXPECT_FALSE(acks.done());
  acks.Pass(kAck.substr(0, 8));
  EXPECT_FALSE(acks.done());
  EXPECT_EQ(acks.Pass(kAck.substr(8)), "");
  EXPECT_TRUE(acks.done());
}

TEST(SettingsAcksTest, OfNoFramesNothingIsTakenOut) {
  SettingsAcks acks(0);
  EXPECT_TRUE(acks.done());
  EXPECT_EQ(acks.Pass(kAck), kAck);
}

TEST(SettingsAcksTest, SettingsThatCallThemselvesAcknowledgementsPass) {
  SettingsAcks acks(1);
  const std::string wrong = Frame(4, 1, "123456");  // HTTP/2 says what that is
  EXPECT_EQ(acks.Pass(wrong), wrong);
  EXPECT_FALSE(acks.done());
}

}  // namespace
}  // namespace skein::grpc_transport
