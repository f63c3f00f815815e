// A server's memory in its clients' hands: read, written and counted in by themselves, within its bounds.
#include <skein/rpc.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/descriptor_limit.h"
#include "tests/unit/rpc/served.h"

namespace skein::rpc {
namespace {

constexpr uint32_t kAll = kRemoteRead | kRemoteWrite;

class MemoryTest : public testing::TestWithParam<bool> {
 protected:
  MemoryTest() {
    const uint32_t atomics = GetParam() ? kServerAtomic : kRemoteAtomic;
    memory_ = served_.server().Attach(7, 1 << 16, kAll | atomics).value();
    sealed_ = served_.server().Attach(8, 4096, 0).value();
    connection_ = client_.Connect(served_.address(), kSoon).value();
    region_ = connection_->Attach(7, kSoon).value();
  }

  Served served_{Options()};
  Client client_{Options()};
  absl::Span<std::byte> memory_;
  absl::Span<std::byte> sealed_;
  std::unique_ptr<Connection> connection_;
  RemoteRegion region_;
};

TEST_P(MemoryTest, IsReadAndWritten) {
  EXPECT_EQ(region_.size, memory_.size());
  std::vector<std::byte> bytes(40'000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  ASSERT_EQ(connection_->Write(region_, 100, bytes), absl::OkStatus());
  EXPECT_EQ(std::memcmp(memory_.data() + 100, bytes.data(), bytes.size()), 0);
  std::vector<std::byte> read(bytes.size());
  ASSERT_EQ(connection_->Read(region_, 100, absl::MakeSpan(read)), absl::OkStatus());
  EXPECT_EQ(read, bytes);
}

TEST_P(MemoryTest, IsCountedInByManyThreads) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this] {
      for (int i = 0; i < 200; ++i) ASSERT_TRUE(connection_->FetchAdd(region_, 8, 2).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(connection_->CompareSwap(region_, 8, 1600, 5).value(), 1600u);
  EXPECT_EQ(connection_->CompareSwap(region_, 8, 1600, 6).value(), 5u) << "not what was expected: left alone";
  EXPECT_EQ(connection_->FetchAdd(region_, 8, 0).value(), 5u);
}

TEST_P(MemoryTest, HasBounds) {
  std::byte bytes[16];
  EXPECT_EQ(connection_->Read(region_, (1 << 16) - 16, absl::MakeSpan(bytes)), absl::OkStatus());
  EXPECT_TRUE(absl::IsOutOfRange(connection_->Read(region_, (1 << 16) - 15, absl::MakeSpan(bytes))));
  EXPECT_TRUE(absl::IsOutOfRange(connection_->Write(region_, UINT64_MAX - 3, bytes)));
  EXPECT_TRUE(absl::IsOutOfRange(connection_->FetchAdd(region_, 1 << 16, 1).status()));
  EXPECT_TRUE(absl::IsOutOfRange(connection_->FetchAdd(region_, 4, 1).status()));
  EXPECT_EQ(connection_->Call(kEcho, "still well", kSoon).value(), "still well");
}

// Of one process, and so on one link: what the server has passed is passed.
TEST_P(MemoryTest, IsAttachedByEachConnection) {
  const std::unique_ptr<Connection> another = client_.Connect(served_.address(), kSoon).value();
  const RemoteRegion region = another->Attach(7, kSoon).value();
  const std::byte byte{7};
  EXPECT_EQ(another->Write(region, 5, {&byte, 1}), absl::OkStatus());
  std::byte read{};
  EXPECT_EQ(connection_->Read(region_, 5, {&read, 1}), absl::OkStatus());
  EXPECT_EQ(read, byte);
}

// A peer maps 64, and one is attached already.
TEST_P(MemoryTest, BeyondWhatAClientTakesIsRefusedAndCallsGoOn) {
  constexpr uint32_t kFirst = 100;
  constexpr uint32_t kLast = kFirst + 63;
  for (uint32_t number = kFirst; number <= kLast; ++number) {
    ASSERT_TRUE(served_.server().Attach(number, 4096, kAll).ok());
    if (number == kLast) break;
    ASSERT_TRUE(connection_->Attach(number, kSoon).ok()) << number;
  }
  const absl::Status refused = connection_->Attach(kLast, kSoon).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(connection_->Call(kEcho, "still well", kSoon).value(), "still well");
  std::byte byte{};
  EXPECT_EQ(connection_->Read(region_, 0, {&byte, 1}), absl::OkStatus());
}

TEST_P(MemoryTest, IsUsedAsAllowed) {
  const RemoteRegion sealed = connection_->Attach(8, kSoon).value();
  std::byte bytes[8] = {};
  EXPECT_TRUE(absl::IsPermissionDenied(connection_->Read(sealed, 0, absl::MakeSpan(bytes))));
  EXPECT_TRUE(absl::IsPermissionDenied(connection_->Write(sealed, 0, bytes)));
  EXPECT_TRUE(absl::IsPermissionDenied(connection_->FetchAdd(sealed, 0, 1).status()));
  EXPECT_TRUE(absl::IsNotFound(connection_->Attach(9, kSoon).status()));
  // Who lies about what it was told ends its own link.
  RemoteRegion forged = sealed;
  forged.access = kAll;
  EXPECT_TRUE(absl::IsUnavailable(connection_->Write(forged, 0, bytes)));
  EXPECT_TRUE(absl::IsUnavailable(connection_->Call(kEcho, "", kSoon).status()));
}

INSTANTIATE_TEST_SUITE_P(Atomics, MemoryTest, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "by_server" : "by_device"); });

// No call is under way, and nobody polls.
TEST(MemoryOfAServer, IsUsedNoMoreOnceTheServerHasClosed) {
  auto served = std::make_unique<Served>(Options());
  ASSERT_TRUE(served->server().Attach(7, 4096, kAll | kRemoteAtomic).ok());
  Client client{Options()};
  const std::unique_ptr<Connection> connection = client.Connect(served->address(), kSoon).value();
  const RemoteRegion region = connection->Attach(7, kSoon).value();
  EXPECT_EQ(connection->FetchAdd(region, 0, 1).value(), 0u);
  served = nullptr;
  const absl::Status gone = connection->FetchAdd(region, 0, 1).status();
  EXPECT_TRUE(absl::IsUnavailable(gone)) << gone;
}

TEST(MemoryOfAServer, ForWhichNoDescriptorIsLeftEndsTheConnectionAndSaysWhatToDo) {
  if (kSanitizerNeedsDescriptors) GTEST_SKIP() << "a sanitizer needs them";
  Served served{Options()};
  ASSERT_TRUE(served.server().Attach(7, 4096, kAll).ok());
  Client client{Options()};
  std::byte byte{};
  absl::Status status;
  // Another thread may close a descriptor just then, and the memory takes its number.
  for (int times = 0; times < 20 && status.ok(); ++times) {
    const std::unique_ptr<Connection> connection = client.Connect(served.address(), kSoon).value();
    const DescriptorLimit limit(0);
    const absl::StatusOr<RemoteRegion> region = connection->Attach(7, kSoon);
    status = region.ok() ? connection->Read(*region, 0, {&byte, 1}) : region.status();
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("ulimit -n"));
}

// A handler may keep a Reply, and with it the link, for longer than the server lives.
TEST(MemoryOfAServer, IsUsedNoMoreThoughAHandlerKeepsItsReply) {
  std::optional<Reply> kept;
  auto server = std::make_unique<Server>(Options());
  ASSERT_TRUE(server->Handle(kKeep, [&](absl::string_view, Reply reply) { kept.emplace(std::move(reply)); }).ok());
  ASSERT_TRUE(server->Attach(7, 4096, kAll | kRemoteAtomic).ok());
  const std::string address = server->Listen("127.0.0.1:0").value();
  std::thread serving([&] { EXPECT_TRUE(server->Serve().ok()); });
  Client client{Options()};
  const std::unique_ptr<Connection> connection = client.Connect(address, kSoon).value();
  PendingCall call;
  connection->Start(call, kKeep, "");
  const RemoteRegion region = connection->Attach(7, kSoon).value();  // answered behind that call
  EXPECT_EQ(connection->FetchAdd(region, 0, 1).value(), 0u);
  server->Stop();
  serving.join();
  server = nullptr;
  ASSERT_TRUE(kept.has_value());
  const absl::Status gone = connection->FetchAdd(region, 0, 1).status();
  EXPECT_TRUE(absl::IsUnavailable(gone)) << gone;
}

}  // namespace
}  // namespace skein::rpc
