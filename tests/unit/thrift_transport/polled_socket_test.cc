// Connections of a nonblocking server: what their descriptors say is true.
#include <fcntl.h>
#include <poll.h>
#include <skein/thrift/nonblocking_server_socket.h>
#include <skein/thrift/socket.h>
#include <sys/socket.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/options.h"
#include "core/base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/refused_call.h"
#include "tests/unit/thrift_transport/two_sockets.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

constexpr int kSoonMs = 20'000;

bool Is(int16_t event, int fd, int timeout_ms) {
  pollfd waits{fd, event, 0};
  return poll(&waits, 1, timeout_ms) == 1 && (waits.revents & event) != 0;
}

// Waits for it; perhaps with what was sent unread, which is an error.
bool Ended(TSocket& socket) {
  try {
    return !socket.peek();
  } catch (const TTransportException&) {
    return true;
  }
}

class PolledSocketTest : public testing::Test {
 protected:
  PolledSocketTest() {
    ThriftOutput().setOutputFunction([](const char*) {});
    server_.listen();
    fd_ = server_.getSocketFD();
  }
  ~PolledSocketTest() override { ::close(fd_); }

  std::shared_ptr<TSocket> Accept() {
    EXPECT_TRUE(Is(POLLIN, fd_, kSoonMs));
    return server_.accept();
  }
  // The acceptor answers the hello meanwhile.
  std::unique_ptr<TSkeinSocket> Connect() {
    auto client =
        std::make_unique<TSkeinSocket>("localhost", server_.getListenPort(), TSkeinOptions().set("mode", "require"));
    client->open();
    EXPECT_EQ(client->getSkeinPath(), "shm");
    return client;
  }

  TSkeinNonblockingServerSocket server_{0};
  int fd_ = -1;
};

TEST_F(PolledSocketTest, IsReadableWhileThereIsSomethingToRead) {
  const auto client = Connect();
  const std::shared_ptr<TSocket> socket = Accept();
  EXPECT_FALSE(Is(POLLIN, fd_, 0));
  EXPECT_FALSE(Is(POLLIN, socket->getSocketFD(), 0));
  EXPECT_TRUE(Is(POLLOUT, socket->getSocketFD(), 0));
  WriteText(*client, "hello");
  client->flush();
  EXPECT_TRUE(Is(POLLIN, socket->getSocketFD(), kSoonMs));
  EXPECT_EQ(ReadText(*socket, 3), "hel");
  EXPECT_TRUE(Is(POLLIN, socket->getSocketFD(), 0));
  EXPECT_TRUE(socket->hasPendingDataToRead());
  EXPECT_EQ(ReadText(*socket, 2), "lo");
  EXPECT_FALSE(Is(POLLIN, socket->getSocketFD(), 0));
  EXPECT_FALSE(socket->hasPendingDataToRead());
}

TEST_F(PolledSocketTest, AReadThatWouldBlockSaysRetry) {
  const auto client = Connect();
  const std::shared_ptr<TSocket> socket = Accept();
  uint8_t byte = 0;
  try {
    socket->read(&byte, 1);
    FAIL() << "read something";
  } catch (const TTransportException& exception) {
    EXPECT_THAT(exception.what(), testing::HasSubstr("retry"));
  }
}

TEST_F(PolledSocketTest, IsWritableWhileSomethingCanBeWritten) {
  const auto client = Connect();
  const std::shared_ptr<TSocket> socket = Accept();
  std::string text;
  text.resize(10'000'000, 'x');
  size_t sent = 0;
  const auto write = [&] {
    return socket->write_partial(reinterpret_cast<const uint8_t*>(text.data()) + sent,
                                 static_cast<uint32_t>(text.size() - sent));
  };
  const size_t window = static_cast<size_t>(Options().window_bytes);
  while (sent < window) {  // the ring may be full before the client has taken what is in it
    ASSERT_TRUE(Is(POLLOUT, socket->getSocketFD(), kSoonMs));
    sent += write();
  }
  EXPECT_EQ(sent, window);
  EXPECT_EQ(write(), 0U);
  EXPECT_FALSE(Is(POLLOUT, socket->getSocketFD(), 0));
  std::thread reader([&] { EXPECT_TRUE(ReadText(*client, text.size()) == text); });
  while (sent < text.size()) {
    ASSERT_TRUE(Is(POLLOUT, socket->getSocketFD(), kSoonMs));
    sent += write();
  }
  reader.join();
  EXPECT_FALSE(Is(POLLIN, socket->getSocketFD(), 0));
}

TEST_F(PolledSocketTest, TheEndIsReadable) {
  auto client = Connect();
  const std::shared_ptr<TSocket> socket = Accept();
  WriteText(*client, "last");
  client->close();
  EXPECT_TRUE(Is(POLLIN, socket->getSocketFD(), kSoonMs));
  EXPECT_EQ(ReadText(*socket, 4), "last");
  EXPECT_TRUE(Is(POLLIN, socket->getSocketFD(), kSoonMs));
  uint8_t byte = 0;
  EXPECT_EQ(socket->read(&byte, 1), 0);
  socket->close();
  EXPECT_FALSE(socket->isOpen());
}

TEST_F(PolledSocketTest, ADeadPeerIsTheEnd) {
  const auto client = Connect();
  const std::shared_ptr<TSocket> socket = Accept();
  shutdown(client->TSocket::getSocketFD(), SHUT_RDWR);  // as the kernel does for a process that dies
  EXPECT_TRUE(Is(POLLIN, socket->getSocketFD(), kSoonMs));
  uint8_t byte = 0;
  EXPECT_EQ(socket->read(&byte, 1), 0);
}

// The background thread, which polls for it, sleeps whatever the mode.
TEST_F(PolledSocketTest, IsReadableInModePoll) {
  const TSkeinOptions options = TSkeinOptions().set("mode", "require").set("wait_mode", "poll");
  TSkeinNonblockingServerSocket server(0, options);
  server.listen();
  const int fd = server.getSocketFD();
  TSkeinSocket client("localhost", server.getListenPort(), TSkeinOptions().set("wait_mode", "block"));
  client.open();
  EXPECT_TRUE(Is(POLLIN, fd, kSoonMs));
  const std::shared_ptr<TSocket> socket = server.accept();
  for (int i = 0; i < 3; ++i) {
    WriteText(client, "x");
    client.flush();
    ASSERT_TRUE(Is(POLLIN, socket->getSocketFD(), kSoonMs));
    EXPECT_EQ(ReadText(*socket, 1), "x");
    WriteText(*socket, "y");
    EXPECT_EQ(ReadText(client, 1), "y");
  }
  ::close(fd);
}

TEST_F(PolledSocketTest, StockClientsComeToTheSamePort) {
  TSocket silent("localhost", server_.getListenPort());
  silent.open();
  TSocket client("localhost", server_.getListenPort());
  client.open();
  EXPECT_FALSE(Is(POLLIN, fd_, 20));
  WriteText(client, "hello");
  const std::shared_ptr<TSocket> socket = Accept();
  EXPECT_EQ(ReadText(*socket, 5), "hello");
  WriteText(*socket, "hello");
  EXPECT_EQ(ReadText(client, 5), "hello");
}

TEST_F(PolledSocketTest, ACrowdThatSpeaksAtOnceIsTakenToTheLast) {
  constexpr int kMany = 600;  // more than wait for the server at a time, and than fit into a socket's buffer as bytes
  std::vector<std::unique_ptr<TSocket>> clients;
  std::vector<std::shared_ptr<TSocket>> taken;
  for (int i = 0; i < kMany; ++i) {
    clients.push_back(std::make_unique<TSocket>("localhost", server_.getListenPort()));
    clients.back()->open();
  }
  WriteText(*clients.back(), "x");  // all have been accepted when this one has
  taken.push_back(Accept());
  clients.pop_back();
  for (const auto& client : clients) WriteText(*client, "x");
  while (taken.size() < kMany) taken.push_back(Accept());
  EXPECT_FALSE(Is(POLLIN, fd_, 0));
}

TEST_F(PolledSocketTest, ClosedUnderItsServerItIsQuiet) {
  const std::unique_ptr<TSkeinSocket> client = Connect();
  Accept();
  server_.close();
  EXPECT_FALSE(Is(POLLIN | POLLHUP, fd_, 20));
}

TEST_F(PolledSocketTest, AskedForItsDescriptorByWhoeverDoesNotCloseItItLeavesNone) {
  const auto one = [] {
    TSkeinNonblockingServerSocket server(0);
    server.listen();
    EXPECT_GE(server.getSocketFD(), 0);
  };
  const auto open = [] {
    const std::filesystem::directory_iterator descriptors("/proc/self/fd");
    return std::distance(begin(descriptors), end(descriptors));
  };
  const auto before = open();
  // The links of tests before this one may end meanwhile: many sockets tell a leak from that.
  constexpr int kMany = 100;
  for (int i = 0; i < kMany; ++i) one();
  EXPECT_LT(open(), before + kMany / 2);
}

TEST_F(PolledSocketTest, WhatHasTheNumberOfItsDescriptorLaterStaysOpen) {
  auto server = std::make_unique<TSkeinNonblockingServerSocket>(0);
  server->listen();
  const int fd = server->getSocketFD();
  const UniqueFd original(socket(AF_UNIX, SOCK_STREAM, 0));
  const UniqueFd other(dup2(original.get(), fd));  // closes it first, as ~TNonblockingServer does
  ASSERT_EQ(other.get(), fd);
  server = nullptr;
  EXPECT_NE(fcntl(fd, F_GETFD), -1);
}

TEST_F(PolledSocketTest, ListensAgainWithTheSameDescriptor) {
  {
    const std::unique_ptr<TSkeinSocket> client = Connect();  // whom nobody accepts
    EXPECT_TRUE(Is(POLLIN, fd_, kSoonMs));
  }
  server_.close();
  EXPECT_FALSE(Is(POLLIN | POLLHUP, fd_, 0));
  server_.listen();
  EXPECT_EQ(server_.getSocketFD(), fd_);
  const std::unique_ptr<TSkeinSocket> client = Connect();
  EXPECT_NE(Accept(), nullptr);
  EXPECT_FALSE(Is(POLLIN, fd_, 0));
}

TEST_F(PolledSocketTest, WhenItsServerHasGoneNobodyCanConnect) {
  TSkeinNonblockingServerSocket server(0);
  server.listen();
  const int fd = server.getSocketFD();
  TSocket undecided("localhost", server.getListenPort());
  undecided.open();
  TSocket untaken("localhost", server.getListenPort());
  untaken.open();
  WriteText(untaken, "hello");
  ASSERT_TRUE(Is(POLLIN, fd, kSoonMs));
  ::close(fd);  // as ~TNonblockingServer does
  EXPECT_TRUE(Ended(undecided));
  EXPECT_TRUE(Ended(untaken));
  TSocket late("localhost", server.getListenPort());
  EXPECT_THROW(late.open(), TTransportException);
}

TEST_F(PolledSocketTest, WhoRequiresSkeinSaysWhomItRefuses) {
  static std::string said;  // read when the connection has ended, which is after that
  ThriftOutput().setOutputFunction([](const char* text) { said = text; });
  TSkeinNonblockingServerSocket server(0, TSkeinOptions().set("mode", "require"));
  server.listen();
  TSocket client("127.0.0.1", server.getListenPort());
  client.open();
  WriteText(client, "hello");
  EXPECT_TRUE(Ended(client));
  EXPECT_THAT(said, testing::HasSubstr("there is only tcp to client 127.0.0.1: "));
}

// TNonblockingServer polls by other means where epoll is refused; over TCP its socket needs neither that nor a thread.
TEST_F(PolledSocketTest, ConnectionsStayOnTcpWhereASandboxRefusesTheAcceptorItsDescriptors) {
  TSkeinNonblockingServerSocket server(0);
  TSkeinNonblockingServerSocket requires_skein(0, TSkeinOptions().set("mode", "require"));
  std::thread([&] {
    ASSERT_TRUE(Refuse({SYS_epoll_create1}, EPERM));
    EXPECT_THROW(requires_skein.listen(), TTransportException);
    server.listen();
  }).join();
  TSocket client("127.0.0.1", server.getListenPort());
  client.open();
  WriteText(client, "hello");
  ASSERT_TRUE(Is(POLLIN, server.getSocketFD(), kSoonMs));
  const std::shared_ptr<TSocket> served = server.accept();
  ASSERT_TRUE(Is(POLLIN, served->getSocketFD(), kSoonMs));
  EXPECT_EQ(ReadText(*served, 5), "hello");
}

TEST_F(PolledSocketTest, AHelloThatDoesNotEndIsTheEnd) {
  TSkeinNonblockingServerSocket server(0, TSkeinOptions().set("negotiation_timeout", "50"));
  server.listen();
  TSocket client("localhost", server.getListenPort());
  client.open();
  WriteText(client, "\xA5\r\n");
  EXPECT_FALSE(client.peek());
}

}  // namespace
}  // namespace skein::thrift_transport
