// The other end has closed its connection and lives on: what a writer is told, and what a reader still gets.
#include <poll.h>
#include <skein/thrift/nonblocking_server_socket.h>
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/unit/thrift_transport/two_sockets.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

TSkeinOptions Required() { return TSkeinOptions().set("mode", "require"); }

void Send(TTransport& transport, const std::string& text) {
  WriteText(transport, text);
  transport.flush();
}

class PeersCloseTest : public testing::Test {
 protected:
  PeersCloseTest() {
    ThriftOutput().setOutputFunction([](const char*) {});
  }

  std::unique_ptr<TSkeinSocket> Open(int port) {
    auto socket = std::make_unique<TSkeinSocket>("localhost", port, Required());
    socket->open();
    return socket;
  }
};

TEST_F(PeersCloseTest, AClientThatOnlyWritesHearsOfItSoon) {
  std::promise<void> closed;
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
    ReadText(*connection, 1);
    connection->close();
    closed.set_value();
  });
  const auto client = Open(server.port());
  Send(*client, "x");
  closed.get_future().wait();
  EXPECT_EQ(Thrown([&] {
              // The first is lost, as over TCP. So may be some more while the background thread, in the midst of a
              // poll, has no processor.
              const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
              while (std::chrono::steady_clock::now() < end) Send(*client, "told");
            }).getType(),
            TTransportException::NOT_OPEN);
  EXPECT_EQ(Thrown([&] { Send(*client, std::string(100'000, 'x')); }).getType(), TTransportException::NOT_OPEN);
  EXPECT_EQ(Thrown([&] { client->write_partial(reinterpret_cast<const uint8_t*>("x"), 1); }).getType(),
            TTransportException::NOT_OPEN);
}

TEST_F(PeersCloseTest, AClientStillReadsWhatTheServerHadSent) {
  std::promise<void> closed;
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
    ReadText(*connection, 1);
    Send(*connection, "last");
    connection->close();
    closed.set_value();
  });
  const auto client = Open(server.port());
  Send(*client, "x");
  closed.get_future().wait();
  EXPECT_EQ(Thrown([&] {
              for (;;) Send(*client, "y");
            }).getType(),
            TTransportException::NOT_OPEN);
  EXPECT_EQ(ReadText(*client, 4), "last");
  uint8_t byte = 0;
  EXPECT_EQ(client->read(&byte, 1), 0);
}

// Thrift's servers end a connection whose write fails: over TCP the first one behind a close does not.
TEST_F(PeersCloseTest, AServerGoesOnToTheNextCallOfAClientThatWaitedForNoReply) {
  std::promise<void> closed;
  std::promise<TTransportException::TTransportExceptionType> third;
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
    EXPECT_EQ(ReadText(*connection, 1), "1");
    closed.get_future().wait();
    Send(*connection, "reply");
    EXPECT_EQ(ReadText(*connection, 1), "2");
    third.set_value(Thrown([&] {
                      for (;;) Send(*connection, "reply");
                    }).getType());
  });
  auto client = Open(server.port());
  Send(*client, "1");
  Send(*client, "2");
  client = nullptr;
  closed.set_value();
  std::future<TTransportException::TTransportExceptionType> told = third.get_future();
  ASSERT_EQ(told.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(told.get(), TTransportException::NOT_OPEN);
}

class PolledPeersCloseTest : public PeersCloseTest {
 protected:
  PolledPeersCloseTest() {
    server_.listen();
    fd_ = server_.getSocketFD();
  }
  ~PolledPeersCloseTest() override { ::close(fd_); }

  static bool IsReadable(int fd) {
    pollfd waits{fd, POLLIN, 0};
    return poll(&waits, 1, 20'000) == 1;
  }
  std::shared_ptr<TSocket> Accept() {
    EXPECT_TRUE(IsReadable(fd_));
    return server_.accept();
  }

  TSkeinNonblockingServerSocket server_{0};
  int fd_ = -1;
};

TEST_F(PolledPeersCloseTest, AServerIsToldByItsSecondWrite) {
  auto client = Open(server_.getListenPort());
  const std::shared_ptr<TSocket> socket = Accept();
  Send(*client, "12");
  client = nullptr;
  std::string read;
  uint8_t byte = 0;
  for (; IsReadable(socket->getSocketFD()) && socket->read(&byte, 1) != 0;) read.push_back(static_cast<char>(byte));
  EXPECT_EQ(read, "12");
  const auto write = [&] { return socket->write_partial(reinterpret_cast<const uint8_t*>("reply"), 5); };
  EXPECT_EQ(write(), 5);
  EXPECT_EQ(Thrown(write).getType(), TTransportException::NOT_OPEN);
  EXPECT_EQ(Thrown(write).getType(), TTransportException::NOT_OPEN);
}

TEST_F(PolledPeersCloseTest, AClientIsToldWhenTheServerClosesAPolledConnection) {
  const auto client = Open(server_.getListenPort());
  const std::shared_ptr<TSocket> socket = Accept();
  Send(*client, "x");
  EXPECT_TRUE(IsReadable(socket->getSocketFD()));
  EXPECT_EQ(ReadText(*socket, 1), "x");
  WriteText(*socket, "y");
  EXPECT_EQ(ReadText(*client, 1), "y");
  socket->close();
  EXPECT_EQ(Thrown([&] {
              Send(*client, "lost, as over TCP");
              Send(*client, "told");
            }).getType(),
            TTransportException::NOT_OPEN);
}

// A close that is the server's first word of all: the background thread takes part in making that possible.
TEST_F(PolledPeersCloseTest, AClientIsToldThoughTheServerHasNeverWritten) {
  const auto client = Open(server_.getListenPort());
  Accept()->close();
  EXPECT_EQ(Thrown([&] {
              for (;;) Send(*client, "x");
            }).getType(),
            TTransportException::NOT_OPEN);
}

}  // namespace
}  // namespace skein::thrift_transport
