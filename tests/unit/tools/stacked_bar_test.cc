#include "tools/skein/stacked_bar.h"

#include <cairo.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/trace/samples.h"

namespace skein {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string FileFor(const std::string& name) { return ::testing::TempDir() + "stacked_bar_test_" + name; }

std::string Contents(const std::string& file) {
  std::ostringstream contents;
  contents << std::ifstream(file).rdbuf();
  return contents.str();
}

StackedBar BarNamed(const std::string& name) {
  return {name, {{name, "software", 1.5}, {name, "wire", 0}, {name, name, 30}, {"wire", "handler", 0.01}}};
}

// Half a pixel is for the edges of letters.
void ExpectAllOnPaper(const Picture& picture) {
  const Area drawn = picture.Drawn();
  EXPECT_GE(drawn.x, -0.5);
  EXPECT_GE(drawn.y, -0.5);
  EXPECT_LE(drawn.x + drawn.width, picture.width() + 0.5);
  EXPECT_LE(drawn.y + drawn.height, picture.height() + 0.5);
}

TEST(StackedBarTest, NamesHaveAnyBytesAndAnyLength) {
  std::vector<StackedBar> bars;
  for (const std::string& name : trace::HostileNames()) {
    SCOPED_TRACE(absl::CHexEscape(name));
    ExpectAllOnPaper(
        DrawStackedBars({BarNamed(name), BarNamed(absl::StrCat(name, std::string(1000, 'W'), name))}, "us"));
    bars.push_back(BarNamed(name));
  }
  const Picture all = DrawStackedBars(bars, "us");
  ExpectAllOnPaper(all);
  const std::string file = FileFor("hostile.svg");
  ASSERT_TRUE(all.SaveAsSvg(file).ok());
  EXPECT_THAT(Contents(file), StartsWith("<?xml"));
  EXPECT_THAT(Contents(file), EndsWith("</svg>\n"));
}

TEST(StackedBarTest, ManyPartsAreALegendOfManyLines) {
  StackedBar bar{"many", {}};
  for (int i = 0; i < 100; ++i) bar.parts.push_back({"part", "software", 1});
  const Picture one = DrawStackedBars({BarNamed("few")}, "us");
  const Picture many = DrawStackedBars({bar}, "us");
  ExpectAllOnPaper(many);
  EXPECT_GT(many.height(), one.height() + 100);
}

TEST(StackedBarTest, APngIsTheSamePicture) {
  const Picture picture = DrawStackedBars({BarNamed("a"), BarNamed("b")}, "us");
  const std::string file = FileFor("calls.png");
  ASSERT_TRUE(picture.SaveAsPng(file).ok());
  cairo_surface_t* const image = cairo_image_surface_create_from_png(file.c_str());
  ASSERT_EQ(cairo_surface_status(image), CAIRO_STATUS_SUCCESS);
  EXPECT_EQ(cairo_image_surface_get_width(image), 2 * picture.width());
  EXPECT_EQ(cairo_image_surface_get_height(image), 2 * picture.height());
  const auto* pixel = reinterpret_cast<const uint32_t*>(cairo_image_surface_get_data(image));
  EXPECT_EQ(pixel[0] & 0xffffffU, 0xffffffU) << "the paper is white";
  cairo_surface_destroy(image);
}

TEST(StackedBarTest, WithoutBarsOrLengthsThereIsStillAPicture) {
  for (const Picture& picture : {DrawStackedBars({}, "us"), DrawStackedBars({{"idle", {{"wire", "wire", 0}}}}, "us")}) {
    EXPECT_GT(picture.height(), 0);
    EXPECT_TRUE(picture.SaveAsSvg(FileFor("empty.svg")).ok());
    EXPECT_TRUE(picture.SaveAsPng(FileFor("empty.png")).ok());
  }
}

TEST(StackedBarTest, WhatCannotBeSavedIsSaid) {
  const Picture picture = DrawStackedBars({BarNamed("a")}, "us");
  for (const absl::Status& status : {picture.SaveAsSvg("/none/calls.svg"), picture.SaveAsPng("/none/calls.png")}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("cannot write /none/calls."));
  }
  const Picture high = DrawStackedBars(std::vector<StackedBar>(1000, BarNamed("a")), "us");
  EXPECT_EQ(high.SaveAsPng(FileFor("high.png")).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(high.SaveAsSvg(FileFor("high.svg")).ok());
}

}  // namespace
}  // namespace skein
