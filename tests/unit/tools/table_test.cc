#include "tools/skein/table.h"

#include <string>
#include <vector>

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
}

}  // namespace
}  // namespace skein
