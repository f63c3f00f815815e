// Both ends of Skein's, in one process, over shared memory.
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>
#include <skein/thrift/tracing.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/descriptor_limit.h"
#include "tests/support/refused_call.h"
#include "tests/unit/thrift_transport/two_sockets.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

using ::testing::HasSubstr;

TSkeinOptions With(const std::string& mode) { return TSkeinOptions().set("mode", mode); }

class TSkeinSocketTest : public testing::Test {
 protected:
  TSkeinSocketTest() {
    ThriftOutput().setOutputFunction([](const char*) {});
  }

  std::unique_ptr<TSkeinSocket> Open(const Accepting& server, const TSkeinOptions& options = With("require")) {
    auto socket = std::make_unique<TSkeinSocket>("localhost", server.port(), options);
    socket->open();
    return socket;
  }
};

TEST_F(TSkeinSocketTest, TellsTheProgramOfItsCalls) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0, With("require")), Echo);
  const auto client = Open(server);
  std::vector<TracedCall> told;  // the telling thread's until there is none
  const absl::Cleanup none_later = [] { TraceCalls(0, nullptr); };
  TraceCalls(1, [&](const TracedCall& call) {
    if (call.client) told.push_back(call);
  });
  for (int i = 0; i < 3; ++i) {
    WriteText(*client, "hello");
    client->flush();
    EXPECT_EQ(ReadText(*client, 5), "hello");
  }
  client->close();
  TraceCalls(0, nullptr);
  ASSERT_GE(told.size(), 2);
  EXPECT_EQ(told[0].path, "shm");
  EXPECT_THAT(told[0].intervals, testing::Contains(testing::Field(&TracedInterval::work, "wire")));
}

TEST_F(TSkeinSocketTest, TellsHowLargeACallIsThatIsWrittenInOnePiece) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0, With("require")), Echo);
  const auto client = Open(server);
  std::promise<uint32_t> told;  // once
  const absl::Cleanup none_later = [] { TraceCalls(0, nullptr); };
  TraceCalls(1, [&, first = true](const TracedCall& call) mutable {
    if (call.client && std::exchange(first, false)) told.set_value(call.bytes);
  });
  const std::string text(100'000, 'x');
  WriteText(*client, text);
  client->flush();
  EXPECT_TRUE(ReadText(*client, text.size()) == text);
  EXPECT_EQ(told.get_future().get(), text.size());
}

TEST_F(TSkeinSocketTest, EchoesOverSharedMemory) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0, With("require")), Echo);
  const auto client = Open(server);
  EXPECT_EQ(client->getSkeinPath(), "shm");
  EXPECT_EQ(client->getSkeinReason(), "");
  for (int i = 0; i < 100; ++i) {
    WriteText(*client, "hello");
    client->flush();
    EXPECT_EQ(ReadText(*client, 5), "hello");
  }
}

TEST_F(TSkeinSocketTest, WhatWasNotFlushedGoesBeforeARead) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server);
  WriteText(*client, "hel");
  WriteText(*client, "lo");
  EXPECT_EQ(ReadText(*client, 5), "hello");
}

TEST_F(TSkeinSocketTest, WhatWasNotFlushedGoesBeforeTheEnd) {
  std::promise<std::string> received;
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
    received.set_value(ReadText(*connection, 4));
    EXPECT_FALSE(connection->peek());
  });
  const auto client = Open(server);
  WriteText(*client, "last");
  client->close();
  EXPECT_EQ(received.get_future().get(), "last");
}

TEST_F(TSkeinSocketTest, LargeMessagesComeWhole) {
  std::string text;
  text.resize(20'000'000, 'x');
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
    const std::string request = ReadText(*connection, text.size());
    WriteText(*connection, request);
    connection->flush();
  });
  const auto client = Open(server);
  WriteText(*client, text);
  client->flush();
  EXPECT_TRUE(ReadText(*client, text.size()) == text);
}

TEST_F(TSkeinSocketTest, WhatHasArrivedCanBeBorrowed) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server);
  WriteText(*client, "hello, world");
  ASSERT_TRUE(client->peek());
  TTransport& transport = *client;
  uint32_t size = 5;
  const uint8_t* bytes = transport.borrow(nullptr, &size);
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(std::string(bytes, bytes + 5), "hello");
  EXPECT_EQ(size, 12);
  transport.consume(7);
  size = 6;
  EXPECT_EQ(transport.borrow(nullptr, &size), nullptr);
  EXPECT_EQ(ReadText(*client, 5), "world");
}

TEST_F(TSkeinSocketTest, ReadsEndInTime) {
  std::promise<void> over;
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
    EXPECT_TRUE(connection->peek());
    over.get_future().wait();
  });
  const auto client = Open(server);
  client->setRecvTimeout(30);
  WriteText(*client, "x");
  EXPECT_EQ(Thrown([&] { ReadText(*client, 1); }).getType(), TTransportException::TIMED_OUT);
  EXPECT_FALSE(client->peek());
  over.set_value();
}

TEST_F(TSkeinSocketTest, WritesThatNobodyReadsEndInTime) {
  std::promise<void> over;
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
    EXPECT_TRUE(connection->peek());
    over.get_future().wait();
  });
  const auto client = Open(server);
  client->setSendTimeout(30);
  EXPECT_EQ(Thrown([&] { WriteText(*client, std::string(5'000'000, 'x')); }).getType(), TTransportException::TIMED_OUT);
  over.set_value();
}

TEST_F(TSkeinSocketTest, InterruptChildrenEndsReadsThatWait) {
  std::promise<void> reading;
  std::promise<TTransportException::TTransportExceptionType> type;
  auto socket = std::make_shared<TSkeinServerSocket>(0);
  Accepting server(socket, [&](const std::shared_ptr<TTransport>& connection) {
    ReadText(*connection, 1);
    reading.set_value();
    type.set_value(Thrown([&] { ReadText(*connection, 1); }).getType());
  });
  const auto client = Open(server);
  WriteText(*client, "x");
  client->flush();
  reading.get_future().wait();
  socket->interruptChildren();
  EXPECT_EQ(type.get_future().get(), TTransportException::INTERRUPTED);
}

TEST_F(TSkeinSocketTest, AnInterruptEndsWithTheConnectionThatItCameTo) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server);
  client->interrupt();
  EXPECT_EQ(Thrown([&] { ReadText(*client, 1); }).getType(), TTransportException::INTERRUPTED);
  client->close();
  client->open();
  EXPECT_EQ(client->getSkeinPath(), "shm");
  WriteText(*client, "hello");
  EXPECT_EQ(ReadText(*client, 5), "hello");
}

// Before the client has said what it is, and after.
TEST_F(TSkeinSocketTest, InterruptChildrenEndsPeeksThatWait) {
  for (const bool has_spoken : {false, true}) {
    std::promise<void> peeking;
    std::promise<bool> more;
    auto socket = std::make_shared<TSkeinServerSocket>(0);
    Accepting server(socket, [&](const std::shared_ptr<TTransport>& connection) {
      if (has_spoken) ReadText(*connection, 1);
      peeking.set_value();
      more.set_value(connection->peek());
    });
    const auto silent = std::make_shared<TSocket>("127.0.0.1", server.port());
    const auto client = has_spoken ? Open(server) : nullptr;
    if (has_spoken) {
      WriteText(*client, "x");
      client->flush();
    } else {
      silent->open();
    }
    peeking.get_future().wait();
    socket->interruptChildren();
    EXPECT_FALSE(more.get_future().get()) << has_spoken;
  }
}

TEST_F(TSkeinSocketTest, TheServersEndIsTheEnd) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [](const std::shared_ptr<TTransport>& connection) {
    WriteText(*connection, ReadText(*connection, 1));
    connection->flush();
  });
  const auto client = Open(server);
  WriteText(*client, "x");
  client->flush();
  EXPECT_EQ(ReadText(*client, 1), "x");
  EXPECT_FALSE(client->peek());
  uint8_t byte = 0;
  EXPECT_EQ(client->read(&byte, 1), 0);
}

TEST_F(TSkeinSocketTest, OpensAgainAfterItWasClosed) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server);
  for (int i = 0; i < 3; ++i) {
    WriteText(*client, "hello");
    EXPECT_EQ(ReadText(*client, 5), "hello");
    client->close();
    EXPECT_FALSE(client->isOpen());
    client->open();
    EXPECT_EQ(client->getSkeinPath(), "shm");
  }
}

TEST_F(TSkeinSocketTest, OneReadsWhileAnotherWrites) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server);
  constexpr int kMessages = 2000;
  std::thread writer([&] {
    for (int i = 0; i < kMessages; ++i) {
      WriteText(*client, "0123456789");
      client->flush();
    }
  });
  for (int i = 0; i < kMessages; ++i) ASSERT_EQ(ReadText(*client, 10), "0123456789");
  writer.join();
}

TEST_F(TSkeinSocketTest, SilentClientsHoldUpNobody) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  TSocket silent("localhost", server.port());
  silent.open();
  const auto client = Open(server);
  WriteText(*client, "hello");
  EXPECT_EQ(ReadText(*client, 5), "hello");
}

TEST_F(TSkeinSocketTest, ABrokenHelloIsTheEndOfItsConnection) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0, TSkeinOptions().set("negotiation_timeout", "100")), Echo);
  for (const std::string hello : {"\xA5", "\xA5\r\n\xA5SKN\x01", "\xA5 something else", "\xA5\r\n\xA5SKN\x01\xff\xff",
                                  "\xA5\r\n\xA5SKN\x01\x01\x01z"}) {
    TSocket client("localhost", server.port());
    client.open();
    WriteText(client, hello);
    EXPECT_FALSE(client.peek()) << hello;
  }
}

// As one whose negotiation timeout was over before the server came to accept it.
TEST_F(TSkeinSocketTest, AClientThatHasGoneSinceItsHelloIsTheEnd) {
  TSkeinServerSocket server(0);
  server.listen();
  TSkeinSocket client("localhost", server.getPort(), TSkeinOptions().set("negotiation_timeout", "10"));
  client.open();
  EXPECT_EQ(client.getSkeinPath(), "tcp");
  WriteText(client, "hello");
  const std::shared_ptr<TTransport> first = server.accept();
  uint8_t byte = 0;
  EXPECT_EQ(first->read(&byte, 1), 0);
  const std::shared_ptr<TTransport> second = server.accept();
  EXPECT_EQ(ReadText(*second, 5), "hello");
}

TEST_F(TSkeinSocketTest, HasPendingDataToReadDoesNotWait) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server);
  EXPECT_FALSE(client->hasPendingDataToRead());
  WriteText(*client, "hello");
  EXPECT_TRUE(client->peek());
  EXPECT_TRUE(client->hasPendingDataToRead());
}

TEST_F(TSkeinSocketTest, AForkedChildLeavesItsParentsConnectionAlone) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  auto client = Open(server);
  WriteText(*client, "hello");
  EXPECT_EQ(ReadText(*client, 5), "hello");
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = Thrown([&] { WriteText(*client, "x"); }).getType() == TTransportException::NOT_OPEN;
    client = nullptr;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  WriteText(*client, "hello");
  EXPECT_EQ(ReadText(*client, 5), "hello");
}

// With options that its parent has opened nothing with: streams of their own.
TEST_F(TSkeinSocketTest, AForkedChildsOwnConnectionsStayOnTcp) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server);
  const pid_t child = fork();
  if (child == 0) {
    TSkeinSocket own("127.0.0.1", server.port(), TSkeinOptions().set("ring_bytes", "131072"));
    try {
      own.open();
      WriteText(own, "hello");
      own.flush();
      _exit(ReadText(own, 5) == "hello" && own.getSkeinPath() == "tcp" ? 0 : 1);
    } catch (const TTransportException&) {
      _exit(2);
    }
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Killed before it has answered.
TEST_F(TSkeinSocketTest, AServerThatDiesDuringTheNegotiationIsFoundAgainWhenItIsBack) {
  TServerSocket dying("127.0.0.1", 0);
  dying.listen();
  const int port = dying.getPort();
  std::thread dies([&dying] {
    const std::shared_ptr<TTransport> connection = dying.accept();
    ReadText(*connection, 1);
    dying.close();
    connection->close();
  });
  TSkeinSocket client("127.0.0.1", port);
  EXPECT_EQ(Thrown([&] { client.open(); }).getType(), TTransportException::NOT_OPEN);
  dies.join();
  Accepting server(std::make_shared<TSkeinServerSocket>("127.0.0.1", port), Echo);
  client.open();
  EXPECT_EQ(client.getSkeinPath(), "shm") << client.getSkeinReason();
}

TEST_F(TSkeinSocketTest, AServerWithoutDescriptorsAcceptsWhenItHasSome) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP();
  Accepting server(std::make_shared<TSkeinServerSocket>(0, With("prefer")), Echo);
  TSkeinSocket client("127.0.0.1", server.port(), With("off"));
  static std::atomic<int> failures;
  failures = 0;
  ThriftOutput().setOutputFunction([](const char*) { ++failures; });
  {
    const DescriptorLimit one(1);  // the client's
    client.open();
    while (failures == 0) std::this_thread::yield();
  }
  WriteText(client, "hello");
  client.flush();
  EXPECT_EQ(ReadText(client, 5), "hello");
}

TEST_F(TSkeinSocketTest, ThereIsNoneToRequireOverAPath) {
  TSkeinSocket client(std::string("/nowhere"), With("require"));
  TSkeinServerSocket server(std::string("\0skein_thrift_test", 18), With("require"));
  EXPECT_EQ(Thrown([&] { server.listen(); }).getType(), TTransportException::BAD_ARGS);
  EXPECT_EQ(Thrown([&] { client.open(); }).getType(), TTransportException::BAD_ARGS);
}

// Each of its connections failed, and its server was told that it had broken the protocol.
TEST_F(TSkeinSocketTest, AClientThatEntersASandboxLateGoesOnOverTcpAndSaysWhy) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  // What is refused counts for all of the process that have the same options: no other test has these.
  const TSkeinOptions options = TSkeinOptions().set("ring_bytes", "196608").set("rdma_retry_delay", "61000");
  EXPECT_EQ(Open(server, options)->getSkeinPath(), "shm");
  std::thread([&] {
    ASSERT_TRUE(Refuse({SYS_fstatfs}, EPERM));
    for (int i = 0; i < 2; ++i) {
      const std::unique_ptr<TSkeinSocket> client = Open(server, options);
      // The background thread is refused nothing: where it comes first, shared memory is had all the same.
      if (client->getSkeinPath() != "shm") {
        EXPECT_THAT(client->getSkeinReason(), HasSubstr("fstatfs"));
      }
      WriteText(*client, "hello");
      client->flush();
      EXPECT_EQ(ReadText(*client, 5), "hello");
    }
  }).join();
}

}  // namespace
}  // namespace skein::thrift_transport
