// A server's connection whose client reads late.
#include "thrift_transport/durable_connection.h"

#include <sys/socket.h>
#include <thrift/transport/TSocket.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/unit/durable/calls_fixture.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::transport::TSocket;

constexpr DurableConnection::Limits kLimits = {.unsent = 1 << 20, .asked_for = 1000};

// The writer waits until the reader has heard all that had come. The client takes nothing before, however the kernel
// shares the processors out, so what is unsent grows with each reply.
class LateWriter : public TSocket {
 public:
  using TSocket::TSocket;
  uint32_t read(uint8_t* buffer, uint32_t length) override {
    if (++reads_ == 2) all_is_heard_.Notify();
    return TSocket::read(buffer, length);
  }
  void write(const uint8_t* buffer, uint32_t length) override {
    all_is_heard_.WaitForNotification();
    TSocket::write(buffer, length);
  }

 private:
  int reads_ = 0;  // the reader's
  absl::Notification all_is_heard_;
};

// One that carries little, and its client's end.
class LateReader {
 public:
  explicit LateReader(durable::CallService& service) {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    const int least = 1;
    EXPECT_EQ(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)), 0);
    line_ = std::make_unique<DurableLine>(std::make_shared<TSocket>(ends[0]), 1 << 20);
    serving_ = std::thread([&service, fd = ends[1]] {
      DurableConnection(std::make_shared<LateWriter>(fd), 1 << 20, kLimits).Serve(service);
    });
  }
  ~LateReader() {
    line_->Close();
    serving_.join();
  }
  DurableLine& line() { return *line_; }

 private:
  std::unique_ptr<DurableLine> line_;
  std::thread serving_;
};

using DurableConnectionTest = durable::CallsTest;

TEST_F(DurableConnectionTest, WhoAsksForTooMuchComesBackForTheRest) {
  reply_bytes_ = 500;
  Open(1 << 18);
  std::vector<std::shared_ptr<durable::TestCall>> calls;
  calls.reserve(60);
  Connect();
  for (int i = 0; i < 60; ++i) calls.push_back(durable::StartCall(outbox_, "much"));
  for (const auto& call : calls) ASSERT_TRUE(call->level.get().ok());
  cable_.reset();
  service_->Start();
  while (service_->load().unfinished > 0) std::this_thread::yield();
  int connections = 0;
  for (; outbox_.standing().unanswered > 0 && connections < 100; ++connections) {
    LateReader client(*service_);
    outbox_.Connected([&client](const std::string& message) { client.line().Put(message); });
    client.line().Send();
    do {
      const std::optional<absl::string_view> message = client.line().Next();
      if (!message.has_value()) break;
      ASSERT_TRUE(outbox_.OnMessage(*message).ok());
      client.line().Send();
      while (service_->load().unfinished > 0) std::this_thread::yield();
    } while (outbox_.standing().unanswered > 0);
    outbox_.Disconnected();
  }
  EXPECT_GT(connections, 1);
  for (const auto& call : calls) EXPECT_EQ(call->reply.get().value(), std::string(500, 'x'));
}

// Nothing but the connection has them: replies that are too large to be kept, however slowly they are read.
TEST_F(DurableConnectionTest, RepliesThatAreKeptNowhereAllCome) {
  reply_bytes_ = 100'000;
  Open(1 << 18);
  std::vector<std::shared_ptr<durable::TestCall>> calls(4);
  for (auto& call : calls) call = durable::StartCall(outbox_, "much");
  service_->Start();
  LateReader client(*service_);
  outbox_.Connected([&client](const std::string& message) { client.line().Put(message); });
  client.line().Send();
  do {
    const std::optional<absl::string_view> message = client.line().Next();
    ASSERT_TRUE(message.has_value());
    ASSERT_TRUE(outbox_.OnMessage(*message).ok());
    client.line().Send();
    while (service_->load().unfinished > 0) std::this_thread::yield();
  } while (outbox_.standing().unanswered > 0);
  for (const auto& call : calls) EXPECT_EQ(call->reply.get().value(), std::string(reply_bytes_, 'x'));
  outbox_.Disconnected();
}

}  // namespace
}  // namespace skein::thrift_transport
