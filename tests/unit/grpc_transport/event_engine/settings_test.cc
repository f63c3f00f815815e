// What a connection is to do, by the environment and by a channel's arguments.
#include "grpc_transport/event_engine/settings.h"

#include <grpc/grpc.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/grpc_transport/event_engine/connecting_engine.h"

namespace skein::grpc_transport {
namespace {

using testing::HasSubstr;

TEST(SettingsTest, ArgumentsAreTextOrNumbers) {
  TestConfig config;
  config.strings = {{"skein.mode", "prefer"}, {"skein.ring_bytes", "131072"}};
  config.ints = {{"skein.window_bytes", 65536}, {"skein.shm_links", 2}};
  const absl::StatusOr<Options> options = OptionsOf({}, config);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->mode, Mode::kPrefer);
  EXPECT_EQ(options->ring_bytes, 131072);
  EXPECT_EQ(options->window_bytes, 65536);
  EXPECT_EQ(options->shm_links, 2);
}

TEST(SettingsTest, TheEnvironmentSaysWhatArgumentsDoNot) {
  EnvironmentOptions environment;
  environment.options.mode = Mode::kRequire;
  environment.options.shm_links = 3;
  TestConfig config;
  config.ints = {{"skein.shm_links", 2}};
  const absl::StatusOr<Options> options = OptionsOf(environment, config);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->mode, Mode::kRequire);
  EXPECT_EQ(options->shm_links, 2);
}

TEST(SettingsTest, AWrongArgumentIsNamedWithWhatIsAllowed) {
  TestConfig config;
  config.strings = {{"skein.mode", "prefer"}};
  config.ints = {{"skein.shm_links", 2000}};
  const absl::Status status = OptionsOf({}, config).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("skein.shm_links"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("1 .. 1024"));
}

TEST(SettingsTest, WithModeOffNoErrorCounts) {
  TestConfig config;
  config.strings = {{"skein.mode", "off"}, {"skein.shm_links", "many"}};
  EXPECT_TRUE(OptionsOf({}, config).ok());
}

TEST(SettingsTest, AModeThatIsNoneAsksForSkeinToo) {
  TestConfig config;
  config.ints = {{"skein.mode", 7}};
  EXPECT_TRUE(absl::IsInvalidArgument(OptionsOf({}, config).status()));
}

TEST(KeptConfigTest, KeepsTcpsNumbersAndAShareOfTheQuota) {
  grpc_resource_quota* const quota = grpc_resource_quota_create("test");
  auto config = std::make_unique<TestConfig>();
  config->ints = {{GRPC_ARG_TCP_READ_CHUNK_SIZE, 4242}, {"skein.shm_links", 2}};
  config->strings = {{"skein.mode", "prefer"}};
  config->pointers = {{GRPC_ARG_RESOURCE_QUOTA, quota}};
  ASSERT_TRUE(KeptConfig::CanKeep(*config));
  const KeptConfig kept(*config);
  config = nullptr;
  grpc_resource_quota_unref(quota);
  EXPECT_EQ(kept.GetInt(GRPC_ARG_TCP_READ_CHUNK_SIZE), 4242);
  EXPECT_EQ(kept.GetInt(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE), std::nullopt);
  EXPECT_EQ(kept.GetVoidPointer(GRPC_ARG_RESOURCE_QUOTA), quota);
  EXPECT_EQ(kept.GetVoidPointer(GRPC_ARG_SOCKET_MUTATOR), nullptr);
  EXPECT_EQ(kept.GetString("skein.mode"), std::nullopt) << "the second connection is TCP's";
}

TEST(KeptConfigTest, ASocketMutatorCannotBeKept) {
  TestConfig config;
  config.pointers = {{GRPC_ARG_SOCKET_MUTATOR, &config}};
  EXPECT_FALSE(KeptConfig::CanKeep(config));
}

}  // namespace
}  // namespace skein::grpc_transport
