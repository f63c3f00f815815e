#include "tools/skein/table.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace skein {
namespace {

TEST(TableTest, ColumnsAreAsWideAsWhatIsInThem) {
  EXPECT_EQ(Table({{"PID", "NAME", "WHY"}, {"1", "a\tb", "none"}, {"12345", "", ""}}),
            "PID    NAME  WHY\n"
            "1      a?b   none\n"
            "12345        \n");
}

// It would make all other rows as long.
TEST(TableTest, AWideCellIsCut) {
  const std::string wide(10'000, 'w');
  std::vector<std::vector<std::string>> rows(100, {"", "a", "b"});
  rows[50] = {wide, "a", wide};
  const std::string table = Table(rows);
  EXPECT_LT(table.size(), wide.size() + rows.size() * 130);
  EXPECT_EQ(table.substr(table.find('w'), 140), std::string(117, 'w') + "...  a  " + std::string(15, 'w'))
      << "on the last one no other depends";
  EXPECT_LT(Table(rows, 150).size(), rows.size() * 150 + 20'000) << "on a terminal it would be many lines";
}

std::vector<std::vector<std::string>> Paths() {
  return {{"PID", "PEER", "PATH", "WHY NOT BETTER"},
          {"1", "ipv4:127.0.0.1:50051", "shm", ""},
          {"22", "unix:/run/user/1000/a/long/name/of/a/socket", "tcp", "peer does not speak Skein, and so on and on"}};
}

TEST(TableTest, ATerminalThatIsWideEnoughChangesNothing) {
  const std::string table = Table(Paths());
  EXPECT_EQ(Table(Paths(), 200), table);
  EXPECT_EQ(Table(Paths(), table.find('\n', table.find("22 ")) - table.find("22 ")), table);
}

TEST(TableTest, OnANarrowTerminalTheLastCellGoesOnBelowItself) {
  EXPECT_EQ(Table(Paths(), 80),
            "PID  PEER                                         PATH  WHY NOT BETTER\n"
            "1    ipv4:127.0.0.1:50051                         shm   \n"
            "22   unix:/run/user/1000/a/long/name/of/a/socket  tcp   peer does not speak\n"
            "                                                        Skein, and so on and on\n");
}

TEST(TableTest, OnANarrowerOneTheWidestCellsGoOnBelowThemselves) {
  EXPECT_EQ(Table(Paths(), 60),
            "PID  PEER                     PATH  WHY NOT BETTER\n"
            "1    ipv4:127.0.0.1:50051     shm   \n"
            "22   unix:/run/user/1000/a/l  tcp   peer does not speak\n"
            "     ong/name/of/a/socket           Skein, and so on and on\n");
}

TEST(TableTest, NoLineIsLongerThanTheTerminal) {
  for (size_t width = 1; width < 100; ++width) {
    for (const absl::string_view line : absl::StrSplit(Table(Paths(), width), '\n')) {
      EXPECT_LE(line.size(), width) << line;
    }
  }
}

}  // namespace
}  // namespace skein
