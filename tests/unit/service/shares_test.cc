// What of the shared queue pair one may fill: by itself, and with two skeinds over the simulation.
#include "core/service/shares.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/hooked_device.h"
#include "tests/unit/service/two_hosts.h"

namespace skein::service {
namespace {

constexpr uint64_t kRequests = 64;
constexpr uint64_t kBytes = 1 << 20;
constexpr uint64_t kLong = 16 << 10;

// A line of requests, of which the first one ends first.
class Line {
 public:
  using Process = std::shared_ptr<Shares::Process>;

  Process Of(uid_t user, int session) { return shares_.Of(user, SessionNumbered(session)); }
  bool Post(const Process& process, uint64_t bytes) {
    if (!shares_.Allows(*process, bytes)) return false;
    shares_.Posted(*process, bytes);
    under_way_.emplace_back(process, bytes);
    bytes_ += bytes;
    return true;
  }
  // As many as it may.
  int Flood(const Process& process, uint64_t bytes = kLong) {
    int posted = 0;
    while (Post(process, bytes)) ++posted;
    return posted;
  }
  Process End() {
    const auto [process, bytes] = under_way_.front();
    under_way_.pop_front();
    shares_.Ended(*process, bytes);
    bytes_ -= bytes;
    return process;
  }
  uint64_t bytes() const { return bytes_; }
  size_t requests() const { return under_way_.size(); }

 private:
  Shares shares_{kRequests, kBytes};
  std::deque<std::pair<Process, uint64_t>> under_way_;
  uint64_t bytes_ = 0;
};

TEST(Shares, OneThatIsAloneHasAll) {
  Line line;
  EXPECT_EQ(line.Flood(line.Of(1, 1)), 64);
  EXPECT_EQ(line.bytes(), kBytes);
  Line of_small;
  EXPECT_EQ(of_small.Flood(of_small.Of(1, 1), 8), 64);
  Line of_long;
  EXPECT_EQ(of_long.Flood(of_long.Of(1, 1), 4 * kBytes), 1) << "one goes whatever its length";
}

TEST(Shares, OneThatSendsLittleWaitsForNoMoreThanItsPartOfTheLine) {
  Line line;
  const auto floods = line.Of(1, 1);
  const auto sends = line.Of(2, 2);
  line.Flood(floods);
  ASSERT_TRUE(line.Post(sends, 64));
  for (int round = 0; round < 500; ++round) {
    while (line.End() != sends) line.Flood(floods);
    line.Flood(floods);
    EXPECT_LE(line.bytes(), kBytes / 2) << round;
    EXPECT_LE(line.requests(), kRequests / 2) << round;
    ASSERT_TRUE(line.Post(sends, 64));
  }
}

TEST(Shares, OfAUserAreSharedByItsProcesses) {
  Line line;
  std::vector<Line::Process> floods;
  for (int i = 0; i < 8; ++i) floods.push_back(line.Of(1, i + 1));
  const auto sends = line.Of(2, 100);
  ASSERT_TRUE(line.Post(sends, 64));
  for (const auto& each : floods) line.Post(each, kLong);
  const auto flood = [&] {
    for (const auto& each : floods) line.Flood(each);
  };
  for (int round = 0; round < 200; ++round) {
    while (line.End() != sends) flood();
    flood();
    EXPECT_LE(line.bytes(), kBytes / 2 + 64) << "they have one user's part, however many they are";
    ASSERT_TRUE(line.Post(sends, 64));
  }
  for (const auto& each : floods) {
    uint64_t ended = 0;
    while (line.requests() > 0 && line.End() != each) ++ended;
    EXPECT_LT(ended, kRequests / 2) << "each has a part";
    flood();
  }
}

TEST(Shares, OfWhoeverHasLeftAreTheOthers) {
  Line line;
  const auto floods = line.Of(1, 1);
  ASSERT_TRUE(line.Post(line.Of(2, 2), 64));
  line.Flood(floods);
  EXPECT_LE(line.bytes(), kBytes / 2 + 64);
  for (int i = 0; i < 4096; ++i) {
    line.End();
    line.Flood(floods);
  }
  EXPECT_EQ(line.bytes(), kBytes);
}

// Another user's process; only root has one.
std::unique_ptr<Process> ProcessOf(uid_t user, const SkeindHost& host) {
  std::unique_ptr<Process> process;
  std::thread([&] {
    // glibc's would change all threads' user.
    if (syscall(SYS_setresuid, -1, user, -1) == 0) process = std::make_unique<Process>(host);
  }).join();
  return process;
}

class SharedLine : public ::testing::Test {
 protected:
  // What has been posted when a request of 64 bytes was, all together.
  void Posting(absl::Span<const fabric::SendRequest> batch) {
    for (const fabric::SendRequest& request : batch) {
      const uint64_t bytes = request.local.empty() ? 0 : request.local[0].size;
      if (bytes == 64) ahead_ = posted_.load();
      posted_ += bytes;
    }
  }

  fabric::Simulation simulation_{20261129, {}};
  SkeindHost one_{simulation_, std::make_shared<fabric::HookedDevice>(
                                   simulation_.CreateDevice("one"),
                                   fabric::Hooks{.posting = [this](auto batch) { Posting(batch); }})};
  SkeindHost other_{simulation_, "other"};
  std::atomic<uint64_t> posted_ = 0;
  std::atomic<uint64_t> ahead_ = 0;
};

TEST_F(SharedLine, AUserThatFloodsAndOneThatSends64Bytes) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, for processes of two users";
  std::filesystem::permissions(one_.folder(), std::filesystem::perms(0755));
  const auto floods = ProcessOf(65534, one_);
  ASSERT_NE(floods, nullptr);
  Process sends(one_);
  Process sink(other_);
  const auto flood = NewPair(*floods);
  const auto flood_sink = NewPair(sink);
  const auto pair = NewPair(sends);
  const auto pair_sink = NewPair(sink);
  ASSERT_EQ(Connect(*flood, *flood_sink), absl::OkStatus());
  ASSERT_EQ(Connect(*pair, *pair_sink), absl::OkStatus());
  constexpr size_t kFlood = 256 << 10;
  const auto from = floods->device->Allocate(kFlood, 0).value();
  const auto to = sink.device->Allocate(kFlood, kAllAccess).value();
  const fabric::Segment segment = {from->bytes().data(), kFlood, from->lkey()};
  fabric::SendRequest longs;
  longs.opcode = fabric::Opcode::kWrite;
  longs.local = {&segment, 1};
  longs.remote = to->remote();
  one_.HoldTime(true);
  other_.HoldTime(true);
  for (int i = 0; i < 64; ++i) {
    longs.signaled = i == 63;
    ASSERT_EQ(flood->PostSend({&longs, 1}), absl::OkStatus());
  }
  Settle(one_, other_);
  const fabric::Segment few = {sends.memory->bytes().data(), 64, sends.memory->lkey()};
  fabric::SendRequest write = sends.Write(sink.memory->remote(), 1);
  write.local = {&few, 1};
  ASSERT_EQ(pair->PostSend({&write, 1}), absl::OkStatus());
  Settle(one_, other_);
  EXPECT_EQ(ahead_, TrunkRequests::kBytes) << "it is on the line, behind what was there";
  one_.HoldTime(false);
  other_.HoldTime(false);
  EXPECT_EQ(Take(*sends.completions, 1).at(0).status, fabric::CompletionStatus::kSuccess);
  // All that was silent goes on, too.
  EXPECT_EQ(Take(*floods->completions, 1).at(0).status, fabric::CompletionStatus::kSuccess);
  EXPECT_EQ(posted_, 64 * kFlood + 64);
}

}  // namespace
}  // namespace skein::service
