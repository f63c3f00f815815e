// Threads that block in streams, over shared memory in one process, in each way to wait.
#include "core/stream/blocking_stream.h"

#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "core/channel/shm/shm_transport.h"
#include "core/stream/connector.h"
#include "core/stream/thread_streams.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::stream {
namespace {

const absl::Duration kSoon = absl::Seconds(20);

ConstBytes BytesOf(absl::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }

// A process: its waiter, and either end of negotiations.
struct Process {
  explicit Process(WaitMode mode) : streams({mode, absl::Microseconds(50)}) {}
  const std::shared_ptr<connect::Fabrics> fabrics = std::make_shared<connect::OneFabric>(channel::OpenShm());
  ThreadStreams streams;
  const std::unique_ptr<Connector> connector = CreateConnector(fabrics, {}, &streams);
  const std::unique_ptr<Listener> listener = CreateListener(fabrics, {}, &streams);
};

// One end of a connection.
struct End {
  UniqueFd tcp;
  std::unique_ptr<BlockingStream> stream;

  // The peer sees what it would see of a process that died. The descriptor stays open as long as the stream, which
  // watches it: the number may be another file's otherwise.
  void EndTcp() { shutdown(tcp.get(), SHUT_RDWR); }

  absl::Status Write(absl::string_view text, absl::Duration timeout = kSoon) {
    const ConstBytes bytes = BytesOf(text);
    return stream->Write({&bytes, 1}, After(timeout));
  }
  // Waits for some; all that there is then.
  absl::StatusOr<std::string> Read(absl::Duration timeout = kSoon) {
    std::vector<Buffer> buffers;
    if (absl::Status status = stream->Read(1 << 20, buffers, After(timeout)); !status.ok()) return status;
    std::string text;
    for (const Buffer& buffer : buffers) text.append(reinterpret_cast<const char*>(buffer.data.get()), buffer.size);
    return text;
  }
  absl::StatusOr<std::string> ReadAll(size_t size) {
    std::string text;
    while (text.size() < size) {
      absl::StatusOr<std::string> more = Read();
      if (!more.ok()) return more;
      text += *more;
    }
    return text;
  }
};

class BlockingStreamTest : public testing::TestWithParam<WaitMode> {
 protected:
  struct Pair {
    End client;
    End server;
  };

  Pair Connect() {
    int sockets[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    Pair pair;
    pair.client.tcp = UniqueFd(sockets[0]);
    pair.server.tcp = UniqueFd(sockets[1]);
    const auto attempt = client_.connector->Begin({}).value();
    Listener::Result accepted = server_.listener->Accept(attempt->offer(), {});
    Outcome outcome = attempt->Complete(accepted.answer);
    EXPECT_NE(outcome.stream, nullptr) << ToString(outcome.why);
    pair.client.stream = client_.streams.Block(std::move(outcome.stream), sockets[0]);
    pair.server.stream = server_.streams.Block(std::move(accepted.outcome.stream), sockets[1]);
    return pair;
  }

  Process client_{GetParam()};
  Process server_{GetParam()};
};

TEST_P(BlockingStreamTest, ThreadsEchoOverOneLink) {
  constexpr int kThreads = 4;
  const int rounds = GetParam() == WaitMode::kPoll ? 200 : 2000;
  std::vector<Pair> pairs;
  for (int i = 0; i < kThreads; ++i) pairs.push_back(Connect());
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < rounds; ++n) {
        const absl::StatusOr<std::string> text = pairs[i].server.Read();
        if (!text.ok() || !pairs[i].server.Write(*text).ok()) return;
      }
    });
    threads.emplace_back([&, i] {
      for (int n = 0; n < rounds; ++n) {
        const std::string text = absl::StrCat("round ", n, " of ", i);
        ASSERT_TRUE(pairs[i].client.Write(text).ok());
        ASSERT_EQ(pairs[i].client.Read().value(), text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(BlockingStreamTest, MoreThanTheWindowIsWrittenAsItIsRead) {
  Pair pair = Connect();
  const std::string text(5'000'000, 'x');
  std::thread writer([&] { EXPECT_TRUE(pair.client.Write(text).ok()); });
  EXPECT_TRUE(pair.server.ReadAll(text.size()).value() == text);
  writer.join();
}

TEST_P(BlockingStreamTest, NothingInTimeIsSaidAndNothingIsLost) {
  Pair pair = Connect();
  EXPECT_EQ(pair.server.Read(absl::Milliseconds(20)).status().code(), absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(pair.client.Write("late").ok());
  EXPECT_EQ(pair.server.Read().value(), "late");
  EXPECT_EQ(pair.client.Write(std::string(3'000'000, 'x'), absl::Milliseconds(20)).code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_P(BlockingStreamTest, InterruptEndsReadsThatWaitAndThoseToCome) {
  Pair pair = Connect();
  std::thread reader([&] { EXPECT_EQ(pair.server.Read().status().code(), absl::StatusCode::kCancelled); });
  pair.server.stream->Interrupt();
  reader.join();
  ASSERT_TRUE(pair.client.Write("too late").ok());
  EXPECT_EQ(pair.server.Read().status().code(), absl::StatusCode::kCancelled);
}

TEST_P(BlockingStreamTest, TheEndIsReadAfterTheLastWords) {
  Pair pair = Connect();
  std::thread reader([&] {
    EXPECT_EQ(pair.server.Read().value(), "last");
    EXPECT_EQ(pair.server.Read().status().code(), absl::StatusCode::kOutOfRange);
  });
  ASSERT_TRUE(pair.client.Write("last").ok());
  pair.client.stream->Close(After(kSoon));
  pair.client.stream = nullptr;
  reader.join();
}

TEST_P(BlockingStreamTest, WhoLosesItsTcpConnectionHasGone) {
  Pair pair = Connect();
  ASSERT_TRUE(pair.client.stream->AwaitReached(After(kSoon)).ok());
  ASSERT_TRUE(pair.client.Write("last").ok());
  std::thread reader([&] {
    EXPECT_EQ(pair.server.Read().value(), "last");
    EXPECT_EQ(pair.server.Read().status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(pair.server.Write(std::string(3'000'000, 'x')).code(), absl::StatusCode::kUnavailable);
  });
  pair.client.EndTcp();
  reader.join();
}

// As over TCP the first write behind a close may be lost, and so is another one while the background thread, in the
// midst of a poll, has no processor. The TCP connection stays open here.
TEST_P(BlockingStreamTest, WritesFailSoonAfterThePeersClose) {
  Pair pair = Connect();
  ASSERT_TRUE(pair.client.Write("call").ok());
  ASSERT_EQ(pair.server.Read().value(), "call");
  ASSERT_TRUE(pair.server.Write("last").ok());
  pair.server.stream->Close(After(kSoon));
  pair.server.stream = nullptr;
  const Deadline end = After(kSoon);
  absl::Status status;
  while (status.ok() && Clock::now() < end) status = pair.client.Write("x");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  const std::string text = "x";
  const ConstBytes bytes = BytesOf(text);
  EXPECT_EQ(pair.client.stream->TryWrite({&bytes, 1}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(pair.client.Read().value(), "last");
  EXPECT_EQ(pair.client.Read().status().code(), absl::StatusCode::kOutOfRange);
}

TEST_P(BlockingStreamTest, WritesFailSoonAfterThePeersDeathThoughNobodyReads) {
  Pair pair = Connect();
  ASSERT_TRUE(pair.client.Write("call").ok());
  ASSERT_EQ(pair.server.Read().value(), "call");
  pair.server.EndTcp();
  const Deadline end = After(kSoon);
  absl::Status status;
  while (status.ok() && Clock::now() < end) status = pair.client.Write("x");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
}

// As one-way calls do to a server that is busy with the first: nobody polls at its end.
TEST_P(BlockingStreamTest, ManySmallWritesDoNotWaitForTheReader) {
  Pair pair = Connect();
  ASSERT_TRUE(pair.client.Write("x").ok());
  ASSERT_EQ(pair.server.Read().value(), "x");
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(pair.client.Write("y").ok());
  EXPECT_EQ(pair.server.ReadAll(1000).value(), std::string(1000, 'y'));
}

TEST_P(BlockingStreamTest, WhatWasSentIsKnownToHaveArrived) {
  Pair pair = Connect();
  ASSERT_TRUE(pair.client.Write("here").ok());
  EXPECT_TRUE(pair.client.stream->AwaitReached(After(kSoon)).ok());
  EXPECT_EQ(pair.server.Read().value(), "here");
}

INSTANTIATE_TEST_SUITE_P(Modes, BlockingStreamTest,
                         testing::Values(WaitMode::kPoll, WaitMode::kHybrid, WaitMode::kBlock), [](const auto& info) {
                           return std::string(info.param == WaitMode::kPoll     ? "poll"
                                              : info.param == WaitMode::kHybrid ? "hybrid"
                                                                                : "block");
                         });

}  // namespace
}  // namespace skein::stream
