#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tools/skein/command.h"
#include "tools/skein/run/command_line.h"

namespace skein::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

// What `skein run WORDS` is told, and what it says.
struct Outcome {
  int status = 0;
  CommandLine line;
  std::string out;
  std::string err;
};

Outcome Told(std::vector<std::string> words) {
  Outcome outcome;
  const Command command({Declare([&](const CommandLine& line) {
    outcome.line = line;
    return 0;
  })});
  std::ostringstream out;
  std::ostringstream err;
  words.insert(words.begin(), "run");
  outcome.status = command.Run(std::move(words), out, err);
  outcome.out = out.str();
  outcome.err = err.str();
  return outcome;
}

std::string WhyNot(std::vector<std::string> words) {
  const Outcome outcome = Told(std::move(words));
  EXPECT_EQ(outcome.status, outcome.err.empty() ? 0 : 2);
  return outcome.err.substr(0, outcome.err.find('\n'));
}

TEST(RunCommandLine, WordsBehindTheProgramAreTheProgramsOwn) {
  const std::vector<std::string> words = {"server", "--shm",  "off", "--help", "-x", "--", "--x=", "",
                                          "[a,b]",  "--shm=", "run", "help",   "++", "-",  "a b",  "--require"};
  std::vector<std::string> all = words;
  all.insert(all.begin(), "--require");
  const Outcome outcome = Told(all);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.line.command, words);
  EXPECT_THAT(outcome.line.variables, ElementsAre(Pair("SKEIN_GRPC", "require")));
}

TEST(RunCommandLine, TwoDashesEndItsOwnOptions) {
  const Outcome outcome = Told({"-v", "-n", "--", "--strange", "--"});
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.line.command, ElementsAre("--strange", "--"));
  EXPECT_TRUE(outcome.line.verbose);
  EXPECT_TRUE(outcome.line.dry_run);
  EXPECT_TRUE(Told({"-nv", "x"}).line.verbose);
}

TEST(RunCommandLine, EachOptionOfTheTableBecomesItsVariable) {
  const Outcome outcome = Told({"--shm", "off", "--ring_bytes=65536", "--rdma_device=", "--mode", "require", "x"});
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.line.variables, ElementsAre(Pair("SKEIN_SHM", "off"), Pair("SKEIN_RING_BYTES", "65536"),
                                                  Pair("SKEIN_RDMA_DEVICE", ""), Pair("SKEIN_GRPC", "require")));
  EXPECT_THAT(outcome.line.command, ElementsAre("x"));
}

TEST(RunCommandLine, OfAnOptionGivenTwiceTheLastHolds) {
  EXPECT_THAT(Told({"--mode=require", "--shm=off", "--mode", "off", "--shm", "auto", "x"}).line.variables,
              ElementsAre(Pair("SKEIN_GRPC", "require"), Pair("SKEIN_SHM", "off"), Pair("SKEIN_GRPC", "off"),
                          Pair("SKEIN_SHM", "auto")))
      << "all in their order: who puts them into the environment has the last one there in the end";
}

TEST(RunCommandLine, RequireBesideAnotherModeIsAContradiction) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--require", "--mode=prefer", "x"}, {"--mode", "prefer", "--require", "x"}}) {
    EXPECT_EQ(WhyNot(words), "skein run: --require and --mode=prefer contradict each other: leave one of them out");
  }
  EXPECT_EQ(WhyNot({"--require", "--mode=require", "x"}), "");
  EXPECT_EQ(WhyNot({"--require", "x", "--mode=off"}), "") << "the program's own";
}

TEST(RunCommandLine, ATypoNamesTheNearest) {
  EXPECT_THAT(WhyNot({"--requre", "x"}), HasSubstr("did you mean --require?"));
  EXPECT_THAT(WhyNot({"--ring-bytes", "1", "x"}), HasSubstr("did you mean --ring_bytes?"));
  EXPECT_THAT(WhyNot({"--dryrun", "x"}), HasSubstr("did you mean --dry-run?"));
  EXPECT_EQ(WhyNot({"-x", "x"}), "skein run: unknown option '-x'") << "it is like none";
  EXPECT_EQ(WhyNot({"--foo", "x"}), "skein run: unknown option '--foo'");
}

TEST(RunCommandLine, AValueThatIsNotAllowedOrMissingIsSaid) {
  EXPECT_THAT(WhyNot({"--shm", "maybe", "x"}), StartsWith("skein run: --shm is \"maybe\""));
  EXPECT_THAT(WhyNot({"--shm", "maybe", "x"}), HasSubstr("auto | off"));
  EXPECT_THAT(WhyNot({"--shm"}), HasSubstr("--shm needs a value"));
  EXPECT_THAT(WhyNot({"--verbose=yes", "x"}), HasSubstr("--verbose takes no value"));
}

TEST(RunCommandLine, WithoutAProgramOnlyHelpIsRight) {
  EXPECT_EQ(WhyNot({"--require"}), "skein run: which program?");
  EXPECT_EQ(WhyNot({"--"}), "skein run: which program?");
  EXPECT_EQ(WhyNot({}), "skein run: which program?");
  const Outcome help = Told({"--help"});
  EXPECT_EQ(help.err, "");
  EXPECT_THAT(help.out, StartsWith("Usage: skein run [OPTION]... [--] PROGRAM [ARGUMENT]...\n"));
  EXPECT_THAT(help.line.command, IsEmpty());
}

}  // namespace
}  // namespace skein::run
