// Options of Thrift's transports: set in code, or by the environment.
#include <skein/thrift/options.h>
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/thrift_transport/two_sockets.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

using ::testing::HasSubstr;

// The exception that `act` throws.
template <class Act>
TTransportException Thrown(Act act) {
  try {
    act();
  } catch (const TTransportException& exception) {
    return exception;
  }
  ADD_FAILURE() << "nothing was thrown";
  return TTransportException();
}

class TSkeinOptionsTest : public testing::Test {
 protected:
  TSkeinOptionsTest() {
    ThriftOutput().setOutputFunction([](const char*) {});
  }

  std::unique_ptr<TSkeinSocket> Open(int port, const TSkeinOptions& options = {}) {
    auto socket = std::make_unique<TSkeinSocket>("localhost", port, options);
    socket->open();
    return socket;
  }
};

TEST_F(TSkeinOptionsTest, OptionsAreCheckedWhereTheyAreSet) {
  TSkeinOptions options;
  EXPECT_THAT(Thrown([&] { options.set("moed", "require"); }).what(), HasSubstr("did you mean mode?"));
  EXPECT_THAT(Thrown([&] { options.set("mode", "maybe"); }).what(), HasSubstr("off | prefer | require"));
}

TEST_F(TSkeinOptionsTest, AWrongVariableFailsWhatIsOpened) {
  setenv("SKEIN_THRIFT", "maybe", 1);
  TSkeinSocket client("localhost", 1);
  TSkeinServerSocket server(0);
  unsetenv("SKEIN_THRIFT");
  for (const TTransportException& exception : {Thrown([&] { client.open(); }), Thrown([&] { server.listen(); })}) {
    EXPECT_EQ(exception.getType(), TTransportException::BAD_ARGS);
    EXPECT_THAT(exception.what(), HasSubstr("SKEIN_THRIFT"));
  }
}

// One unknown variable, as Kubernetes makes for a service called skein-exporter, failed every connection.
TEST_F(TSkeinOptionsTest, AVariableThatIsNoOptionIsAWarningSaidOnce) {
  setenv("SKEIN_EXPORTER_SERVICE_HOST", "10.0.0.1", 1);
  static int warnings;
  warnings = 0;
  ThriftOutput().setOutputFunction(
      [](const char* line) { warnings += std::strstr(line, "SKEIN_EXPORTER_SERVICE_HOST") != nullptr ? 1 : 0; });
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const std::unique_ptr<TSkeinSocket> client = Open(server.port());
  ThriftOutput().setOutputFunction([](const char*) {});
  unsetenv("SKEIN_EXPORTER_SERVICE_HOST");
  EXPECT_EQ(client->getSkeinPath(), "shm");
  EXPECT_EQ(warnings, 1);
}

TEST_F(TSkeinOptionsTest, WithModeOffNoVariableFailsWhatIsOpened) {
  setenv("SKEIN_RING_BYTES", "7", 1);
  const TSkeinOptions off = TSkeinOptions().set("mode", "off");
  unsetenv("SKEIN_RING_BYTES");
  Accepting server(std::make_shared<TSkeinServerSocket>(0, off), Echo);
  EXPECT_EQ(Open(server.port(), off)->getSkeinPath(), "tcp");
}

}  // namespace
}  // namespace skein::thrift_transport
