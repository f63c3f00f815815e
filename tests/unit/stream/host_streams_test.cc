// What connections share, and what they do not.
#include "core/stream/host_streams.h"

#include <netinet/in.h>

#include <utility>

#include "gtest/gtest.h"

namespace skein::stream {
namespace {

connect::Route ToAnotherHost() {
  connect::Route route;
  for (sockaddr_storage* address : {&route.local, &route.peer}) {
    auto& ip = reinterpret_cast<sockaddr_in&>(*address);
    ip.sin_family = AF_INET;
    ip.sin_addr.s_addr = htonl(address == &route.peer ? 0xc0000201 : 0xc0000202);  // 192.0.2.1, for documentation
  }
  return route;
}

Options With(Mode mode) {
  Options options;
  options.mode = mode;
  return options;
}

class HostStreamsTest : public testing::Test {
 protected:
  FallbackCode WhyNoRdma(const Options& options) {
    for (const connect::Candidate& candidate : streams_.For(options).fabrics->For(ToAnotherHost())) {
      if (candidate.kind == "rdma") return candidate.why_not.code;
    }
    return FallbackCode::kNone;
  }

  HostStreams streams_{nullptr};  // nothing is connected
};

TEST_F(HostStreamsTest, WhatMakesNoDifferenceToStreamsIsShared) {
  const Streams& streams = streams_.For(With(Mode::kPrefer));
  Options other = With(Mode::kRequire);
  other.rdma.retry_delay = absl::ZeroDuration();
  EXPECT_NE(&streams_.For(other), &streams);
  other = With(Mode::kPrefer);
  other.negotiation_timeout *= 2;
  other.negative_cache *= 2;
  EXPECT_EQ(&streams_.For(other), &streams);
}

TEST_F(HostStreamsTest, WhatMakesADifferenceIsNotShared) {
  const Streams& streams = streams_.For(With(Mode::kPrefer));
  const std::pair<const char*, const char*> kChanges[] = {
      {"large_payload", "131072"}, {"ring_bytes", "131072"}, {"window_bytes", "131072"},
      {"rdma_device", "mlx5_1"},   {"shm", "off"},           {"shm_links", "1"}};
  for (const auto& [name, value] : kChanges) {
    Options other = With(Mode::kPrefer);
    ASSERT_TRUE(SetOption(other, name, value).ok()) << name;
    EXPECT_NE(&streams_.For(other), &streams) << name;
  }
}

// A channel that falls back left RDMA alone for one that has nothing to fall back to.
TEST_F(HostStreamsTest, WhoRequiresSkeinTriesWhatFailedForOthers) {
  streams_.For(With(Mode::kPrefer)).fabrics->Failed(ToAnotherHost(), "rdma");
  EXPECT_EQ(WhyNoRdma(With(Mode::kPrefer)), FallbackCode::kSettling);
  EXPECT_NE(WhyNoRdma(With(Mode::kRequire)), FallbackCode::kSettling);
}

}  // namespace
}  // namespace skein::stream
