#include "tools/skein/run/preload_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace skein::run {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// A folder of an installation; gone with the test.
class PreloadLibraryTest : public ::testing::Test {
 protected:
  PreloadLibraryTest() {
    std::string name = "/tmp/skein-test-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~PreloadLibraryTest() override { fs::remove_all(root_); }

  // The command's folder, with both libraries in `libraries`.
  std::string Installed(const fs::path& prefix, const std::string& libraries) {
    fs::create_directories(prefix / "bin");
    fs::create_directories(prefix / libraries);
    std::ofstream(prefix / libraries / "libskein_grpc_preload.so") << "x";
    std::ofstream(prefix / libraries / "libskein_grpc.so.1") << "x";
    return prefix / "bin";
  }

  fs::path root_;
};

TEST_F(PreloadLibraryTest, IsFoundInEachLayout) {
  int number = 0;
  for (const char* libraries : {"lib", "lib64", "lib/" SKEIN_MULTIARCH}) {
    const std::string folder = Installed(root_ / std::to_string(++number), libraries);
    const absl::StatusOr<std::string> library = PreloadLibrary(folder);
    ASSERT_TRUE(library.ok()) << library.status();
    EXPECT_THAT(*library, EndsWith(std::string(libraries) + "/libskein_grpc_preload.so"));
    EXPECT_EQ(library->find(".."), std::string::npos);
  }
}

TEST_F(PreloadLibraryTest, IsOfNoUseWithoutTheRest) {
  const std::string folder = Installed(root_, "lib");
  fs::remove(root_ / "lib/libskein_grpc.so.1");
  EXPECT_TRUE(absl::IsNotFound(PreloadLibrary(folder).status()));
  EXPECT_TRUE(absl::IsNotFound(PreloadLibrary("").status()));
}

TEST_F(PreloadLibraryTest, APathThatWouldBeTwoIsRefused) {
  for (const char* name : {"a b", "a:b", "a$ORIGIN"}) {
    const absl::Status status = PreloadLibrary(Installed(root_ / name, "lib")).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
  }
}

TEST(PreloadVariable, KeepsWhatIsThere) {
  EXPECT_EQ(WithLibrary("/s.so", ""), "/s.so");
  EXPECT_EQ(WithLibrary("/s.so", "/a.so /b.so:/s.so"), "/s.so:/a.so:/b.so");
}

}  // namespace
}  // namespace skein::run
