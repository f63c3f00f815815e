#include "core/base/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"

namespace skein {
namespace {

using ::testing::HasSubstr;

EnvironmentOptions FromEnvironment(std::vector<const char*> environment, const Options& base = {}) {
  environment.push_back(nullptr);
  return OptionsFromEnvironment(base, "SKEIN_GRPC", environment.data());
}

TEST(OptionsTest, DefaultsOfTheTableAreThoseOfTheStruct) {
  Options from_table;
  from_table.ring_bytes = from_table.window_bytes = 0;
  from_table.negotiation_timeout = from_table.negative_cache = absl::ZeroDuration();
  from_table.shm.enabled = false;
  from_table.rdma = {false, RdmaBy::kDirect, "nowhere", "none", 9, 9, 9, 9, 9, 9, 9, 9, absl::ZeroDuration(), 9, 9};
  for (const OptionSpec& spec : OptionTable()) {
    ASSERT_TRUE(SetOption(from_table, spec.name, spec.default_value).ok()) << spec.name;
  }
  EXPECT_TRUE(from_table == Options{});
}

TEST(OptionsTest, BoundsAreInclusive) {
  Options options;
  EXPECT_TRUE(SetOption(options, "ring_bytes", "65536").ok());
  EXPECT_EQ(options.ring_bytes, 65536);
  EXPECT_TRUE(SetOption(options, "ring_bytes", "1073741824").ok());
  EXPECT_EQ(options.ring_bytes, 1073741824);
  EXPECT_FALSE(SetOption(options, "ring_bytes", "0").ok());
  EXPECT_FALSE(SetOption(options, "ring_bytes", "1073807360").ok());
  EXPECT_EQ(options.ring_bytes, 1073741824) << "a refused value must change nothing";
}

TEST(OptionsTest, RingsAreWholeMultiplesOf64KiB) {
  Options options;
  absl::Status status = SetOption(options, "ring_bytes", "65537");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("multiple of 65536"));
}

TEST(OptionsTest, BadValuesAreNamedWithWhatIsAllowed) {
  Options options;
  for (absl::string_view value : {"", "on", "Prefer", "prefer ", "1"}) {
    absl::Status status = SetOption(options, "mode", value);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("mode is \"", value, "\"")));
    EXPECT_THAT(status.message(), HasSubstr("off | prefer | require"));
  }
  for (absl::string_view value : {"", "x", "1s", "1.5", "99999999999999999999", "-1"}) {
    absl::Status status = SetOption(options, "negotiation_timeout", value);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << value;
    EXPECT_THAT(status.message(), HasSubstr("10 .. 60000 ms"));
  }
}

TEST(OptionsTest, PeerUsersAreNamesOrNumbers) {
  Options options;
  ASSERT_TRUE(SetOption(options, "peer_users", "root, 4321").ok());
  EXPECT_TRUE(options.shm.peer_users == PeerUsers({0, 4321}));
  for (const absl::string_view unknown : {"no such user", "4294967295", "-1", ""}) {
    const absl::Status status = SetOption(options, "peer_users", absl::StrCat("root,", unknown));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(absl::StrCat("there is no user \"", unknown, "\" here")));
  }
  EXPECT_TRUE(options.shm.peer_users == PeerUsers({0, 4321})) << "a refused value must change nothing";
}

TEST(OptionsTest, ARendezvousIsAnAbsolutePathThatASocketsAddressHasSpaceFor) {
  Options options;
  const std::string longest = "/" + std::string(67, 'd');
  EXPECT_TRUE(SetOption(options, "rendezvous", longest).ok());
  for (const std::string& value : {longest + "d", std::string("run/skein")}) {
    const absl::Status status = SetOption(options, "rendezvous", value);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << value;
    EXPECT_THAT(status.message(), HasSubstr("an absolute path of at most 68 bytes"));
  }
  EXPECT_EQ(options.shm.rendezvous, longest);
}

TEST(OptionsTest, RdmaIsOffOrBySomebody) {
  Options options;
  ASSERT_TRUE(SetOption(options, "rdma", "service").ok());
  EXPECT_EQ(options.rdma.by, RdmaBy::kService);
  ASSERT_FALSE(SetOption(options, "rdma", "Direct").ok());
  EXPECT_EQ(options.rdma.by, RdmaBy::kService) << "a refused value must change nothing";
  EXPECT_TRUE(options.rdma.enabled);
  ASSERT_TRUE(SetOption(options, "rdma", "off").ok());
  EXPECT_FALSE(options.rdma.enabled);
  ASSERT_TRUE(SetOption(options, "rdma", "direct").ok());
  EXPECT_EQ(options.rdma.by, RdmaBy::kDirect);
  EXPECT_TRUE(options.rdma.enabled);
}

TEST(OptionsTest, SkeindsFolderIsAnAbsolutePathThatASocketsAddressHasSpaceFor) {
  Options options;
  const std::string longest = "/" + std::string(95, 'd');
  EXPECT_TRUE(SetOption(options, "rdma_service", longest).ok());
  for (const std::string& value : {longest + "d", std::string("run/skeind"), std::string()}) {
    EXPECT_THAT(SetOption(options, "rdma_service", value).message(), HasSubstr("an absolute path of at most 96 bytes"));
  }
  EXPECT_EQ(options.rdma.service, longest);
}

TEST(OptionsTest, UnknownNameSuggestsTheNearest) {
  Options options;
  EXPECT_THAT(SetOption(options, "modes", "off").message(), HasSubstr("did you mean mode?"));
  EXPECT_THAT(SetOption(options, "ring_byte", "65536").message(), HasSubstr("did you mean ring_bytes?"));
  EXPECT_THAT(SetOption(options, "skein.ring_byte", "65536").message(), HasSubstr("did you mean ring_bytes?"));
  EXPECT_TRUE(SetOption(options, "skein.shm", "off").ok());
  EXPECT_FALSE(options.shm.enabled);
}

TEST(OptionsTest, NameThatIsLikeNoOptionSuggestsNone) {
  Options options;
  EXPECT_EQ(SetOption(options, "exporter_service_host", "10.0.0.1").message(), "no option exporter_service_host");
}

TEST(OptionsTest, EnvironmentChangesTheBase) {
  Options base;
  base.window_bytes = 131072;
  const EnvironmentOptions all = FromEnvironment({"HOME=/", "SKEIN_GRPC=require", "SKEIN_RING_BYTES=131072"}, base);
  ASSERT_TRUE(all.error.ok()) << all.error;
  EXPECT_EQ(all.warning, "");
  EXPECT_EQ(all.options.mode, Mode::kRequire);
  EXPECT_EQ(all.options.ring_bytes, 131072);
  EXPECT_EQ(all.options.window_bytes, 131072);
}

TEST(OptionsTest, EmptyOrNoEnvironmentIsTheBase) {
  EXPECT_TRUE(FromEnvironment({}).options == Options{});
  EXPECT_TRUE(OptionsFromEnvironment({}, "SKEIN_GRPC", nullptr).options == Options{});
}

TEST(OptionsTest, ModeOfAnotherAdapterIsNotOurs) {
  const EnvironmentOptions all = FromEnvironment({"SKEIN_THRIFT=nonsense"});
  ASSERT_TRUE(all.error.ok()) << all.error;
  EXPECT_EQ(all.warning, "");
  EXPECT_TRUE(all.options == Options{});
}

TEST(OptionsTest, UnknownVariableIsAWarningThatSuggestsTheOneItIsLike) {
  EXPECT_TRUE(FromEnvironment({"SKEIN_RINGBYTES=65536"}).error.ok());
  EXPECT_THAT(FromEnvironment({"SKEIN_RINGBYTES=65536"}).warning,
              HasSubstr("SKEIN_RINGBYTES (did you mean SKEIN_RING_BYTES?)"));
  EXPECT_THAT(FromEnvironment({"SKEIN_MODE=off"}).warning, HasSubstr("did you mean SKEIN_GRPC?"));
  EXPECT_THAT(FromEnvironment({"SKEIN_GRCP=require"}).warning, HasSubstr("SKEIN_GRCP (did you mean SKEIN_GRPC?)"));
  EXPECT_THAT(FromEnvironment({"SKEIN_THRFT=require"}).warning, HasSubstr("did you mean SKEIN_THRIFT?"));
  const std::vector<const char*> without_mode = {"SKEIN_MODE=off", nullptr};
  EXPECT_EQ(OptionsFromEnvironment({}, "", without_mode.data()).warning, "no options, and ignored: SKEIN_MODE");
}

// One such variable failed every connection.
TEST(OptionsTest, VariablesOfAKubernetesServiceChangeNothing) {
  const EnvironmentOptions all =
      FromEnvironment({"SKEIN_EXPORTER_SERVICE_HOST=10.0.0.1", "SKEIN_EXPORTER_PORT=tcp://10.0.0.1:9100",
                       "SKEIN_PORT=tcp://10.0.0.2:80", "SKEIN_GRPC=prefer"});
  EXPECT_TRUE(all.error.ok()) << all.error;
  EXPECT_EQ(all.options.mode, Mode::kPrefer);
  EXPECT_THAT(all.warning, HasSubstr("SKEIN_EXPORTER_SERVICE_HOST"));
  EXPECT_THAT(all.warning, HasSubstr("SKEIN_EXPORTER_PORT"));
}

TEST(OptionsTest, KubernetesServiceThatHasAnOptionsNameChangesNothing) {
  const EnvironmentOptions all = FromEnvironment({"SKEIN_RDMA_PORT=tcp://10.0.0.1:80"});
  EXPECT_TRUE(all.error.ok()) << all.error;
  EXPECT_TRUE(all.options == Options{});
  EXPECT_THAT(all.warning, HasSubstr("SKEIN_RDMA_PORT"));
}

TEST(OptionsTest, VariableThatIsNamedAsKubernetesNamesThoseOfAServiceIsNoSlip) {
  for (const std::string name : {"SKEIN_X_SERVICE_HOST", "SKEIN_RDMA_SERVICE_PORT", "SKEIN_RDMA_SERVICE_PORT_RDMA",
                                 "SKEIN_RDM_PORT", "SKEIN_RDMA_PORT_80_TCP"}) {
    EXPECT_EQ(FromEnvironment({(name + "=1").c_str()}).warning, "no options, and ignored: " + name);
  }
  EXPECT_THAT(FromEnvironment({"SKEIN_RDMA_SERVICES=/run/skeind"}).warning,
              HasSubstr("did you mean SKEIN_RDMA_SERVICE?"));
}

TEST(OptionsTest, WarningOfManyVariablesNamesSlipsFirstAndStaysShort) {
  std::vector<std::string> names;
  for (int i = 10; i < 90; ++i) names.push_back(absl::StrCat("SKEIN_EXPORTER_PORT_", i, "_TCP=1"));
  names.push_back("SKEIN_RNIG_BYTES=65536");
  std::vector<const char*> environment;
  for (const std::string& name : names) environment.push_back(name.c_str());
  const std::string warning = FromEnvironment(environment).warning;
  EXPECT_THAT(warning, HasSubstr("SKEIN_RNIG_BYTES"));
  EXPECT_THAT(warning, HasSubstr("and 73 more"));
}

TEST(OptionsTest, BadVariableIsNamedAsTheUserWroteItAndAsksForSkein) {
  const EnvironmentOptions all = FromEnvironment({"SKEIN_GRPC=yes"});
  EXPECT_EQ(all.error.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(all.error.message(), HasSubstr("SKEIN_GRPC is \"yes\""));
  EXPECT_EQ(all.options.mode, Mode::kPrefer);
  EXPECT_EQ(Checked(all.options, all.error).status(), all.error);
}

TEST(OptionsTest, BadVariableFailsNobodyWithModeOff) {
  const EnvironmentOptions all = FromEnvironment({"SKEIN_RING_BYTES=7"});
  EXPECT_THAT(all.error.message(), HasSubstr("SKEIN_RING_BYTES is \"7\""));
  EXPECT_TRUE(Checked(all.options, all.error).ok());
  Options on = all.options;
  on.mode = Mode::kPrefer;
  EXPECT_EQ(Checked(on, all.error).status(), all.error);
}

TEST(OptionsTest, ReferencePageIsInStep) {
  std::ifstream file(SKEIN_DOCS "/options.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), OptionsMarkdown()) << "run skein_write_pages docs";
}

}  // namespace
}  // namespace skein
