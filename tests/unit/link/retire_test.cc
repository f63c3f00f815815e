// A link that is retired, whose peer has other plans.
#include <memory>
#include <string>

#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "gtest/gtest.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/hostile_peer.h"
#include "tests/unit/link/recording_port.h"

namespace skein::link {
namespace {

constexpr uint64_t kRing = wire::kRingGranule;
constexpr int kMessages = 5 * kRing / 64;  // the smallest

// A stream without an owner, whose peer sends more as soon as it has arrived.
class EndlessPort final : public RecordingPort {
 public:
  EndlessPort(uint32_t stream, HostilePeer& peer) : RecordingPort(stream), peer_(peer) { set_abandoned(); }
  void Notify() override {
    if (sent < kMessages && !peer_.cut_off()) Send();
  }
  void Send() { peer_.WriteItem(wire::ItemKind::kData, stream(), sent++, "x"); }

  uint32_t sent = 0;

 private:
  HostilePeer& peer_;
};

// On a fabric that announces no end, where the peer is told, and the link polled until that has arrived. This peer
// answers no request for credits, and has been sent `lines` before that tell what was read.
uint32_t MessagesReadToRetire(int lines) {
  fabric::SimConfig config;
  config.announce_close = false;
  fabric::Simulation simulation(1, config);
  const std::shared_ptr<Link> victim = LinkOn(simulation.CreateDevice("victim"), {.ring_bytes = kRing});
  HostilePeer peer(simulation);
  const Link::Answer accepted = victim->Accept(peer.Offer()).value();
  peer.Attach(accepted.ring, accepted.connection);
  const auto port = std::make_shared<EndlessPort>(victim->ports().NewNumber(), peer);
  EXPECT_TRUE(victim->ports().Add(port).ok());
  victim->ports().Abandoned(*port);
  peer.WriteItem(peer.Hello());
  for (int i = 0; i < lines; ++i) {
    PollAll(simulation, {victim.get()});
    ++peer.says.wanted;
    peer.Say();
  }
  PollAll(simulation, {victim.get()});
  EXPECT_TRUE(victim->channel().met());
  victim->flushing().Flushed();  // asks for what tells
  PollAll(simulation, {victim.get()});
  port->Send();
  victim->Retire();
  victim->Close();
  victim->Poll();
  return port->sent;
}

TEST(RetireTest, ReadsNoMoreThanARingFromAPeerThatWritesWithoutEnd) {
  for (int lines = 0; lines < 64; ++lines) {
    EXPECT_LE(MessagesReadToRetire(lines), 2 * kRing / 64) << lines << " lines sent";
  }
}

}  // namespace
}  // namespace skein::link
