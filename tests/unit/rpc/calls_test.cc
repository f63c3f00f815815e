// Calls from one end to the other, over what a host has: each is answered once, to who made it.
#include <skein/rpc.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/rpc/served.h"

namespace skein::rpc {
namespace {

using ::testing::HasSubstr;

class CallsTest : public testing::TestWithParam<WaitMode> {
 protected:
  static Options With(WaitMode mode) {
    Options options;
    options.wait_mode = mode;
    return options;
  }
  const Options options_ = With(GetParam());
};

TEST_P(CallsTest, AreAnswered) {
  Served served(options_);
  Client client(options_);
  const auto connection = client.Connect(served.address(), kSoon).value();
  EXPECT_EQ(connection->Call(kEcho, "hello", kSoon).value(), "hello");
  EXPECT_EQ(connection->Call(kEcho, "", kSoon).value(), "");
  const std::string large(100'000, 'x');
  EXPECT_EQ(connection->Call(kEcho, large, kSoon).value(), large);
  EXPECT_EQ(connection->path(), "shm");
}

TEST_P(CallsTest, SeveralAreUnderWayAtOnce) {
  Served served(options_);
  Client client(options_);
  const auto connection = client.Connect(served.address(), kSoon).value();
  PendingCall calls[8];
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < std::size(calls); ++i) texts.push_back(absl::StrCat(round, "/", i));
    std::vector<CallRequest> together;
    for (size_t i = 0; i < std::size(calls); ++i) {
      if (round % 2 == 0) {
        connection->Start(calls[i], kEcho, texts[i]);
      } else {
        together.push_back({&calls[i], kEcho, texts[i]});
      }
    }
    connection->Start(together);
    for (size_t i = 0; i < std::size(calls); ++i) {
      ASSERT_TRUE(connection->Wait(calls[i], kSoon).ok());
      ASSERT_EQ(calls[i].reply(), texts[i]);
    }
  }
}

TEST_P(CallsTest, ManyThreadsShareAConnection) {
  Served served(options_);
  Client client(options_);
  const auto connection = client.Connect(served.address(), kSoon).value();
  std::vector<std::thread> threads;
  threads.reserve(5);
  std::atomic<int> answered = 0;
  for (int thread = 0; thread < 5; ++thread) {
    threads.emplace_back([&, thread] {
      PendingCall calls[3];
      for (int round = 0; round < 300; ++round) {
        std::string texts[3];
        for (size_t i = 0; i < 3; ++i) {
          texts[i] = absl::StrCat(thread, "/", round, "/", i);
          connection->Start(calls[i], i == 2 ? kLater : kEcho, texts[i]);
        }
        for (size_t i = 0; i < 3; ++i) {
          const absl::Status status = connection->Wait(calls[i], kSoon);
          ASSERT_TRUE(status.ok()) << status;
          ASSERT_EQ(calls[i].reply(), texts[i]);
          ++answered;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, 5 * 300 * 3);
}

TEST_P(CallsTest, ConnectionsOfOneProcessShareALink) {
  Served served(options_);
  Client client(options_);
  std::vector<std::unique_ptr<Connection>> connections;
  connections.reserve(4);
  for (int i = 0; i < 4; ++i) connections.push_back(client.Connect(served.address(), kSoon).value());
  std::vector<std::thread> threads;
  threads.reserve(connections.size());
  for (const auto& connection : connections) {
    threads.emplace_back([&connection] {
      for (int i = 0; i < 300; ++i) ASSERT_EQ(connection->Call(kEcho, "x", kSoon).value(), "x");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Whose first connection was waited for until nothing was under way: the others need not be.
void ExpectMoreOnABusyLink(const Options& options) {
  Served served(options);
  Client client(options);
  const auto connection = client.Connect(served.address(), kSoon).value();
  std::atomic<bool> enough = false;
  std::vector<std::thread> busy;
  for (int thread = 0; thread < 3; ++thread) {
    busy.emplace_back([&] {
      while (!enough) EXPECT_TRUE(connection->Call(kEcho, "busy", kSoon).ok());
    });
  }
  for (int i = 0; i < 10; ++i) {
    const auto another = client.Connect(served.address(), kSoon);
    EXPECT_TRUE(another.ok()) << another.status();
    if (!another.ok()) continue;
    EXPECT_EQ((*another)->Call(kEcho, "another", kSoon).value_or(""), "another");
  }
  enough = true;
  for (std::thread& thread : busy) thread.join();
}

TEST_P(CallsTest, AConnectionMoreOnABusyLink) { ExpectMoreOnABusyLink(options_); }

TEST_P(CallsTest, AConnectionMoreOnABusyLinkThatDoesNotCombine) {
  Options options = options_;
  options.coalesce = false;
  ExpectMoreOnABusyLink(options);
}

TEST_P(CallsTest, ErrorsOfHandlersAreTheCallers) {
  Served served(options_);
  Client client(options_);
  const auto connection = client.Connect(served.address(), kSoon).value();
  EXPECT_EQ(connection->Call(kRefuse, "", kSoon).status(), absl::NotFoundError("no such thing"));
  EXPECT_TRUE(absl::IsInternal(connection->Call(kForget, "", kSoon).status()));
  EXPECT_TRUE(absl::IsUnimplemented(connection->Call(4711, "", kSoon).status()));
  EXPECT_EQ(connection->Call(kEcho, "still well", kSoon).value(), "still well");
}

TEST_P(CallsTest, WhatIsTooLargeIsRefused) {
  Served served(options_);
  Client client(options_);
  const auto connection = client.Connect(served.address(), kSoon).value();
  const absl::Status request = connection->Call(kEcho, std::string(1 << 20, 'x'), kSoon).status();
  EXPECT_TRUE(absl::IsResourceExhausted(request)) << request;
  EXPECT_THAT(request.message(), HasSubstr("bytes"));
  const absl::Status reply = connection->Call(kMegabyte, "", kSoon).status();
  EXPECT_TRUE(absl::IsResourceExhausted(reply)) << reply;
  EXPECT_EQ(connection->Call(kEcho, "still well", kSoon).value(), "still well");
}

TEST_P(CallsTest, ACallWithoutAReplyEndsInTime) {
  Served served(options_);
  Client client(options_);
  const auto connection = client.Connect(served.address(), kSoon).value();
  EXPECT_TRUE(absl::IsDeadlineExceeded(connection->Call(kKeep, "", absl::Milliseconds(20)).status()));
  EXPECT_EQ(connection->Call(kEcho, "others go on", kSoon).value(), "others go on");
  served.AwaitKept(1);
  served.ReleaseKept();  // late: dropped
  EXPECT_EQ(connection->Call(kEcho, "still well", kSoon).value(), "still well");
}

TEST_P(CallsTest, NoMoreAreUnderWayThanTheServerTakes) {
  Options options = options_;
  options.max_calls = 2;
  Served served(options);
  Client client(options_);
  const auto connection = client.Connect(served.address(), kSoon).value();
  PendingCall kept[2];
  for (PendingCall& call : kept) connection->Start(call, kKeep, "");
  served.AwaitKept(2);
  EXPECT_TRUE(absl::IsResourceExhausted(connection->Call(kEcho, "", kSoon).status()));
  EXPECT_TRUE(absl::IsDeadlineExceeded(connection->Wait(kept[0], absl::Milliseconds(5))));
  // Nobody waits for it any more, but the server has it still.
  EXPECT_TRUE(absl::IsResourceExhausted(connection->Call(kEcho, "", kSoon).status()));
  served.ReleaseKept();
  EXPECT_EQ(connection->Wait(kept[1], kSoon), absl::OkStatus());
  EXPECT_EQ(connection->Call(kEcho, "free again", kSoon).value(), "free again");
}

TEST_P(CallsTest, TheEndOfTheServerIsTheirs) {
  auto served = std::make_unique<Served>(options_);
  Client client(options_);
  const auto connection = client.Connect(served->address(), kSoon).value();
  PendingCall call;
  connection->Start(call, kKeep, "");
  std::thread ends([&] {
    served->AwaitKept(1);
    served.reset();
  });
  EXPECT_TRUE(absl::IsUnavailable(connection->Wait(call, kSoon)));
  EXPECT_TRUE(absl::IsUnavailable(connection->Call(kEcho, "", kSoon).status()));
  EXPECT_TRUE(absl::IsUnavailable(connection->error()));
  ends.join();
}

TEST_P(CallsTest, MoreThanTheRingHoldsWaitForSpace) {
  Options options = options_;
  options.ring_bytes = 1 << 16;
  Served served(options);
  Client client(options);
  const auto connection = client.Connect(served.address(), kSoon).value();
  PendingCall calls[64];
  const std::string text(10'000, 't');
  for (PendingCall& call : calls) connection->Start(call, kEcho, text);
  for (PendingCall& call : calls) {
    ASSERT_EQ(connection->Wait(call, kSoon), absl::OkStatus());
    ASSERT_EQ(call.reply(), text);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, CallsTest, testing::Values(WaitMode::kPoll, WaitMode::kHybrid, WaitMode::kBlock), [](const auto& info) {
      return std::string(info.param == WaitMode::kPoll ? "poll" : info.param == WaitMode::kHybrid ? "hybrid" : "block");
    });

TEST(ConnectTest, SaysWhyNot) {
  Client client({});
  EXPECT_TRUE(absl::IsUnavailable(client.Connect("127.0.0.1:1", kSoon).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(client.Connect("nowhere", kSoon).status()));
  Options without;
  without.shm.enabled = false;
  without.rdma.enabled = false;
  Served served(without);
  const absl::Status refused = client.Connect(served.address(), kSoon).status();
  EXPECT_TRUE(absl::IsUnavailable(refused));
  EXPECT_THAT(refused.message(), HasSubstr("skein.shm"));
}

}  // namespace
}  // namespace skein::rpc
