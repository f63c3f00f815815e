// What a Stream promises when large payloads are left for the peer to pull.
#include <deque>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/channel/ring/ring_writer.h"
#include "core/link/blocks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/forwarding_device.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::stream {
namespace {

constexpr size_t kLarge = 64 << 10;
constexpr size_t kSlab = link::Blocks::kBlockBytes * link::Blocks::kSlabBlocks;

StreamOptions Pulling(size_t window_bytes = 1 << 20) { return {.window_bytes = window_bytes, .large_payload = kLarge}; }

class LargePayloadTest : public testing::TestWithParam<FabricKindUnderTest> {
 protected:
  // One event of the network, or, where there is no such thing, one look by either end.
  static void Step(TwoEnds& ends) {
    if (ends.simulation != nullptr) ends.simulation->Step();
    ends.server_waiter.PollAll();
    ends.client_waiter.PollAll();
  }
};

// Writes pieces of any size for as long as there is space, reading meanwhile.
std::string TransferPieces(TwoEnds& ends, Stream& from, Stream& to, absl::string_view text) {
  std::mt19937 random(7);
  std::string received;
  for (size_t sent = 0, stuck = 0; received.size() < text.size() && stuck < 10; ++stuck) {
    for (size_t taken = 1; taken > 0 && sent < text.size(); sent += taken) {
      const size_t size = random() % 3 == 0 ? 50'000 + random() % 300'000 : 1 + random() % 3000;
      taken = WriteText(from, text.substr(sent, size)).value();
      if (taken > 0) stuck = 0;
    }
    ends.Pump();
    received += ReadAll(to).first;
  }
  return received;
}

// The client writes it, closes and leaves at once; what the server reads then, and what ends it.
std::pair<std::string, absl::Status> SendAndLeave(TwoEnds& ends, TwoEnds::Pair& pair, absl::string_view text) {
  EXPECT_EQ(WriteText(*pair.client, text).value(), text.size());
  pair.client->CloseWrite();
  pair.client = nullptr;
  ends.Pump();
  return ReadAll(*pair.server);
}

TEST_P(LargePayloadTest, SmallAndLargeKeepTheirOrder) {
  TwoEnds ends(GetParam(), Pulling());
  auto pair = ends.Connect();
  ASSERT_NE(pair.client, nullptr);
  const std::string text = RandomText(5'000'000, 1);
  EXPECT_TRUE(TransferPieces(ends, *pair.client, *pair.server, text) == text);
  EXPECT_TRUE(TransferPieces(ends, *pair.server, *pair.client, text) == text);
}

// By turns two bytes by the ring and a few to be pulled, of which some fill no chunk and some more than is left of one.
std::vector<Buffer> ReadTinyPieces(TwoEnds& ends, Stream& from, Stream& to, absl::string_view text) {
  constexpr size_t kSizes[] = {2, 3, 2, 255};
  for (size_t sent = 0, piece = 0; sent < text.size();) {
    const absl::string_view next = text.substr(sent, kSizes[piece++ % std::size(kSizes)]);
    sent += WriteText(from, next).value();
    if (piece % 100 == 0) ends.Pump();
  }
  ends.Pump();
  std::vector<Buffer> read;
  EXPECT_TRUE(to.Read(text.size(), read).ok());
  return read;
}

TEST_P(LargePayloadTest, TinyPiecesOfBothKindsKeepTheirOrderAndShareMemory) {
  TwoEnds ends(GetParam(), {.window_bytes = 1 << 16, .large_payload = 3});
  auto pair = ends.Connect();
  ASSERT_NE(pair.client, nullptr);
  const std::string text = RandomText(10'000, 2);
  const std::vector<Buffer> read = ReadTinyPieces(ends, *pair.client, *pair.server, text);
  std::string received;
  for (const Buffer& buffer : read) received.append(reinterpret_cast<const char*>(buffer.data.get()), buffer.size);
  EXPECT_TRUE(received == text) << received.size() << " bytes";
  EXPECT_LT(read.size(), text.size() / 100);
}

TEST_P(LargePayloadTest, WhoClosesAndLeavesRightAfterIsReadToTheEnd) {
  TwoEnds ends(GetParam(), Pulling());
  auto pair = ends.Connect();
  const std::string text = RandomText(1'000'000, 3);
  const auto [received, end] = SendAndLeave(ends, pair, text);
  EXPECT_TRUE(received == text);
  EXPECT_EQ(end.code(), absl::StatusCode::kOutOfRange);
}

// Both sides are closed, and still the stream has not ended.
TEST_P(LargePayloadTest, WhatComesAfterBothHaveClosedIsReadToTheEnd) {
  TwoEnds ends(GetParam(), Pulling());
  auto pair = ends.Connect();
  pair.server->CloseWrite();
  ends.Pump();
  const std::string text = RandomText(1'000'000, 4);
  const auto [received, end] = SendAndLeave(ends, pair, text);
  EXPECT_TRUE(received == text);
  EXPECT_EQ(end.code(), absl::StatusCode::kOutOfRange);
  pair.server = nullptr;
  ends.Pump();
  EXPECT_EQ(ends.client_waiter.watched(), 0u) << "the link is left once all has been pulled";
}

TEST_P(LargePayloadTest, ReachedMeansPulled) {
  TwoEnds ends(GetParam(), Pulling());
  auto pair = ends.Connect();
  const std::string text = RandomText(200'000, 5);
  ASSERT_EQ(WriteText(*pair.client, text).value(), text.size());
  absl::Status reached = absl::UnknownError("not yet");
  pair.client->WhenReached([&](const absl::Status& status) { reached = status; });
  for (int i = 0; i < 5; ++i) {
    if (ends.simulation != nullptr) ends.simulation->RunUntilIdle();
    ends.client_waiter.PollAll();
  }
  EXPECT_TRUE(absl::IsUnknown(reached)) << reached;
  ends.Pump();
  EXPECT_TRUE(reached.ok()) << reached;
}

TEST_P(LargePayloadTest, AnAbortInTheMiddleGivesAllMemoryBack) {
  TwoEnds ends(GetParam(), Pulling());
  auto other = ends.Connect();
  const std::string text = RandomText(1'000'000, 6);
  for (int i = 0; i < 12; ++i) {  // three times what there is
    auto pair = ends.Connect();
    ASSERT_EQ(WriteText(*pair.client, text).value(), text.size());
    for (int step = 0; step < 10 * i; ++step) Step(ends);
    Stream& aborts = i % 2 == 0 ? *pair.client : *pair.server;
    Stream& hears = i % 2 == 0 ? *pair.server : *pair.client;
    aborts.Abort(absl::CancelledError("enough"));
    EXPECT_TRUE(absl::IsAborted(ReadAll(aborts).second));
    ends.Pump();
    EXPECT_TRUE(absl::IsAborted(ReadAll(hears).second));
  }
  EXPECT_TRUE(TransferPieces(ends, *other.client, *other.server, text) == text);
}

TEST_P(LargePayloadTest, WhatIsComingToAStreamThatWasDestroyedIsDropped) {
  TwoEnds ends(GetParam(), Pulling());
  auto other = ends.Connect();
  const std::string text = RandomText(1'000'000, 7);
  for (int i = 0; i < 12; ++i) {
    auto pair = ends.Connect();
    pair.server->CloseWrite();
    ASSERT_EQ(WriteText(*pair.client, text).value(), text.size());
    for (int step = 0; step < 10 * i; ++step) Step(ends);
    pair.server = nullptr;
    ends.Pump();
    // And so the window opens again.
    EXPECT_GT(WriteText(*pair.client, text).value(), text.size() / 2);
    pair.client->CloseWrite();
    ends.Pump();
  }
  EXPECT_TRUE(TransferPieces(ends, *other.client, *other.server, text) == text);
}

TEST_P(LargePayloadTest, TwoLargeOnesComeTogether) {
  TwoEnds ends(GetParam(), Pulling());
  auto first = ends.Connect();
  auto second = ends.Connect();
  const std::string text = RandomText(1'000'000, 9);
  ASSERT_EQ(WriteText(*first.client, text).value(), text.size());
  ASSERT_EQ(WriteText(*second.client, text).value(), text.size());
  std::string from_first;
  std::string from_second;
  size_t before = 0;  // of the first, when the second began to come
  for (int i = 0; i < 100'000 && from_second.size() < text.size(); ++i) {
    if (from_second.empty()) before = from_first.size();
    Step(ends);
    from_first += ReadAll(*first.server).first;
    from_second += ReadAll(*second.server).first;
  }
  EXPECT_TRUE(from_first == text);
  EXPECT_TRUE(from_second == text);
  if (ends.simulation != nullptr) {
    EXPECT_LT(before, text.size() / 4);
  }
}

// All that pull: a channel in shared memory carries large payloads itself.
std::vector<FabricKindUnderTest> FabricsThatPull() {
  std::vector<FabricKindUnderTest> kinds = FabricsUnderTest();
  std::erase(kinds, FabricKindUnderTest::kShm);
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Fabrics, LargePayloadTest, testing::ValuesIn(FabricsThatPull()),
                         [](const auto& info) { return NameOf(info.param); });

class LargePayloadOnSimTest : public testing::Test {
 protected:
  static constexpr FabricKindUnderTest kSim = FabricKindUnderTest::kSim;
};

TEST_F(LargePayloadOnSimTest, TheFirstBytesAreReadBeforeTheLastHaveCome) {
  TwoEnds ends(kSim, Pulling());
  auto pair = ends.Connect();
  const std::string text = RandomText(1'000'000, 2);
  ASSERT_EQ(WriteText(*pair.client, text).value(), text.size());
  std::string received;
  int reads = 0;
  while (received.size() < text.size() && ends.simulation->pending_events() > 0) {
    ends.simulation->Step();
    ends.server_waiter.PollAll();
    const std::string part = ReadAll(*pair.server).first;
    if (part.empty()) continue;
    ++reads;
    received += part;
    EXPECT_EQ(pair.server->Coming(), received.size() < text.size());
  }
  EXPECT_TRUE(received == text);
  EXPECT_GT(reads, 10);
}

// The half-close behind what never came is not reported: those bytes are missing.
TEST_F(LargePayloadOnSimTest, APeerThatDiesInTheMiddleIsNoEnd) {
  TwoEnds ends(kSim, Pulling());
  auto pair = ends.Connect();
  const std::string text = RandomText(1'000'000, 10);
  ASSERT_EQ(WriteText(*pair.client, text).value(), text.size());
  pair.client->CloseWrite();
  std::string received;
  while (received.empty()) {
    ASSERT_TRUE(ends.simulation->Step());
    ends.server_waiter.PollAll();
    received += ReadAll(*pair.server).first;
  }
  ASSERT_TRUE(pair.server->Coming());
  ends.simulation->KillDevice("client");
  for (int i = 0; i < 10; ++i) {
    ends.simulation->RunUntilIdle();
    ends.server_waiter.PollAll();
  }
  const auto [rest, end] = ReadAll(*pair.server);
  received += rest;
  EXPECT_LT(received.size(), text.size());
  EXPECT_TRUE(received == text.substr(0, received.size()));
  EXPECT_TRUE(absl::IsUnavailable(end)) << end;
  EXPECT_FALSE(pair.server->Coming());
}

// Of streams that together write more than there is memory for, each goes on when there is some again.
TEST_F(LargePayloadOnSimTest, WhoFindsNoMemoryWaitsForIt) {
  fabric::SimConfig config;
  config.max_allocated_bytes = (256 << 10) + kSlab;
  TwoEnds ends(kSim, {.link = {.ring_bytes = 64 << 10}, .window_bytes = 2 * kSlab, .large_payload = kLarge}, config);
  auto first = ends.Connect();
  auto second = ends.Connect();
  const std::string text = RandomText(kSlab + kSlab / 2, 8);
  EXPECT_EQ(WriteText(*first.client, text).value(), kSlab);
  EXPECT_EQ(WriteText(*second.client, text).value(), 0u);
  EXPECT_EQ(WriteText(*first.client, absl::string_view(text).substr(kSlab)).value(), 0u);
  ends.Pump();
  EXPECT_EQ(first.client_sees->writable, 1);
  EXPECT_EQ(second.client_sees->writable, 1);
  EXPECT_TRUE(ReadAll(*first.server).first == text.substr(0, kSlab));
  EXPECT_EQ(WriteText(*second.client, text).value(), kSlab);
  ends.Pump();
  EXPECT_TRUE(ReadAll(*second.server).first == text.substr(0, kSlab));
}

TEST_F(LargePayloadOnSimTest, WithoutMemoryForBlocksTheRingIsUsed) {
  fabric::SimConfig config;
  config.max_allocated_bytes = 512 << 10;
  TwoEnds ends(kSim, {.link = {.ring_bytes = 64 << 10}, .large_payload = kLarge}, config);
  auto pair = ends.Connect();
  ASSERT_NE(pair.client, nullptr);
  const std::string text = RandomText(1'000'000, 11);
  EXPECT_TRUE(TransferPieces(ends, *pair.client, *pair.server, text) == text);
}

// Without memory to pull into, there is no link: not one that fails at the first large message.
TEST_F(LargePayloadOnSimTest, WithoutMemoryToPullIntoThereIsNoStream) {
  fabric::SimConfig config;
  // The ring with its control line, and the staging buffer of the peer's.
  const uint64_t rings = (64 << 10) + wire::kControlBytes + channel::StagingBytes(64 << 10);
  config.max_allocated_bytes = rings + link::Blocks::kBlockBytes;
  TwoEnds ends(kSim, {.link = {.ring_bytes = 64 << 10}}, config);
  EXPECT_EQ(ends.Connect().client, nullptr);
}

// Has memory for all but the staging buffer of its peer's ring.
class WithoutStagingBuffers final : public fabric::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> Allocate(size_t bytes, uint32_t access) override {
    const bool staging = access == fabric::kLocalOnly && bytes == channel::StagingBytes(kRing);
    return staging ? absl::ResourceExhaustedError("no staging buffers") : ForwardingDevice::Allocate(bytes, access);
  }
  static constexpr size_t kRing = 64 << 10;
};

// It said yes, and lost the link as soon as the client had told its ring: a connection that failed each time, where TCP
// would have done.
TEST_F(LargePayloadOnSimTest, AServerWithoutMemoryToWriteFromSaysNo) {
  const StreamOptions options = {.link = {.ring_bytes = WithoutStagingBuffers::kRing}};
  TwoEnds ends(kSim, options);
  const auto device = std::make_shared<WithoutStagingBuffers>(ends.server_device);
  ends.listener = CreateListener(std::make_shared<connect::OneFabric>(device), options, &ends.server_waiter);
  const auto attempt = ends.connector->Begin({}).value();
  const Listener::Result result = ends.listener->Accept(attempt->offer(), {});
  EXPECT_EQ(result.outcome.stream, nullptr);
  const Outcome outcome = attempt->Complete(result.answer);
  EXPECT_EQ(outcome.stream, nullptr);
  EXPECT_EQ(outcome.why.code, FallbackCode::kResources);
  EXPECT_TRUE(outcome.both_know);
}

// Two writers and two readers at a time, each end polled by all who have something to do there.
TEST(LargePayloadThreadsTest, WritersAndReadersPollTogether) {
  TwoEnds ends(FabricKindUnderTest::kSim, Pulling());
  const std::string text = RandomText(8'000'000, 12);
  std::vector<TwoEnds::Pair> pairs = {ends.Connect(), ends.Connect()};
  std::vector<std::string> received(pairs.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < pairs.size(); ++i) {
    threads.emplace_back([&, i] {
      for (size_t sent = 0; sent < text.size();) {
        sent += WriteText(*pairs[i].client, absl::string_view(text).substr(sent)).value();
        ends.simulation->RunUntilIdle();
        pairs[i].client->Drain();
      }
    });
    threads.emplace_back([&, i] {
      while (received[i].size() < text.size()) {
        ends.simulation->RunUntilIdle();
        pairs[i].server->Drain();
        received[i] += ReadAll(*pairs[i].server).first;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& all : received) EXPECT_TRUE(all == text);
}

}  // namespace
}  // namespace skein::stream
