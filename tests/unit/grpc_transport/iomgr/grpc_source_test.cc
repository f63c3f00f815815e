// The internal headers that Skein is compiled with lay out what the library that it runs with has compiled: Debian's
// revisions of one version of gRPC differ by their patches, and nothing that the library says tells them apart.
#include <dlfcn.h>
#include <grpc/grpc.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace skein::grpc_transport {
namespace {

std::string OutputOf(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  for (int c = getc(pipe.get()); c != EOF; c = getc(pipe.get())) output += static_cast<char>(c);
  return output;
}

TEST(GrpcSourceTest, IsOfTheSamePackageAsTheLibrary) {
  ASSERT_STRNE(grpc_version_string(), "");
  Dl_info library;
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "grpc_version_string"), &library), 0);
  const std::string path = std::filesystem::canonical(library.dli_fname);
  const std::string owner = OutputOf(absl::StrCat("dpkg-query -S ", path));  // PACKAGE: PATH
  ASSERT_NE(owner, "") << path << " is of no package";
  const std::string package = owner.substr(0, owner.find(": "));
  EXPECT_EQ(OutputOf(absl::StrCat("dpkg-query -W -f '${source:Version}' ", package)), SKEIN_GRPC_SOURCE_VERSION)
      << package << " has another revision than the source that Skein was built with; ./run setup fetches its own";
}

}  // namespace
}  // namespace skein::grpc_transport
