#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/skein/run/command_line.h"

namespace skein::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

absl::string_view WhyNot(const std::vector<std::string>& words) {
  static absl::Status status;
  status = ParseCommandLine(words).status();
  return status.message();
}

TEST(RunCommandLine, WordsBehindTheProgramAreTheProgramsOwn) {
  const auto line = ParseCommandLine({"--require", "server", "--shm", "off", "--help"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(line->command, ElementsAre("server", "--shm", "off", "--help"));
  EXPECT_THAT(line->variables, ElementsAre(Pair("SKEIN_GRPC", "require")));
  EXPECT_FALSE(line->help);
}

TEST(RunCommandLine, TwoDashesEndItsOwnOptions) {
  const auto line = ParseCommandLine({"-v", "-n", "--", "--strange"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(line->command, ElementsAre("--strange"));
  EXPECT_TRUE(line->verbose);
  EXPECT_TRUE(line->dry_run);
}

TEST(RunCommandLine, EachOptionOfTheTableBecomesItsVariable) {
  const auto line = ParseCommandLine({"--shm", "off", "--ring_bytes=65536", "--mode", "require", "x"});
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_THAT(line->variables,
              ElementsAre(Pair("SKEIN_SHM", "off"), Pair("SKEIN_RING_BYTES", "65536"), Pair("SKEIN_GRPC", "require")));
}

TEST(RunCommandLine, ATypoNamesTheNearest) {
  EXPECT_THAT(WhyNot({"--requre", "x"}), HasSubstr("did you mean --require?"));
  EXPECT_THAT(WhyNot({"--ring-bytes", "1", "x"}), HasSubstr("did you mean --ring_bytes?"));
  EXPECT_THAT(WhyNot({"--dryrun", "x"}), HasSubstr("did you mean --dry-run?"));
  EXPECT_EQ(WhyNot({"-x", "x"}), "no option '-x'") << "it is like none";
  EXPECT_EQ(WhyNot({"--foo", "x"}), "no option '--foo'");
}

TEST(RunCommandLine, AValueThatIsNotAllowedOrMissingIsSaid) {
  EXPECT_THAT(WhyNot({"--shm", "maybe", "x"}), HasSubstr("auto | off"));
  EXPECT_THAT(WhyNot({"--shm"}), HasSubstr("needs a value"));
}

TEST(RunCommandLine, WithoutAProgramOnlyHelpIsRight) {
  EXPECT_EQ(WhyNot({"--require"}), "which program?");
  EXPECT_EQ(WhyNot({}), "which program?");
  EXPECT_EQ(WhyNot({"--help"}), "");
}

}  // namespace
}  // namespace skein::run
