#include "core/base/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"

namespace skein {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<Options> FromEnvironment(std::vector<const char*> environment, const Options& base = {}) {
  environment.push_back(nullptr);
  return OptionsFromEnvironment(base, "SKEIN_GRPC", environment.data());
}

TEST(OptionsTest, DefaultsOfTheTableAreThoseOfTheStruct) {
  Options from_table;
  from_table.ring_bytes = from_table.window_bytes = from_table.queue_pairs = 0;
  from_table.negotiation_timeout = from_table.negative_cache = absl::ZeroDuration();
  from_table.shm = false;
  from_table.rdma = {false, "none", 9, 9, 9, 9, 9, 9, 9, 9, absl::ZeroDuration(), 9, 9};
  for (const OptionSpec& spec : OptionTable()) {
    ASSERT_TRUE(SetOption(from_table, spec.name, spec.default_value).ok()) << spec.name;
  }
  EXPECT_TRUE(from_table == Options{});
}

TEST(OptionsTest, BoundsAreInclusive) {
  Options options;
  EXPECT_TRUE(SetOption(options, "ring_bytes", "65536").ok());
  EXPECT_EQ(options.ring_bytes, 65536);
  EXPECT_TRUE(SetOption(options, "ring_bytes", "1073741824").ok());
  EXPECT_EQ(options.ring_bytes, 1073741824);
  EXPECT_FALSE(SetOption(options, "ring_bytes", "0").ok());
  EXPECT_FALSE(SetOption(options, "ring_bytes", "1073807360").ok());
  EXPECT_EQ(options.ring_bytes, 1073741824) << "a refused value must change nothing";
}

TEST(OptionsTest, RingsAreWholeMultiplesOf64KiB) {
  Options options;
  absl::Status status = SetOption(options, "ring_bytes", "65537");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("multiple of 65536"));
}

TEST(OptionsTest, BadValuesAreNamedWithWhatIsAllowed) {
  Options options;
  for (absl::string_view value : {"", "on", "Prefer", "prefer ", "1"}) {
    absl::Status status = SetOption(options, "mode", value);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("mode is \"", value, "\"")));
    EXPECT_THAT(status.message(), HasSubstr("off | prefer | require"));
  }
  for (absl::string_view value : {"", "x", "1s", "1.5", "99999999999999999999", "-1"}) {
    absl::Status status = SetOption(options, "negotiation_timeout", value);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << value;
    EXPECT_THAT(status.message(), HasSubstr("10 .. 60000 ms"));
  }
}

TEST(OptionsTest, UnknownNameSuggestsTheNearest) {
  Options options;
  EXPECT_THAT(SetOption(options, "modes", "off").message(), HasSubstr("did you mean mode?"));
  EXPECT_THAT(SetOption(options, "ring_byte", "65536").message(), HasSubstr("did you mean ring_bytes?"));
}

TEST(OptionsTest, EnvironmentChangesTheBase) {
  Options base;
  base.window_bytes = 131072;
  auto options = FromEnvironment({"HOME=/", "SKEIN_GRPC=require", "SKEIN_RING_BYTES=131072"}, base);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->mode, Mode::kRequire);
  EXPECT_EQ(options->ring_bytes, 131072);
  EXPECT_EQ(options->window_bytes, 131072);
}

TEST(OptionsTest, EmptyOrNoEnvironmentIsTheBase) {
  EXPECT_TRUE(*FromEnvironment({}) == Options{});
  EXPECT_TRUE(*OptionsFromEnvironment({}, "SKEIN_GRPC", nullptr) == Options{});
}

TEST(OptionsTest, ModeOfAnotherAdapterIsNotOurs) {
  auto options = FromEnvironment({"SKEIN_THRIFT=nonsense"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_TRUE(*options == Options{});
}

TEST(OptionsTest, UnknownVariableIsAnErrorThatSuggestsTheNearest) {
  EXPECT_THAT(FromEnvironment({"SKEIN_RINGBYTES=65536"}).status().message(), HasSubstr("SKEIN_RING_BYTES"));
  EXPECT_THAT(FromEnvironment({"SKEIN_MODE=off"}).status().message(), HasSubstr("did you mean SKEIN_GRPC?"));
}

TEST(OptionsTest, BadVariableIsNamedAsTheUserWroteIt) {
  absl::Status status = FromEnvironment({"SKEIN_GRPC=yes"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("SKEIN_GRPC is \"yes\""));
}

TEST(OptionsTest, ReferencePageIsInStep) {
  std::ifstream file(SKEIN_OPTIONS_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), OptionsMarkdown()) << "run skein_write_options docs/options.md";
}

}  // namespace
}  // namespace skein
