// What one peer does to its link leaves another peer's link to the same process as it was.
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/hostile_peer.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

TEST(IndependenceTest, AProtocolErrorEndsOneLinkAndNoOther) {
  fabric::Simulation simulation(20261121);
  const std::shared_ptr<fabric::Device> device = simulation.CreateDevice("victim");
  const auto attacked = LinkOn(device, {wire::kRingGranule});
  const auto honest = LinkOn(device, {wire::kRingGranule});
  const auto friends = LinkOn(simulation.CreateDevice("friend"), {wire::kRingGranule});
  Link* const links[] = {attacked.get(), honest.get(), friends.get()};

  HostilePeer hostile(simulation);
  const Link::Answer to_hostile = attacked->Accept(hostile.Offer()).value();
  hostile.Attach(to_hostile.ring, to_hostile.connection);
  const Link::Answer to_friend = honest->Accept(friends->Offer().value()).value();
  ASSERT_TRUE(friends->Complete(to_friend).ok());

  const auto attacked_port = std::make_shared<RecordingPort>(attacked->ports().NewNumber());
  const auto honest_port = std::make_shared<RecordingPort>(honest->ports().NewNumber());
  const auto friends_port = std::make_shared<RecordingPort>(honest_port->stream());
  ASSERT_TRUE(attacked->ports().Add(attacked_port).ok());
  ASSERT_TRUE(honest->ports().Add(honest_port).ok());
  ASSERT_TRUE(friends->ports().Add(friends_port).ok());

  const auto say = [&](Link& from, Port& port, absl::string_view text) {
    const ConstBytes bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
    EXPECT_EQ(from.Send(port, {&bytes, 1}, text.size()).value_or(0), text.size());
    PollAll(simulation, links);
  };
  say(*friends, *friends_port, "before,");
  hostile.WriteItem(hostile.Hello());
  hostile.WriteItem(wire::ItemKind::kData, attacked_port->stream(), 5, "skips");
  PollAll(simulation, links);
  EXPECT_EQ(attacked_port->losses, 1);
  EXPECT_TRUE(attacked->finished());

  say(*friends, *friends_port, " after");
  say(*honest, *honest_port, "and back");
  EXPECT_EQ(honest_port->data, "before, after");
  EXPECT_EQ(friends_port->data, "and back");
  EXPECT_EQ(honest_port->losses, 0);
  EXPECT_FALSE(honest->finished());
  EXPECT_TRUE(honest->StillConnected());
}

}  // namespace
}  // namespace skein::link
