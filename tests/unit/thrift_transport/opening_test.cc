// How long open() takes, and how many connections, where the server does not answer.
#include <netinet/in.h>
#include <poll.h>
#include <skein/thrift/socket.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>

#include "core/base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/thrift_transport/two_sockets.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

constexpr int kLimitMs = 50;

// Listens, and accepts nobody.
class Deaf {
 public:
  Deaf() {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address_), sizeof(address_)), 0);
    EXPECT_EQ(listen(socket_.get(), 16), 0);
    socklen_t size = sizeof(address_);
    EXPECT_EQ(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }
  int port() const { return ntohs(address_.sin_port); }
  // That have been made since it was asked for the last time.
  int connections() {
    int count = 0;
    for (UniqueFd accepted; (accepted = UniqueFd(accept(socket_.get(), nullptr, nullptr))).valid();) ++count;
    return count;
  }

 private:
  const UniqueFd socket_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  sockaddr_in address_ = {};
};

class OpeningTest : public testing::Test {
 protected:
  OpeningTest() {
    ThriftOutput().setOutputFunction([](const char*) {});
  }

  // A minute, unless the socket's own limits are kept.
  static std::unique_ptr<TSkeinSocket> Make(const Deaf& server, const std::string& mode = "prefer") {
    return std::make_unique<TSkeinSocket>("127.0.0.1", server.port(),
                                          TSkeinOptions().set("mode", mode).set("negotiation_timeout", "60000"));
  }
  static void ExpectOpensSoon(TSkeinSocket& client) {
    const auto begun = std::chrono::steady_clock::now();
    client.open();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
    EXPECT_EQ(client.getSkeinPath(), "tcp");
  }
};

TEST_F(OpeningTest, TheConnectTimeoutLimitsTheNegotiation) {
  Deaf server;
  const auto client = Make(server);
  client->setConnTimeout(kLimitMs);
  client->setRecvTimeout(60'000);
  ExpectOpensSoon(*client);
}

TEST_F(OpeningTest, TheReceiveTimeoutLimitsTheNegotiation) {
  Deaf server;
  const auto client = Make(server);
  client->setConnTimeout(60'000);
  client->setRecvTimeout(kLimitMs);
  ExpectOpensSoon(*client);
}

// One that has said hello is good for nothing else: a server that accepts it late takes it for a client of Skein's.
TEST_F(OpeningTest, AServerThatDoesNotAnswerCostsASecondConnectionOnce) {
  Deaf server;
  const auto client = Make(server);
  client->setConnTimeout(kLimitMs);
  ExpectOpensSoon(*client);
  EXPECT_EQ(server.connections(), 2);
  client->close();
  ExpectOpensSoon(*client);
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(OpeningTest, WhereSkeinIsRequiredThereIsNoSecondConnection) {
  Deaf server;
  const auto client = Make(server, "require");
  client->setRecvTimeout(kLimitMs);
  EXPECT_EQ(Thrown([&] { client->open(); }).getType(), TTransportException::NOT_OPEN);
  EXPECT_EQ(server.connections(), 1);
}

}  // namespace
}  // namespace skein::thrift_transport
