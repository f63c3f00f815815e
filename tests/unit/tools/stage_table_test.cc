// Figures that another process has told, as tables.
#include "tools/skein/stage_table.h"

#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_replace.h"
#include "core/base/printable.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein {
namespace {

using ::testing::HasSubstr;

inspect::SeriesFigures Figures(const std::string& text, bool whole) {
  inspect::SeriesFigures figures;
  figures.path = text;
  figures.method = text;
  figures.interval = text;
  figures.work = text;
  figures.whole = whole;
  figures.count = 1;
  figures.sum = 1000;
  return figures;
}

TEST(StageTableTest, WordsOfAProcessMoveNoCursor) {
  const std::string hostile = "\x1b[2J\xff";
  const std::string table = StageTable({Figures(hostile, false), Figures(hostile, true)});
  EXPECT_THAT(table, HasSubstr("; ?[2J? 100%"));
  const std::string line = absl::StrReplaceAll(table, {{"\n", ""}});
  EXPECT_EQ(line, Printable(line));
}

// As one that was told by a process, not measured.
TEST(StageTableTest, AMeanMayBeAsLongAsASum) {
  inspect::SeriesFigures figures = Figures("wire", true);
  figures.sum = std::numeric_limits<uint64_t>::max();
  EXPECT_THAT(StageTable({figures}), HasSubstr(" 18446744073709552.00  100%\n"));
}

}  // namespace
}  // namespace skein
