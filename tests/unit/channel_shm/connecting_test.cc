// What the two ends of a channel check before they have one, and what it costs them.
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/fallback.h"
#include "core/channel/shm/pages.h"
#include "tests/support/refused_shm_calls.h"
#include "tests/unit/channel_shm/two_channels.h"

namespace skein::channel::shm {
namespace {

using ::testing::HasSubstr;

FallbackCode CodeOf(const absl::Status& status) { return FallbackOf(status).code; }

// Shared memory of channels that this process has mapped, as the kernel counts it: of two mappings of one page, half.
size_t SharedKilobytes() {
  std::ifstream maps("/proc/self/smaps");
  size_t kilobytes = 0;
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    // A mapping's first line begins with its address, the others with a name.
    if (absl::ascii_isxdigit(line[0]) && !absl::ascii_isupper(line[0])) {
      ours = absl::StrContains(line, "memfd:skein-channel");
    }
    size_t value = 0;
    if (ours && std::sscanf(line.c_str(), "Pss: %zu kB", &value) == 1) kilobytes += value;
  }
  return kilobytes;
}

// What an older Skein offers for core/rpc, and answers to what this one offers: both go on without shared memory.
TEST(ShmConnecting, AnOfferOfAQueuePairIsOfAnotherVersion) {
  ShmEnd active;
  ShmEnd passive;
  std::string offer = active.channel->Offer().value();
  EXPECT_EQ(offer[0], 4) << "which an older Skein answers with kVersion";
  offer[0] = 3;
  const absl::Status refused = passive.channel->Accept(offer).status();
  EXPECT_EQ(CodeOf(refused), FallbackCode::kVersion);
  EXPECT_THAT(refused.ToString(), HasSubstr("shm offer of version 3"));
}

TEST(ShmConnecting, ThePassiveSideSaysHowLargeBothQueuesAre) {
  ShmEnd active({}, {kRing});
  ShmEnd passive({}, {4 * kRing});
  ASSERT_TRUE(Connect(active, passive).ok());
  EXPECT_EQ(active.channel->capacity(), 4 * kRing);
  EXPECT_EQ(active.channel->LargestItem(), passive.channel->LargestItem());
  ASSERT_TRUE(active.Send(std::string(active.channel->LargestItem(), 'x')).ok());
  EXPECT_EQ(passive.Read().size(), active.channel->LargestItem());
}

TEST(ShmConnecting, SizesThatNoPeerHasAreRefused) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{kRing - 1}, uint64_t{kRing + 64}, 2 * wire::kMaxRingBytes}) {
    ShmEnd active;
    const RawPeer peer(active, size, SharedBytes(kRing));
    EXPECT_EQ(CodeOf(peer.completed), FallbackCode::kProtocol) << size;
  }
  ShmEnd active;
  const RawPeer peer(active, 2 * kRing, SharedBytes(kRing));
  EXPECT_EQ(CodeOf(peer.completed), FallbackCode::kRendezvous);
  EXPECT_THAT(peer.completed.ToString(), HasSubstr("the peer's memory has"));
  EXPECT_TRUE(active.transport->Usable().ok()) << "it was the peer's doing";
}

TEST(ShmConnecting, MorePeersMemoryThanIsAllowedIsNotMapped) {
  ShmOptions shm;
  shm.max_import_bytes = SharedBytes(kRing);
  ShmEnd active(shm);
  ShmEnd passive({}, {2 * kRing});
  const absl::Status refused = Connect(active, passive);
  EXPECT_EQ(CodeOf(refused), FallbackCode::kResources);
  ShmEnd another(shm);
  ShmEnd fits({}, {kRing});
  EXPECT_TRUE(Connect(another, fits).ok());
}

TEST(ShmConnecting, ImpossibleSizesOfThisEndAreRefused) {
  ShmEnd end;
  for (const size_t size : {size_t{0}, kRing + 1, size_t{2} << 30}) {
    EXPECT_TRUE(absl::IsInvalidArgument(end.group->Open({size}).status())) << size;
  }
}

TEST(ShmConnecting, AnIdlePairCostsKilobytesAndFourDescriptorsEach) {
  if (!CanReservePages()) GTEST_SKIP() << "the kernel reserves no pages of a mapping";
  ChannelOptions options;
  options.ring_bytes = size_t{1} << 20;
  const size_t memory_before = SharedKilobytes();
  const int before = OpenDescriptors();
  ShmEnd active({}, options);
  ShmEnd passive({}, options);
  ASSERT_TRUE(Connect(active, passive).ok());
  ASSERT_TRUE(active.Send("hello").ok());
  EXPECT_EQ(passive.Read(), "hello");
  EXPECT_EQ(active.Read(), "nothing");
  // The socket at which offers are met is the transport's, for all its channels.
  EXPECT_EQ(OpenDescriptors() - before - 1, 8);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(active.Send(std::string(1024, 'x')).ok());
    ASSERT_EQ(passive.Read().size(), 1024u);
    ASSERT_TRUE(passive.Send(std::string(1024, 'y')).ok());
    ASSERT_EQ(active.Read().size(), 1024u);
  }
  EXPECT_LE(SharedKilobytes() - memory_before, 64u);
}

TEST(ShmConnecting, WhatTheKernelRefusesMakesTheTransportUnusable) {
  ShmEnd active;
  ShmEnd passive;
  const std::string offer = active.channel->Offer().value();
  const Channel::Answer answer = passive.channel->Accept(offer).value();
  absl::Status refused;
  Refused({SYS_mmap, 3, MAP_SHARED}, ENOMEM, [&] { refused = active.channel->Complete(answer); });
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_FALSE(active.transport->Usable().ok());
  EXPECT_TRUE(passive.transport->Usable().ok());
}

}  // namespace
}  // namespace skein::channel::shm
