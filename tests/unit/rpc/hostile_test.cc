// Peers that know the ring's secret and write what no honest end of a connection for calls would: the link ends with
// a reason, and who waited hears it.
#include <memory>
#include <string>
#include <utility>

#include "core/connect/negotiation.h"
#include "core/fabric/sim/simulation.h"
#include "core/rpc/client_service.h"
#include "core/rpc/server_service.h"
#include "core/wire/negotiation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/link/hostile_peer.h"
#include "tests/unit/rpc/one_link.h"

namespace skein::rpc {
namespace {

using link::HostilePeer;
using ::testing::HasSubstr;
using wire::ItemKind;

std::string Text(const MessageHeader& header, absl::string_view body = {}) {
  std::string text;
  wire::Put(text, header);
  text.append(body.data(), body.size());
  return text;
}

// A server whose client is hostile.
class HostileClientTest : public testing::Test {
 protected:
  HostileClientTest() {
    options_.max_calls = 2;
    auto service = std::make_shared<ServerService>(options_);
    service->handlers()[1] = [this](absl::string_view, Reply reply) { kept_.push_back(std::move(reply)); };
    const auto listener = connect::CreateListener(
        std::make_shared<connect::OneFabric>(simulation_.CreateDevice("victim")), {}, &waiter_, service);
    wire::Offer offer;
    offer.service = wire::Service::kRpc;
    offer.fabrics = {{"sim", peer_.Offer()}};
    const connect::Listener::Result result = listener->Accept(wire::EncodeOffer(offer), {});
    const wire::Yes yes = std::get<wire::Yes>(wire::DecodeAnswer(result.answer).value());
    EXPECT_EQ(yes.window, 2u);
    peer_.Attach(yes.new_link.ring, yes.new_link.queue_pair);
    peer_.WriteItem(peer_.Hello());
  }
  void Open() { Item(ItemKind::kOpen, link::NumberPayload(0)); }
  void Item(ItemKind kind, absl::string_view payload) { peer_.WriteItem(kind, 1, sequence_++, payload); }
  bool CutOff() {
    link::Link* const links[] = {waiter_.link.get()};
    link::PollAll(simulation_, links);
    return peer_.cut_off() && waiter_.link->finished();
  }

  fabric::Simulation simulation_{20261121};
  Options options_;
  OneLink waiter_;
  HostilePeer peer_{simulation_};
  std::vector<Reply> kept_;
  uint32_t sequence_ = 0;
};

TEST_F(HostileClientTest, MayCallAsOftenAsAgreed) {
  Open();
  Item(ItemKind::kData, Text(RequestHeader(0, 1)));
  Item(ItemKind::kData, Text(RequestHeader(0, 1)));
  EXPECT_FALSE(CutOff());
  EXPECT_EQ(kept_.size(), 2u);
  Item(ItemKind::kData, Text(RequestHeader(0, 1)));
  EXPECT_TRUE(CutOff());
}

TEST_F(HostileClientTest, MustOpenFirst) {
  Item(ItemKind::kData, Text(RequestHeader(0, 1)));
  EXPECT_TRUE(CutOff());
}

TEST_F(HostileClientTest, OpensOnce) {
  Open();
  Open();
  EXPECT_TRUE(CutOff());
}

TEST_F(HostileClientTest, OffersNoWindow) {
  Item(ItemKind::kOpen, link::NumberPayload(1));
  EXPECT_TRUE(CutOff());
}

TEST_F(HostileClientTest, DoesNotAnswer) {
  Open();
  Item(ItemKind::kData, Text(ReplyHeader(0)));
  EXPECT_TRUE(CutOff());
}

TEST_F(HostileClientTest, SendsWholeHeaders) {
  Open();
  Item(ItemKind::kData, "fifteen bytes..");
  EXPECT_TRUE(CutOff());
}

TEST_F(HostileClientTest, DoesNotCloseHalf) {
  Open();
  Item(ItemKind::kCloseWrite, {});
  EXPECT_TRUE(CutOff());
}

TEST_F(HostileClientTest, RepliesToWhoHasGoneGoNowhere) {
  Open();
  Item(ItemKind::kData, Text(RequestHeader(0, 1)));
  EXPECT_FALSE(CutOff());
  Item(ItemKind::kAbort, "gone");
  EXPECT_FALSE(CutOff());
  ASSERT_EQ(kept_.size(), 1u);
  kept_[0].Send("too late");
  EXPECT_FALSE(CutOff());
}

// A client whose server is hostile.
class HostileServerTest : public testing::Test {
 protected:
  HostileServerTest() {
    const auto connector =
        connect::CreateConnector(std::make_shared<connect::OneFabric>(simulation_.CreateDevice("victim")), {}, &waiter_,
                                 std::make_shared<ClientService>(options_));
    const auto attempt = connector->Begin({}).value();
    const wire::Offer offer = wire::DecodeOffer(attempt->offer()).value();
    EXPECT_EQ(offer.service, wire::Service::kRpc);
    wire::Yes yes;
    yes.stream = 1;
    yes.window = 4;
    yes.is_new = true;
    yes.new_link = {peer_.ring(), peer_.Accept(offer.fabrics[0].queue_pair)};
    peer_.Attach({});
    connect::Placement placement = attempt->Complete(wire::EncodeAnswer(yes));
    EXPECT_NE(placement.port, nullptr) << ToString(placement.why);
    port_ = std::static_pointer_cast<ClientPort>(placement.port);
    simulation_.RunUntilIdle();
    peer_.Attach(peer_.ReceivedHello());
    slot_ = port_->Take().value();
    slot_->answer = &answer_;
    const Request request{slot_, 1, "question"};
    port_->Start({&request, 1});
  }
  void Item(ItemKind kind, absl::string_view payload) { peer_.WriteItem(kind, 1, sequence_++, payload); }
  void Poll() {
    link::Link* const links[] = {waiter_.link.get()};
    link::PollAll(simulation_, links);
  }
  void ExpectLost() {
    Poll();
    EXPECT_TRUE(peer_.cut_off());
    ASSERT_TRUE(slot_->waiter.done());
    EXPECT_TRUE(absl::IsUnavailable(answer_.status)) << answer_.status;
  }

  fabric::Simulation simulation_{20261121};
  Options options_;
  OneLink waiter_;
  HostilePeer peer_{simulation_};
  std::shared_ptr<ClientPort> port_;
  Slot* slot_ = nullptr;
  Answer answer_;
  uint32_t sequence_ = 0;
};

TEST_F(HostileServerTest, MayAnswer) {
  Item(ItemKind::kData, Text(ReplyHeader(0), "answer"));
  Poll();
  ASSERT_TRUE(slot_->waiter.done());
  EXPECT_EQ(answer_.bytes, "answer");
}

TEST_F(HostileServerTest, AnswersOnce) {
  Item(ItemKind::kData, Text(ReplyHeader(0), "answer"));
  Item(ItemKind::kData, Text(ReplyHeader(0), "again"));
  Poll();
  EXPECT_TRUE(peer_.cut_off());
  EXPECT_EQ(answer_.bytes, "answer");
}

TEST_F(HostileServerTest, AnswersNoCallThatWasNotMade) {
  Item(ItemKind::kData, Text(ReplyHeader(1)));
  ExpectLost();
}

TEST_F(HostileServerTest, AnswersNoNumberBeyondItsTable) {
  Item(ItemKind::kData, Text(ReplyHeader(4)));
  ExpectLost();
}

TEST_F(HostileServerTest, DoesNotCall) {
  Item(ItemKind::kData, Text(RequestHeader(0, 1)));
  ExpectLost();
}

TEST_F(HostileServerTest, DoesNotOpen) {
  Item(ItemKind::kOpen, link::NumberPayload(0));
  ExpectLost();
}

TEST_F(HostileServerTest, EndsWithPrintableWords) {
  Item(ItemKind::kAbort, "\x1b[31mred");
  Poll();
  ASSERT_TRUE(slot_->waiter.done());
  EXPECT_THAT(answer_.status.message(), HasSubstr("?[31mred"));
}

TEST_F(HostileServerTest, LateAnswersGoNowhere) {
  ASSERT_TRUE(slot_->waiter.Abandon());
  Item(ItemKind::kData, Text(ReplyHeader(0), "late"));
  Poll();
  EXPECT_FALSE(peer_.cut_off());
  EXPECT_EQ(answer_.bytes, "");
  EXPECT_EQ(port_->Take().value(), slot_) << "its place is free again";
}

}  // namespace
}  // namespace skein::rpc
