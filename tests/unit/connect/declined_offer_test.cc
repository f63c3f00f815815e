// An offer of a way that the asked end does not have: both ends say one reason, each in words that are true there.
#include <memory>
#include <utility>
#include <vector>

#include "core/connect/fabrics.h"
#include "core/fabric/sim/simulation.h"
#include "core/stream/connector.h"
#include "gtest/gtest.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::connect {
namespace {

class None final : public Fabrics {
 public:
  explicit None(Fallback why) : why_(std::move(why)) {}
  std::vector<Candidate> For(const Route&) override { return {{"sim", nullptr, why_}}; }
  absl::Status CheckPeer(const Route&, absl::string_view, absl::string_view) override { return absl::OkStatus(); }
  void Failed(const Route&, absl::string_view) override {}

 private:
  const Fallback why_;
};

struct Reasons {
  std::string at_server;
  std::string at_client;
};

class DeclinedOfferTest : public testing::Test {
 protected:
  Reasons WhenTheServerHasNone(Fallback why) {
    const auto connector =
        stream::CreateConnector(std::make_shared<OneFabric>(simulation_.CreateDevice("here")), {}, &waiter_);
    const auto listener = stream::CreateListener(std::make_shared<None>(std::move(why)), {}, &waiter_);
    const auto attempt = connector->Begin({}).value();
    const stream::Listener::Result result = listener->Accept(attempt->offer(), {});
    return {ToString(result.outcome.why), ToString(attempt->Complete(result.answer).why)};
  }

  fabric::Simulation simulation_{20261126};
  stream::ManualWaiter waiter_;
};

// The client took such a reason for its own.
TEST_F(DeclinedOfferTest, WhatTheServerLacksIsSaidToBeTheServers) {
  const Reasons no_device = WhenTheServerHasNone({FallbackCode::kNoRdma, "no device"});
  EXPECT_EQ(no_device.at_server, "no RDMA here (no device)");
  EXPECT_EQ(no_device.at_client, "no RDMA here (the server's: no device)");
  EXPECT_EQ(WhenTheServerHasNone({FallbackCode::kFabricOff, "skein.shm"}).at_client,
            "switched off (the server's: skein.shm)");
}

TEST_F(DeclinedOfferTest, WhatIsTrueAtBothEndsIsSaidInTheSameWords) {
  const Reasons remote = WhenTheServerHasNone({FallbackCode::kRemotePeer, {}});
  EXPECT_EQ(remote.at_server, "peer's address is not of this host");
  EXPECT_EQ(remote.at_client, remote.at_server);
}

}  // namespace
}  // namespace skein::connect
