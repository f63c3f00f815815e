// Writes that no flush follows: over TCP they are sent all the same.
#include <skein/thrift/server_socket.h>
#include <skein/thrift/socket.h>

#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "tests/unit/thrift_transport/two_sockets.h"
#include "thrift_transport/thrift_output.h"

namespace skein::thrift_transport {
namespace {

constexpr std::chrono::seconds kSoon{20};

class UnflushedTest : public testing::Test {
 protected:
  UnflushedTest() {
    ThriftOutput().setOutputFunction([](const char*) {});
  }

  std::unique_ptr<TSkeinSocket> Open(int port) {
    auto socket = std::make_unique<TSkeinSocket>("localhost", port, TSkeinOptions().set("mode", "require"));
    socket->open();
    return socket;
  }
};

TEST_F(UnflushedTest, AClientsPreambleIsSentThoughTheClientSleeps) {
  std::promise<std::string> received;
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
    received.set_value(ReadText(*connection, 5));
  });
  const auto client = Open(server.port());
  WriteText(*client, "hel");
  WriteText(*client, "lo");
  std::future<std::string> text = received.get_future();
  ASSERT_EQ(text.wait_for(kSoon), std::future_status::ready);
  EXPECT_EQ(text.get(), "hello");
}

TEST_F(UnflushedTest, SoIsWhatAProgramWritesThatHasFlushedBefore) {
  std::promise<std::string> received;
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
    ReadText(*connection, 4);
    WriteText(*connection, "reply");
    connection->flush();
    received.set_value(ReadText(*connection, 5));
  });
  const auto client = Open(server.port());
  WriteText(*client, "call");
  client->flush();
  EXPECT_EQ(ReadText(*client, 5), "reply");
  WriteText(*client, "later");
  std::future<std::string> text = received.get_future();
  ASSERT_EQ(text.wait_for(kSoon), std::future_status::ready);
  EXPECT_EQ(text.get(), "later");
}

TEST_F(UnflushedTest, AServersReplyIsSentThoughTheHandlerSleeps) {
  std::promise<void> over;
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
    ReadText(*connection, 4);
    WriteText(*connection, "reply");
    over.get_future().wait();
  });
  const auto client = Open(server.port());
  client->setRecvTimeout(20'000);
  WriteText(*client, "call");
  client->flush();
  EXPECT_EQ(ReadText(*client, 5), "reply");
  over.set_value();
}

// The background thread takes all that fits, again and again, while the writer adds to it.
TEST_F(UnflushedTest, WithAndWithoutFlushesAllComesInOrder) {
  constexpr int kNumbers = 200'000;
  std::promise<int> wrong;
  Accepting server(std::make_shared<TSkeinServerSocket>(0), [&](const std::shared_ptr<TTransport>& connection) {
    int first_wrong = -1;
    for (int expected = 0; expected < kNumbers; ++expected) {
      int number = 0;
      connection->readAll(reinterpret_cast<uint8_t*>(&number), sizeof(number));
      if (number != expected && first_wrong < 0) first_wrong = expected;
    }
    wrong.set_value(first_wrong);
  });
  const auto client = Open(server.port());
  std::minstd_rand random(1);
  for (int number = 0; number < kNumbers; ++number) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&number);
    const uint32_t dice = random() % 20'000;
    if (dice == 0) std::this_thread::sleep_for(std::chrono::milliseconds(7));  // long enough for the background thread
    uint32_t sent = 0;
    while (dice % 7 == 0 && sent == 0) sent = client->write_partial(bytes, sizeof(number));
    client->write(bytes + sent, sizeof(number) - sent);
    if (dice % 100 == 0) client->flush();
  }
  std::future<int> first_wrong = wrong.get_future();
  ASSERT_EQ(first_wrong.wait_for(kSoon), std::future_status::ready);
  EXPECT_EQ(first_wrong.get(), -1);
}

TEST_F(UnflushedTest, APartialWriteComesBehindWhatWasWrittenBefore) {
  Accepting server(std::make_shared<TSkeinServerSocket>(0), Echo);
  const auto client = Open(server.port());
  WriteText(*client, "hel");
  EXPECT_EQ(client->write_partial(reinterpret_cast<const uint8_t*>("lo"), 2), 2);
  EXPECT_EQ(ReadText(*client, 5), "hello");
}

}  // namespace
}  // namespace skein::thrift_transport
