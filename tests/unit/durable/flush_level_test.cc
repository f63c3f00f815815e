// What an acknowledgement claims, for every mode, medium and platform.
#include "core/durable/flush/level.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::durable {
namespace {

using testing::HasSubstr;

constexpr LogMemory kPlain{};
constexpr LogMemory kPmem{
    .has_storage = true, .in_place = true, .fine_grained = true, .on_persist = Persistence::kPersistent};
constexpr LogMemory kForcedPmem{
    .has_storage = true, .in_place = true, .fine_grained = true, .on_persist = Persistence::kEmulated};
constexpr LogMemory kMappedFile{
    .has_storage = true, .in_place = true, .fine_grained = false, .on_persist = Persistence::kPersistent};
constexpr LogMemory kFile{
    .has_storage = true, .in_place = false, .fine_grained = false, .on_persist = Persistence::kPersistent};
constexpr PlatformHints kNothingSaid{};
constexpr PlatformHints kNoDdio{.ddio = false, .domain = PersistenceDomain::kUnclaimed};
constexpr PlatformHints kAdr{.ddio = false, .domain = PersistenceDomain::kAdr};
constexpr PlatformHints kAdrWithDdio{.ddio = true, .domain = PersistenceDomain::kAdr};
constexpr PlatformHints kEadr{.ddio = true, .domain = PersistenceDomain::kEadr};

class SenderFlushes : public testing::TestWithParam<FlushMode> {};
class ReceiverFlushes : public testing::TestWithParam<FlushMode> {};

TEST_P(SenderFlushes, NothingSaidMeansInTheCpusCache) {
  EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kPmem, kNothingSaid), Persistence::kVisible);
  EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kPmem, kAdrWithDdio), Persistence::kVisible) << "ADR keeps no cache";
  EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kPlain, kNothingSaid), Persistence::kVisible);
}
TEST_P(SenderFlushes, WithoutDdioAsFarAsTheMemoryController) {
  EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kPmem, kNoDdio), Persistence::kFlushed);
  EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kPmem, kAdr), Persistence::kPersistent);
  EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kForcedPmem, kAdr), Persistence::kEmulated);
}
TEST_P(SenderFlushes, EadrKeepsTheCacheToo) {
  EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kPmem, kEadr), Persistence::kPersistent);
  EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kForcedPmem, kEadr), Persistence::kEmulated);
}
TEST_P(SenderFlushes, NoPlatformMakesOrdinaryMemoryPersistent) {
  for (const LogMemory& memory : {kPlain, kMappedFile}) {
    EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, memory, kAdr), Persistence::kFlushed);
    EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, memory, kEadr), Persistence::kVisible);
  }
}
TEST_P(SenderFlushes, RefusalsNameWhatToChange) {
  const auto refused = [](const LogMemory& memory, const PlatformHints& platform) {
    return std::string(CheckWanted(Persistence::kPersistent, GetParam(), FlushVerb::kRead, memory, platform).message());
  };
  EXPECT_THAT(refused(kPmem, kNothingSaid), HasSubstr("switch DDIO off"));
  EXPECT_THAT(refused(kPmem, kNoDdio), HasSubstr("ADR or eADR"));
  EXPECT_THAT(refused(kMappedFile, kAdr), HasSubstr("DAX"));
  EXPECT_THAT(refused(kPlain, kAdr), HasSubstr("give the receiver a storage"));
  EXPECT_THAT(refused(kForcedPmem, kAdr), HasSubstr("this one is emulated"));
  EXPECT_THAT(refused(kPmem, kNothingSaid), HasSubstr("rflush"));
  EXPECT_TRUE(CheckWanted(Persistence::kPersistent, GetParam(), FlushVerb::kRead, kPmem, kAdr).ok());
}

TEST_P(SenderFlushes, AFlushToPersistenceNeedsNobodysWord) {
  for (const PlatformHints& platform : {kNothingSaid, kNoDdio, kAdr, kAdrWithDdio, kEadr}) {
    EXPECT_EQ(BestVerb(GetParam(), kPmem, platform, true, true), FlushVerb::kFlushPersistent);
    EXPECT_EQ(Achieved(GetParam(), FlushVerb::kFlushPersistent, kPmem, platform), Persistence::kPersistent);
    EXPECT_EQ(Achieved(GetParam(), FlushVerb::kFlushPersistent, kForcedPmem, platform), Persistence::kEmulated);
    EXPECT_TRUE(CheckWanted(Persistence::kPersistent, GetParam(), FlushVerb::kFlushPersistent, kPmem, platform).ok());
    EXPECT_NE(BestVerb(GetParam(), kMappedFile, platform, true, true), FlushVerb::kFlushPersistent);
    EXPECT_NE(BestVerb(GetParam(), kPlain, platform, true, true), FlushVerb::kFlushPersistent);
  }
}
TEST_P(SenderFlushes, AFlushToVisibilityWhereAReadDoesNoMore) {
  EXPECT_EQ(BestVerb(GetParam(), kPlain, kNothingSaid, true, false), FlushVerb::kFlush);
  EXPECT_EQ(BestVerb(GetParam(), kPmem, kNothingSaid, true, false), FlushVerb::kFlush);
  EXPECT_EQ(Achieved(GetParam(), FlushVerb::kFlush, kPmem, kNothingSaid), Persistence::kVisible);
  EXPECT_EQ(BestVerb(GetParam(), kPmem, kAdr, true, false), FlushVerb::kRead) << "it is worth more";
  EXPECT_EQ(BestVerb(GetParam(), kPmem, kEadr, true, false), FlushVerb::kRead);
  EXPECT_EQ(BestVerb(GetParam(), kPmem, kNothingSaid, false, false), FlushVerb::kRead) << "not offered";
}

TEST_P(ReceiverFlushes, AsItsStorageSays) {
  for (const PlatformHints& platform : {kNothingSaid, kNoDdio, kAdr, kEadr}) {
    EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kPmem, platform), Persistence::kPersistent);
    EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kFile, platform), Persistence::kPersistent);
    EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kForcedPmem, platform), Persistence::kEmulated);
    EXPECT_EQ(Achieved(GetParam(), FlushVerb::kRead, kPlain, platform), Persistence::kVisible);
    EXPECT_EQ(BestVerb(GetParam(), kPmem, platform, true, true), FlushVerb::kRead) << "its sender flushes nothing";
  }
}

TEST(FlushModeTest, NamesAreRead) {
  for (const uint8_t number : {1, 2, 3, 4}) {
    ASSERT_TRUE(IsFlushMode(number));
    const auto mode = static_cast<FlushMode>(number);
    EXPECT_EQ(FlushModeOf(FlushModeName(mode)), mode);
  }
  EXPECT_FALSE(IsFlushMode(0));
  EXPECT_FALSE(IsFlushMode(5));
  EXPECT_EQ(FlushModeOf("flush"), std::nullopt);
}

std::string Name(const testing::TestParamInfo<FlushMode>& info) {
  return std::string(SentByWrite(info.param) ? "write" : "send");
}
INSTANTIATE_TEST_SUITE_P(Modes, SenderFlushes, testing::Values(FlushMode::kWFlush, FlushMode::kSFlush), Name);
INSTANTIATE_TEST_SUITE_P(Modes, ReceiverFlushes, testing::Values(FlushMode::kWRFlush, FlushMode::kSRFlush), Name);

}  // namespace
}  // namespace skein::durable
