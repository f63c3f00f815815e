// What a peer says of its queue pair is judged by the route before the queue pair is connected, at either end.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/connect/host_fabrics.h"
#include "core/fabric/sim/simulation.h"
#include "core/fabric/verbs/offer.h"
#include "core/stream/connector.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/ip_address.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::connect {
namespace {

using testing::HasSubstr;

class Suspicious final : public Fabrics {
 public:
  explicit Suspicious(std::shared_ptr<fabric::Device> device) : device_(std::move(device)) {}
  std::vector<Candidate> For(const Route&) override {
    return {{"sim", std::make_shared<channel::RingTransport>(device_), {}}};
  }
  absl::Status CheckPeer(const Route& route, absl::string_view kind, absl::string_view queue_pair) override {
    EXPECT_EQ(route.peer.ss_family, AF_INET);
    EXPECT_EQ(kind, "sim");
    EXPECT_FALSE(queue_pair.empty());
    return FallbackError(FallbackCode::kNoRoute, "not this one");
  }
  void Failed(const Route&, absl::string_view) override {}

 private:
  const std::shared_ptr<fabric::Device> device_;
};

class CheckPeerTest : public testing::Test {
 protected:
  fabric::Simulation simulation_{20261121};
  const std::shared_ptr<fabric::Device> here_ = simulation_.CreateDevice("here");
  const std::shared_ptr<fabric::Device> there_ = simulation_.CreateDevice("there");
  const Route route_{Ip("10.9.0.1"), Ip("10.9.0.2")};
  const Route way_back_{route_.peer, route_.local};
  stream::ManualWaiter waiter_;
};

TEST_F(CheckPeerTest, TheListenerSaysNo) {
  const auto connector = stream::CreateConnector(std::make_shared<OneFabric>(here_), {}, &waiter_);
  const auto listener = stream::CreateListener(std::make_shared<Suspicious>(there_), {}, &waiter_);
  const auto attempt = connector->Begin(route_).value();
  const stream::Listener::Result result = listener->Accept(attempt->offer(), way_back_);
  EXPECT_EQ(result.outcome.stream, nullptr);
  EXPECT_EQ(ToString(result.outcome.why), "no RDMA route to the peer (not this one)");
  const stream::Outcome outcome = attempt->Complete(result.answer);
  EXPECT_TRUE(outcome.both_know);
  EXPECT_EQ(outcome.why.code, FallbackCode::kNoRoute);
}

TEST_F(CheckPeerTest, TheConnectorGivesUp) {
  const auto connector = stream::CreateConnector(std::make_shared<Suspicious>(here_), {}, &waiter_);
  const auto listener = stream::CreateListener(std::make_shared<OneFabric>(there_), {}, &waiter_);
  const auto attempt = connector->Begin(route_).value();
  const stream::Outcome outcome = attempt->Complete(listener->Accept(attempt->offer(), way_back_).answer);
  EXPECT_EQ(outcome.stream, nullptr);
  EXPECT_FALSE(outcome.both_know);
  EXPECT_EQ(ToString(outcome.why), "no RDMA route to the peer (not this one)");
}

// By one whose kernel refuses shared memory, and who has no RDMA either, or who has it.
TEST_F(CheckPeerTest, TheClientIsToldWhoseKernelRefusesWhateverElseIsSaid) {
  class Several final : public Fabrics {
   public:
    explicit Several(std::vector<Candidate> all) : all_(std::move(all)) {}
    std::vector<Candidate> For(const Route&) override { return all_; }
    absl::Status CheckPeer(const Route&, absl::string_view, absl::string_view) override { return absl::OkStatus(); }
    void Failed(const Route&, absl::string_view) override {}

   private:
    const std::vector<Candidate> all_;
  };
  const auto here = std::make_shared<channel::RingTransport>(here_);
  const auto connector = stream::CreateConnector(
      std::make_shared<Several>(std::vector<Candidate>{{"shm", here, {}}, {"sim", here, {}}}), {}, &waiter_);
  const auto why_at_both = [&](const Candidate& other) {
    const Candidate refused = {"shm", nullptr, {FallbackCode::kNotPermitted, "fstatfs"}};
    const auto listener =
        stream::CreateListener(std::make_shared<Several>(std::vector<Candidate>{refused, other}), {}, &waiter_);
    const auto attempt = connector->Begin(route_).value();
    const stream::Listener::Result result = listener->Accept(attempt->offer(), way_back_);
    return std::pair(ToString(result.outcome.why), ToString(attempt->Complete(result.answer).why));
  };
  EXPECT_THAT(why_at_both({"sim", nullptr, {FallbackCode::kNoRdma, "no port"}}),
              testing::Pair("no RDMA here (not permitted (fstatfs); no port)",
                            "no RDMA here (not permitted (the server's: fstatfs); the server's: no port)"));
  EXPECT_THAT(why_at_both({"sim", std::make_shared<channel::RingTransport>(there_), {}}),
              testing::Pair("not permitted (fstatfs)", "not permitted (the server's: fstatfs)"));
}

TEST_F(CheckPeerTest, RdmaMustComeFromThePeersAddressUnlessThePortIsNamed) {
  fabric::verbs::Offer offer;
  offer.address.mtu = 3;
  offer.address.number = 17;
  offer.address.gid = fabric::verbs::GidOf(Ip("10.9.0.3")).value();
  const std::string elsewhere = EncodeOffer(fabric::verbs::OfferKind::kOffer, offer);
  offer.address.gid = fabric::verbs::GidOf(route_.peer).value();
  const std::string from_peer = EncodeOffer(fabric::verbs::OfferKind::kAnswer, offer);
  RdmaOptions options;
  const auto by_address = CreateHostFabrics({}, options);
  EXPECT_TRUE(by_address->CheckPeer(route_, "rdma", from_peer).ok());
  EXPECT_THAT(by_address->CheckPeer(route_, "rdma", elsewhere).message(), HasSubstr("10.9.0.3"));
  EXPECT_TRUE(by_address->CheckPeer(route_, "shm", "bytes of its own").ok());
  options.device = "mlx5_0";
  EXPECT_TRUE(CreateHostFabrics({}, options)->CheckPeer(route_, "rdma", elsewhere).ok());
}

// By a proxy of TCP connections, which sees nothing of what goes past it, and ends what looks idle.
TEST_F(CheckPeerTest, AnOfferThatSomebodyHasPassedOnIsRefused) {
  const auto connector = stream::CreateConnector(std::make_shared<OneFabric>(here_), {}, &waiter_);
  const auto listener = stream::CreateListener(std::make_shared<OneFabric>(there_), {}, &waiter_);
  const auto attempt = connector->Begin(route_).value();
  const stream::Listener::Result result = listener->Accept(attempt->offer(), {route_.peer, Ip("10.9.0.3")});
  EXPECT_EQ(result.outcome.stream, nullptr);
  const stream::Outcome outcome = attempt->Complete(result.answer);
  EXPECT_TRUE(outcome.both_know);
  EXPECT_EQ(outcome.why.code, FallbackCode::kProxy);
}

TEST_F(CheckPeerTest, OrReachesAFabricThatItsUserHasNamed) {
  class Named final : public Fabrics {
   public:
    explicit Named(std::shared_ptr<fabric::Device> device) : device_(std::move(device)) {}
    std::vector<Candidate> For(const Route&) override {
      return {{"sim", std::make_shared<channel::RingTransport>(device_), {}, true}};
    }
    absl::Status CheckPeer(const Route&, absl::string_view, absl::string_view) override { return absl::OkStatus(); }
    void Failed(const Route&, absl::string_view) override {}

   private:
    const std::shared_ptr<fabric::Device> device_;
  };
  const auto connector = stream::CreateConnector(std::make_shared<OneFabric>(here_), {}, &waiter_);
  const auto listener = stream::CreateListener(std::make_shared<Named>(there_), {}, &waiter_);
  const auto attempt = connector->Begin(route_).value();
  EXPECT_NE(listener->Accept(attempt->offer(), {route_.peer, Ip("10.9.0.3")}).outcome.stream, nullptr);
}

TEST_F(CheckPeerTest, AProxyThatGoesOnByAUnixSocketIsOneToo) {
  const auto connector = stream::CreateConnector(std::make_shared<OneFabric>(here_), {}, &waiter_);
  const auto listener = stream::CreateListener(std::make_shared<OneFabric>(there_), {}, &waiter_);
  const auto attempt = connector->Begin(route_).value();
  Route route;
  route.local.ss_family = route.peer.ss_family = AF_UNIX;
  EXPECT_EQ(listener->Accept(attempt->offer(), route).outcome.why.code, FallbackCode::kProxy);
}

TEST_F(CheckPeerTest, WhereAnAddressIsNotKnownNothingIsSaidOfIt) {
  const auto connector = stream::CreateConnector(std::make_shared<OneFabric>(here_), {}, &waiter_);
  const auto listener = stream::CreateListener(std::make_shared<OneFabric>(there_), {}, &waiter_);
  EXPECT_NE(listener->Accept((*connector->Begin({}))->offer(), way_back_).outcome.stream, nullptr);
  EXPECT_NE(listener->Accept((*connector->Begin(route_))->offer(), {}).outcome.stream, nullptr);
}

}  // namespace
}  // namespace skein::connect
