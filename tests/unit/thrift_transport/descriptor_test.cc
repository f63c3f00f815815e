// What getSocketFD() of a TSkeinSocket tells whoever waits on it, over a stream and over TCP.
#include <poll.h>
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "core/base/unique_fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/refused_call.h"
#include "tests/unit/thrift_transport/two_sockets.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

constexpr int kPatienceMs = 20'000;

bool IsReadable(int fd, int timeout_ms) {
  pollfd waits{fd, POLLIN, 0};
  return poll(&waits, 1, timeout_ms) == 1;
}

class DescriptorTest : public testing::Test {
 protected:
  DescriptorTest() {
    ThriftOutput().setOutputFunction([](const char*) {});
  }

  std::unique_ptr<TSkeinSocket> Open(int port, const std::string& mode = "require") {
    auto socket = std::make_unique<TSkeinSocket>("localhost", port, TSkeinOptions().set("mode", mode));
    socket->open();
    return socket;
  }
  static void Ask(TSkeinSocket& client, const std::string& text) {
    WriteText(client, text);
    client.flush();
  }
};

TEST_F(DescriptorTest, IsReadableWhileThereIsAReplyToRead) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  for (const std::string mode : {"require", "off"}) {
    const auto client = Open(server.port(), mode);
    const int fd = client->getSocketFD();
    EXPECT_EQ(fd, client->getSocketFD());
    for (int i = 0; i < 20; ++i) {
      EXPECT_FALSE(IsReadable(fd, 0)) << mode;
      Ask(*client, "hello");
      ASSERT_TRUE(IsReadable(fd, kPatienceMs)) << mode;
      EXPECT_EQ(ReadText(*client, 2), "he");
      EXPECT_TRUE(IsReadable(fd, 0)) << mode;
      EXPECT_EQ(ReadText(*client, 3), "llo");
    }
  }
}

TEST_F(DescriptorTest, WhatHadArrivedBeforeItWasAskedForIsTold) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server.port());
  Ask(*client, "hello");
  ASSERT_TRUE(client->peek());
  EXPECT_TRUE(IsReadable(client->getSocketFD(), 0));
  uint32_t size = 5;
  ASSERT_NE(client->borrow(nullptr, &size), nullptr);
  client->consume(5);
  EXPECT_FALSE(IsReadable(client->getSocketFD(), 0));
}

TEST_F(DescriptorTest, ServesEpollThatIsToldOfEdges) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server.port());
  const UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLET;
  ASSERT_EQ(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, client->getSocketFD(), &event), 0);
  for (int i = 0; i < 200; ++i) {
    Ask(*client, "hello");
    ASSERT_EQ(epoll_wait(epoll.get(), &event, 1, kPatienceMs), 1) << i;
    EXPECT_EQ(ReadText(*client, 5), "hello");
  }
}

TEST_F(DescriptorTest, TellsOfTheEndAndOfADeadPeer) {
  for (const bool dies : {false, true}) {
    std::promise<void> over;
    Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
      ReadText(*connection, 1);
      if (dies) over.get_future().wait();
    });
    const auto client = Open(server.port());
    const int fd = client->getSocketFD();
    Ask(*client, "x");
    if (dies) shutdown(client->TSocket::getSocketFD(), SHUT_RDWR);  // as the kernel does for a process that dies
    EXPECT_TRUE(IsReadable(fd, kPatienceMs)) << dies;
    uint8_t byte = 0;
    EXPECT_EQ(client->read(&byte, 1), 0) << dies;
    EXPECT_TRUE(IsReadable(fd, 0)) << dies;
    if (dies) over.set_value();
  }
}

TEST_F(DescriptorTest, TellsOfAnInterrupt) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server.port());
  const int fd = client->getSocketFD();
  EXPECT_FALSE(IsReadable(fd, 0));
  client->interrupt();
  EXPECT_TRUE(IsReadable(fd, 0));
}

TEST_F(DescriptorTest, AReadThatWaitsMeanwhileLeavesItTrue) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server.port());
  const int fd = client->getSocketFD();
  for (int i = 0; i < 50; ++i) {
    Ask(*client, "a");
    EXPECT_EQ(ReadText(*client, 1), "a");
    EXPECT_FALSE(client->hasPendingDataToRead());
    EXPECT_FALSE(IsReadable(fd, 0));
    Ask(*client, "b");
    ASSERT_TRUE(IsReadable(fd, kPatienceMs)) << i;
    EXPECT_EQ(ReadText(*client, 1), "b");
  }
}

TEST_F(DescriptorTest, ThriftsOwnKnowsTheTcpConnection) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server.port());
  EXPECT_NE(client->getSocketFD(), client->TSocket::getSocketFD());
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  EXPECT_EQ(getpeername(client->TSocket::getSocketFD(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  client->setNoDelay(true);
  client->close();
  EXPECT_FALSE(client->isOpen());
  client->open();
  Ask(*client, "hello");
  EXPECT_TRUE(IsReadable(client->getSocketFD(), kPatienceMs));
  EXPECT_EQ(ReadText(*client, 5), "hello");
}

// The kernel refuses the one thread that asks: a limit of the whole process is none while others close descriptors.
TEST_F(DescriptorTest, WhereThereIsNoneToBeHadItSaysSo) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server.port());
  std::thread([&client] {
    ASSERT_TRUE(Refuse({SYS_eventfd2}, EMFILE));
    const TTransportException thrown = Thrown([&] { client->getSocketFD(); });
    EXPECT_EQ(thrown.getType(), TTransportException::UNKNOWN);
    EXPECT_THAT(thrown.what(), testing::HasSubstr("Too many open files"));
  }).join();
  Ask(*client, "hello");
  EXPECT_TRUE(IsReadable(client->getSocketFD(), kPatienceMs));
}

}  // namespace
}  // namespace skein::thrift_transport
