// What the command makes of its words, for any verb.
#include "tools/skein/command.h"

#include <optional>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CommandTest : public ::testing::Test {
 protected:
  // The exit status.
  int Call(std::vector<std::string> words) {
    const Command command({Look(), Count()});
    std::ostringstream out;
    std::ostringstream err;
    const int status = command.Run(std::move(words), out, err);
    out_ = out.str();
    err_ = err.str();
    return status;
  }
  // Of a command that is called wrongly: the line that says why.
  std::string WhyNot(std::vector<std::string> words) {
    EXPECT_EQ(Call(std::move(words)), 2);
    EXPECT_FALSE(ran_);
    EXPECT_EQ(out_, "");
    return err_.substr(0, err_.find('\n'));
  }

  std::optional<double> seconds_;
  std::optional<uint32_t> every_;
  std::string file_;
  std::string subject_;
  std::vector<pid_t> processes_;
  bool json_ = false;
  bool ran_ = false;
  absl::StatusOr<int> result_ = 0;
  std::string out_;
  std::string err_;

 private:
  Verb Look() {
    return {.name = "look",
            .summary = "looks",
            .about = "Looks at something.",
            .options = {{"-o,--output", "FILE", "there", Text(file_)},
                        {"--seconds", "S", "so long", Number(seconds_, 0.5, 3600, "seconds")},
                        {"--every", "N", "one of N", Number(every_, 1, 100, "calls")},
                        JsonOption(json_)},
            .operand = {Operand::Count::kOne, "WHAT", "at what?", Text(subject_)},
            .check =
                [this] {
                  return subject_ == "nothing" ? absl::InvalidArgumentError("nothing is to see") : absl::OkStatus();
                },
            .run = [this] { return Done(); }};
  }
  Verb Count() {
    return {.name = "count",
            .summary = "counts",
            .about = "Counts processes.",
            .operand = {Operand::Count::kMany, "PID", "", Processes(processes_)},
            .run = [this] { return Done(); }};
  }
  absl::StatusOr<int> Done() {
    ran_ = true;
    return result_;
  }
};

TEST_F(CommandTest, AnOptionIsOneWordOrTwo) {
  EXPECT_EQ(Call({"look", "--seconds", "1.5", "--every=7", "--output", "a=b", "it"}), 0) << err_;
  EXPECT_EQ(seconds_, 1.5);
  EXPECT_EQ(every_, 7);
  EXPECT_EQ(file_, "a=b");
  EXPECT_EQ(subject_, "it");
  EXPECT_FALSE(json_);
  EXPECT_EQ(Call({"look", "it", "--every", "8", "--seconds=2", "--output=--seconds=3", "--json"}), 0) << err_;
  EXPECT_EQ(seconds_, 2);
  EXPECT_EQ(every_, 8);
  EXPECT_EQ(file_, "--seconds=3");
  EXPECT_TRUE(json_);
}

TEST_F(CommandTest, AShortOptionsValueFollowsOrIsJoined) {
  EXPECT_EQ(Call({"look", "-o", "file", "it"}), 0) << err_;
  EXPECT_EQ(file_, "file");
  EXPECT_EQ(Call({"look", "-oother", "it"}), 0) << err_;
  EXPECT_EQ(file_, "other");
}

TEST_F(CommandTest, AnEmptyValueIsAValue) {
  file_ = "before";
  EXPECT_EQ(Call({"look", "--output=", "it"}), 0) << err_;
  EXPECT_EQ(file_, "");
  EXPECT_EQ(subject_, "it");
}

TEST_F(CommandTest, OfAnOptionGivenTwiceTheLastHolds) {
  EXPECT_EQ(Call({"look", "--every=1", "it", "--every", "2"}), 0) << err_;
  EXPECT_EQ(every_, 2);
  EXPECT_EQ(Call({"look", "--json", "--json", "it"}), 0) << err_;
  EXPECT_TRUE(json_);
}

TEST_F(CommandTest, EachWordOfAnOptionGivenTwiceIsLookedAt) {
  EXPECT_EQ(WhyNot({"look", "--every=x", "it", "--every", "2"}),
            "skein look: --every is 'x', but must be a number of calls from 1 to 100");
}

TEST_F(CommandTest, AMissingValueIsSaid) {
  EXPECT_EQ(WhyNot({"look", "it", "--every"}), "skein look: --every needs a value");
  EXPECT_EQ(WhyNot({"look", "it", "-o"}), "skein look: -o needs a value");
}

TEST_F(CommandTest, AValueOutOfRangeIsSaidWithTheRange) {
  for (const std::string wrong : {"0", "101", "-1", "1.5", "x", "", "4294967297", "[1]"}) {
    EXPECT_EQ(WhyNot({"look", "--every=" + wrong, "it"}),
              "skein look: --every is '" + wrong + "', but must be a number of calls from 1 to 100");
  }
  for (const std::string wrong : {"0.4", "3601", "nan", "inf", "-1", "1s"}) {
    EXPECT_EQ(WhyNot({"look", "--seconds", wrong, "it"}),
              "skein look: --seconds is '" + wrong + "', but must be a number of seconds from 0.5 to 3600");
  }
}

TEST_F(CommandTest, AnOptionWithoutAValueTakesNone) {
  EXPECT_EQ(WhyNot({"look", "--json=yes", "it"}), "skein look: --json takes no value");
  EXPECT_EQ(WhyNot({"look", "--json=false", "it"}), "skein look: --json takes no value");
}

TEST_F(CommandTest, AnUnknownOptionNamesTheNearest) {
  EXPECT_EQ(WhyNot({"look", "--evry=2", "it"}), "skein look: unknown option '--evry'; did you mean --every?");
  EXPECT_EQ(WhyNot({"look", "--evry", "2", "it"}), "skein look: unknown option '--evry'; did you mean --every?");
  EXPECT_EQ(WhyNot({"look", "--jsn"}), "skein look: unknown option '--jsn'; did you mean --json?");
  EXPECT_EQ(WhyNot({"look", "--hepl", "it"}), "skein look: unknown option '--hepl'; did you mean --help?");
  EXPECT_EQ(WhyNot({"look", "-e", "it"}), "skein look: unknown option '-e'");
  EXPECT_EQ(WhyNot({"look", "--o=x", "it"}), "skein look: unknown option '--o'; did you mean -o?");
  EXPECT_EQ(WhyNot({"look", "--strange", "it"}), "skein look: unknown option '--strange'");
  EXPECT_EQ(WhyNot({"look", "-x", "it"}), "skein look: unknown option '-x'");
}

TEST_F(CommandTest, UsageIsSaidToWhoCallsItWrongly) {
  WhyNot({"look", "--strange"});
  EXPECT_THAT(err_, HasSubstr("\nUsage: skein look [OPTION]... WHAT\nskein look --help says more.\n"));
}

TEST_F(CommandTest, AnUnknownVerbNamesTheNearest) {
  EXPECT_EQ(WhyNot({"cuont", "1"}), "skein: unknown verb 'cuont'; did you mean count? there are: look, count");
  EXPECT_EQ(WhyNot({"strange"}), "skein: unknown verb 'strange'; there are: look, count");
  EXPECT_EQ(
      WhyNot({"--json", "look", "it"}),
      "skein: unknown option '--json'; there are --help and --version, and a verb's options stand behind the verb");
}

TEST_F(CommandTest, OneOperandOrSeveral) {
  EXPECT_EQ(WhyNot({"look"}), "skein look: at what?");
  EXPECT_EQ(WhyNot({"look", "a", "b"}), "skein look: one WHAT at a time, but there is also 'b'");
  EXPECT_EQ(Call({"count"}), 0) << err_;
  EXPECT_THAT(processes_, IsEmpty());
  EXPECT_EQ(Call({"count", "1", "--", "22"}), 0) << err_;
  EXPECT_THAT(processes_, ElementsAre(1, 22));
}

TEST_F(CommandTest, AProcessIsANumberAboveZero) {
  for (const std::string wrong : {"first", "0", "", "99999999999", "1.0"}) {
    EXPECT_EQ(WhyNot({"count", "1", wrong}), "skein count: '" + wrong + "' is no process number");
  }
  EXPECT_EQ(WhyNot({"count", "-5", "1"}), "skein count: '-5' is no process number");
}

TEST_F(CommandTest, BehindTwoDashesAWordIsNoOption) {
  EXPECT_EQ(Call({"look", "--json", "--", "--every"}), 0) << err_;
  EXPECT_EQ(subject_, "--every");
}

TEST_F(CommandTest, AnOperandMayLookLikeAVerbOrAList) {
  for (const std::string word : {"count", "look", "help", "[a,b]", "++", "%%"}) {
    EXPECT_EQ(Call({"look", word}), 0) << err_;
    EXPECT_EQ(subject_, word);
  }
}

TEST_F(CommandTest, WordsThatDoNotGoTogetherAreSaid) {
  EXPECT_EQ(WhyNot({"look", "nothing"}), "skein look: nothing is to see");
}

TEST_F(CommandTest, TheExitStatusIsTheVerbs) {
  result_ = 126;
  EXPECT_EQ(Call({"count"}), 126);
  EXPECT_EQ(err_, "");
  result_ = absl::InvalidArgumentError("it has another version");
  EXPECT_EQ(Call({"count"}), 1) << "the command was called rightly";
  EXPECT_EQ(err_, "skein count: it has another version\n");
}

TEST_F(CommandTest, HelpAsksForNothingElse) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"look", "--help"}, {"look", "-h"}, {"help", "look"}, {"look", "--every=x", "--strange", "--help"}}) {
    EXPECT_EQ(Call(words), 0) << err_;
    EXPECT_THAT(out_, StartsWith("Usage: skein look [OPTION]... WHAT\n"));
  }
  for (const std::string word : {"--help", "-h", "help"}) {
    EXPECT_EQ(Call({word}), 0) << err_;
    EXPECT_THAT(out_, StartsWith("Usage: skein VERB"));
  }
  EXPECT_FALSE(ran_);
}

TEST_F(CommandTest, WithoutAVerbItSaysWhichThereAre) {
  EXPECT_EQ(Call({}), 2);
  EXPECT_EQ(out_, "");
  EXPECT_THAT(err_, HasSubstr("\n  count       counts\n"));
}

TEST_F(CommandTest, ItTellsItsVersion) {
  EXPECT_EQ(Call({"--version"}), 0);
  EXPECT_THAT(out_, ::testing::MatchesRegex("skein [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

}  // namespace
}  // namespace skein
