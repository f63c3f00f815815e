#include "tools/skein/program/needed_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skein::program {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;

auto Library(const char* name, const char* path) {
  return AllOf(Field(&NeededLibrary::name, name), Field(&NeededLibrary::path, path));
}

TEST(NeededLibraries, AListIsReadWithWhatIsNotFoundAndWhatHasNoFile) {
  EXPECT_THAT(
      ReadList("\tlinux-vdso.so.1 (0x00007ffc)\n"
               "\tlibz.so.1 => /lib/with a blank/libz.so.1 (0x00007f9c)\n"
               "\tlibgone.so.3 => not found\n"
               "\t/lib64/ld-linux-x86-64.so.2 (0x00007f9d)\n"),
      ElementsAre(Library("linux-vdso.so.1", ""), Library("libz.so.1", "/lib/with a blank/libz.so.1"),
                  Library("libgone.so.3", ""), Library("/lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2")));
  EXPECT_THAT(ReadList(""), ElementsAre());
  EXPECT_THAT(ReadList("\tstatically linked\n"), ElementsAre(Library("statically linked", "")));
}

TEST(NeededLibraries, ThoseOfLibrariesAreAmongThem) {
  const auto libraries = NeededLibraries(SKEIN_PROGRAMS "/early_client");
  ASSERT_TRUE(libraries.ok()) << libraries.status();
  EXPECT_THAT(*libraries, Contains(Field(&NeededLibrary::name, "libearly_library.so")));
  EXPECT_THAT(*libraries, Contains(Field(&NeededLibrary::name, "libgpr.so." SKEIN_KNOWN_CORE_MAJOR)));
}

TEST(NeededLibraries, AFileThatIsNoProgramHasAnError) {
  EXPECT_TRUE(absl::IsUnavailable(NeededLibraries("/etc/passwd").status()));
}

}  // namespace
}  // namespace skein::program
