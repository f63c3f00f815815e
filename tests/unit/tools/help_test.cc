#include "tools/skein/help.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein {
namespace {

using ::testing::HasSubstr;

Verb Sample() {
  const Setter none = [](const std::string& /*word*/) { return absl::OkStatus(); };
  return {.name = "look",
          .summary = "looks at many things, one after the other, and says what each of them is like",
          .about = "Looks at something for as long as that takes, which may be a while.\nExit status: 0.",
          .options = {{"-o,--output", "FILE", "writes there", none},
                      {"--every", "N", "of so many things one, which is the first of them unless another is", none},
                      {"-x", "X", "short", none},
                      {"--a-name-that-is-quite-long", "VALUE", "below it", none},
                      {"--hidden", "", "", none}},
          .operand = {Operand::Count::kMany, "PID", "", none},
          .examples = {{"skein look", "at all"}, {"skein look --every 7 4711", "at process 4711"}}};
}

TEST(HelpTest, IsOfTheFormThatHelp2manReads) {
  EXPECT_EQ(HelpOf(Sample(), 60),
            "Usage: skein look [OPTION]... [PID]...\n"
            "\n"
            "Looks at something for as long as that takes, which may be a\n"
            "while.\n"
            "\n"
            "Exit status: 0.\n"
            "\n"
            "Options:\n"
            "  -o, --output=FILE       writes there\n"
            "      --every=N           of so many things one, which is\n"
            "                          the first of them unless another\n"
            "                          is\n"
            "  -x X                    short\n"
            "      --a-name-that-is-quite-long=VALUE\n"
            "                          below it\n"
            "  -h, --help              says this\n"
            "\n"
            "Examples:\n"
            "  skein look              at all\n"
            "  skein look --every 7 4711\n"
            "                          at process 4711\n");
}

TEST(HelpTest, EachVerbIsAnEntryOfTheCommands) {
  EXPECT_THAT(HelpOf(std::vector<Verb>{Sample()}, 60),
              HasSubstr("\nVerbs:\n"
                        "  look        looks at many things, one after the other, and\n"
                        "              says what each of them is like\n"));
}

TEST(HelpTest, UsageSaysWhatIsNeeded) {
  Verb verb = Sample();
  verb.operand.count = Operand::Count::kOne;
  EXPECT_EQ(UsageOf(verb), "Usage: skein look [OPTION]... [PID]\n");
  verb.operand.question = "which?";
  EXPECT_EQ(UsageOf(verb), "Usage: skein look [OPTION]... PID\n");
  verb.operand = {Operand::Count::kProgram, "PROGRAM", "which?", nullptr};
  EXPECT_EQ(UsageOf(verb), "Usage: skein look [OPTION]... [--] PROGRAM [ARGUMENT]...\n");
}

}  // namespace
}  // namespace skein
