#include "tools/skein/program/outlook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/unit/tools/scratch_file.h"

namespace skein::program {
namespace {

using Kind = Outlook::Kind;
using ::testing::HasSubstr;

constexpr Executor kUser = {1000, 1000, false};
constexpr Executor kRoot = {0, 0, false};

std::string CopyOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Outlook Judge(const std::string& path, const Executor& executor = kUser, const std::string& libraries = "") {
  const absl::StatusOr<Outlook> outlook = OutlookOf(path, executor, libraries);
  EXPECT_TRUE(outlook.ok()) << outlook.status();
  return outlook.value_or(Outlook());
}

TEST(Outlook, TheRightLibgrpcIsServedAlsoWhereALibraryBringsIt) {
  for (const char* path : {SKEIN_PROGRAMS "/core_client", SKEIN_PROGRAMS "/early_client"}) {
    const Outlook outlook = Judge(path);
    EXPECT_EQ(outlook.kind, Kind::kServed) << outlook.why;
    EXPECT_THAT(outlook.why, HasSubstr("libgrpc.so." SKEIN_KNOWN_CORE_MAJOR));
    EXPECT_TRUE(outlook.keeps_require());
  }
}

TEST(Outlook, UnsecureAndOtherVersionsAreNotServed) {
  for (const auto& [program, library] :
       {std::pair{"/core_client_unsecure", "libgrpc_unsecure.so." SKEIN_KNOWN_CORE_MAJOR},
        std::pair{"/old_client", "libgrpc.so.10"}}) {
    const Outlook outlook = Judge(std::string(SKEIN_PROGRAMS) + program);
    EXPECT_EQ(outlook.kind, Kind::kOtherGrpc) << outlook.why;
    EXPECT_THAT(outlook.why, HasSubstr(library));
    EXPECT_FALSE(outlook.keeps_require());
  }
}

TEST(Outlook, AnotherLibgrpcIsServedWhereSkeinHasALibraryForIt) {
  const std::string folder = ::testing::TempDir() + "/outlook_test_libraries";
  ASSERT_TRUE(mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) << std::strerror(errno);
  std::ofstream(folder + "/libskein_grpc-10.so.1") << "its name is what counts\n";
  EXPECT_EQ(Judge(SKEIN_PROGRAMS "/old_client", kUser, folder).kind, Kind::kServed);
  EXPECT_EQ(Judge(SKEIN_PROGRAMS "/core_client_unsecure", kUser, folder).kind, Kind::kOtherGrpc);
  std::remove((folder + "/libskein_grpc-10.so.1").c_str());
  EXPECT_EQ(Judge(SKEIN_PROGRAMS "/old_client", kUser, folder).kind, Kind::kOtherGrpc);
}

TEST(Outlook, AGrpcInsideTheProgramIsFoundByItsSymbolAndWithoutSymbolsByItsTexts) {
  EXPECT_EQ(Judge(SKEIN_PROGRAMS "/own_grpc").kind, Kind::kOwnGrpc);
  EXPECT_EQ(Judge(SKEIN_PROGRAMS "/hidden_grpc").kind, Kind::kOwnGrpc);
}

TEST(Outlook, NothingIsPreloadedIntoAStaticProgram) {
  EXPECT_EQ(Judge(SKEIN_PROGRAMS "/static_program").kind, Kind::kStatic);
}

TEST(Outlook, AProgramWithoutGrpcMayOpenItLater) {
  const Outlook outlook = Judge("/bin/true");
  EXPECT_EQ(outlook.kind, Kind::kNoGrpc) << outlook.why;
  EXPECT_TRUE(outlook.keeps_require());
}

TEST(Outlook, AScriptIsWhatItsInterpreterIs) {
  const ScratchFile direct("#!" SKEIN_PROGRAMS "/core_client with a word\n");
  EXPECT_EQ(Judge(direct.path()).kind, Kind::kServed);
  const ScratchFile of_script("#! " + direct.path() + "\n");
  EXPECT_EQ(Judge(of_script.path()).kind, Kind::kServed);
  const ScratchFile by_env("#!/usr/bin/env -S A=b sh -e\n");
  EXPECT_THAT(Judge(by_env.path()).file, HasSubstr("/sh"));
  const ScratchFile without_line("echo hello\n");
  EXPECT_EQ(Judge(without_line.path()).file, "/bin/sh");
  const ScratchFile of_nothing("#!/no/such/interpreter\n");
  EXPECT_TRUE(absl::IsNotFound(OutlookOf(of_nothing.path(), kUser, "").status()));
}

TEST(Outlook, AScriptThatRunsItselfComesToAnEnd) {
  const ScratchFile script("");
  std::ofstream(script.path()) << "#!" << script.path() << "\n";
  EXPECT_TRUE(absl::IsNotFound(OutlookOf(script.path(), kUser, "").status()));
}

TEST(Outlook, AnotherProcessorsProgramIsNamed) {
  std::string bytes = CopyOf(SKEIN_PROGRAMS "/core_client");
  ASSERT_GT(bytes.size(), 20U);
  bytes[18] ^= 1;  // e_machine
  const ScratchFile other(bytes);
  EXPECT_EQ(Judge(other.path()).kind, Kind::kOtherMachine);
}

TEST(Outlook, AnotherLinkersProgramIsNamed) {
  std::string bytes = CopyOf(SKEIN_PROGRAMS "/core_client");
  const size_t linker = bytes.find("ld-linux");
  ASSERT_NE(linker, std::string::npos);
  bytes[linker] = 'x';
  const ScratchFile other(bytes);
  const Outlook outlook = Judge(other.path());
  EXPECT_EQ(outlook.kind, Kind::kOtherLinker) << outlook.why;
  EXPECT_THAT(outlook.why, HasSubstr("xd-linux"));
}

TEST(Outlook, SetuidMattersToWhoeverIsNotThatUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const ScratchFile file(CopyOf(SKEIN_PROGRAMS "/core_client"));
  ASSERT_EQ(chown(file.path().c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(file.path().c_str(), 04755), 0);
  const Outlook root = Judge(file.path(), kRoot);
  EXPECT_EQ(root.kind, Kind::kPrivileged) << root.why;
  EXPECT_THAT(root.why, HasSubstr("setuid"));
  const Outlook nobody = Judge(file.path(), {65534, 65534, false});
  EXPECT_EQ(nobody.kind, Kind::kServed) << nobody.why;
  EXPECT_THAT(nobody.note, HasSubstr("setuid"));
  EXPECT_EQ(Judge(file.path(), {0, 0, true}).kind, Kind::kServed) << "no_new_privs";
}

TEST(Outlook, SetgidMattersToWhoeverIsNotOfThatGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const ScratchFile file(CopyOf(SKEIN_PROGRAMS "/core_client"));
  ASSERT_EQ(chown(file.path().c_str(), 0, 65534), 0);
  ASSERT_EQ(chmod(file.path().c_str(), 02755), 0);
  EXPECT_THAT(Judge(file.path(), kUser).why, HasSubstr("setgid"));
  EXPECT_EQ(Judge(file.path(), {1000, 65534, false}).kind, Kind::kServed);
}

TEST(Outlook, FileCapabilitiesMatterToAllButRoot) {
  const ScratchFile file(CopyOf(SKEIN_PROGRAMS "/core_client"));
  vfs_cap_data data = {};
  data.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE;
  data.data[0].permitted = 1U << CAP_NET_BIND_SERVICE;
  if (setxattr(file.path().c_str(), "security.capability", &data, sizeof(data), 0) != 0) {
    GTEST_SKIP() << "no file capabilities here: " << std::strerror(errno);
  }
  EXPECT_THAT(Judge(file.path(), kUser).why, HasSubstr("file capabilities"));
  const Outlook root = Judge(file.path(), kRoot);
  EXPECT_EQ(root.kind, Kind::kServed) << root.why;
  EXPECT_THAT(root.note, HasSubstr("under another user"));
}

}  // namespace
}  // namespace skein::program
