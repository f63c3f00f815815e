#include "tools/skein/program/elf_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/tools/scratch_file.h"

namespace skein::program {
namespace {

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ElfFile, KnowsItsInterpreterAndItsFunctions) {
  const absl::StatusOr<ElfFile> file = ElfFile::Open(SKEIN_PROGRAMS "/own_grpc");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->is_native());
  EXPECT_EQ(file->interpreter(), OwnInterpreter());
  EXPECT_TRUE(file->Defines("grpc_init"));
  EXPECT_FALSE(file->Defines("grpc_ini"));
  EXPECT_FALSE(file->Defines("__libc_start_main"));  // the C library's; a sanitizer has a puts of its own
  EXPECT_TRUE(file->Contains("its own"));
}

TEST(ElfFile, AStaticProgramAsksForNoInterpreter) {
  const absl::StatusOr<ElfFile> file = ElfFile::Open(SKEIN_PROGRAMS "/static_program");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->interpreter(), "");
}

TEST(ElfFile, OfAnotherProcessorOrWordSizeIsNotNative) {
  std::string bytes = BytesOf(SKEIN_PROGRAMS "/own_grpc");
  ASSERT_GT(bytes.size(), sizeof(ElfW(Ehdr)));
  std::string machine = bytes;
  machine[offsetof(ElfW(Ehdr), e_machine)] = static_cast<char>(EM_SPARC);
  std::string word_size = bytes;
  word_size[EI_CLASS] = ELFCLASS32;
  for (const std::string& other : {machine, word_size}) {
    const ScratchFile scratch(other);
    const absl::StatusOr<ElfFile> file = ElfFile::Open(scratch.path());
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_FALSE(file->is_native());
    EXPECT_FALSE(file->Defines("grpc_init"));
  }
}

TEST(ElfFile, AFileOfAnotherKindIsSaidToBeNone) {
  const ScratchFile script("#!/bin/sh\n");
  EXPECT_TRUE(absl::IsInvalidArgument(ElfFile::Open(script.path()).status()));
  const ScratchFile empty("");
  EXPECT_TRUE(absl::IsInvalidArgument(ElfFile::Open(empty.path()).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ElfFile::Open("/tmp").status()));
  EXPECT_TRUE(absl::IsNotFound(ElfFile::Open("/no/such/file").status()));
}

// Whatever its numbers say, nothing beyond the file is read, which would be a fault.
TEST(ElfFile, ABrokenOneIsReadAsFarAsItGoes) {
  const std::string bytes = BytesOf(SKEIN_PROGRAMS "/static_program");
  for (size_t length : {4UL, 16UL, 63UL, 64UL, 65UL, 200UL, bytes.size() / 2, bytes.size() - 1}) {
    const ScratchFile scratch(bytes.substr(0, length));
    const absl::StatusOr<ElfFile> file = ElfFile::Open(scratch.path());
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_FALSE(file->Defines("no such function"));
  }
  for (size_t field : {offsetof(ElfW(Ehdr), e_phoff), offsetof(ElfW(Ehdr), e_shoff), offsetof(ElfW(Ehdr), e_phentsize),
                       offsetof(ElfW(Ehdr), e_shentsize), offsetof(ElfW(Ehdr), e_shnum)}) {
    for (const char* number : {"\xff\xff", "\x00\x00", "\x01\x00"}) {
      std::string broken = bytes;
      std::memcpy(&broken[field], number, 2);
      if (field <= offsetof(ElfW(Ehdr), e_shoff)) std::memset(&broken[field], number[0], sizeof(ElfW(Off)));
      const ScratchFile scratch(broken);
      const absl::StatusOr<ElfFile> file = ElfFile::Open(scratch.path());
      ASSERT_TRUE(file.ok()) << file.status();
      EXPECT_FALSE(file->Defines("no such function"));
    }
  }
}

TEST(ElfFile, SectionsThatPointBeyondTheFileHaveNoSymbols) {
  std::string bytes = BytesOf(SKEIN_PROGRAMS "/own_grpc");
  ElfW(Ehdr) header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (int i = 0; i < header.e_shnum; ++i) {
    ElfW(Shdr) section;
    char* const place = bytes.data() + header.e_shoff + i * sizeof(section);
    std::memcpy(&section, place, sizeof(section));
    section.sh_offset = i % 2 == 0 ? UINT64_MAX : bytes.size() - 1;
    section.sh_link = UINT32_MAX;
    std::memcpy(place, &section, sizeof(section));
  }
  const ScratchFile scratch(bytes);
  const absl::StatusOr<ElfFile> file = ElfFile::Open(scratch.path());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_FALSE(file->Defines("grpc_init"));
}

}  // namespace
}  // namespace skein::program
