// What a port's present state makes of the address that peers are told.
#include "core/fabric/verbs/port.h"

#include "gtest/gtest.h"

namespace skein::fabric::verbs {
namespace {

constexpr Gid kGid = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

ibv_port_attr Infiniband() {
  ibv_port_attr port = {};
  port.link_layer = IBV_LINK_LAYER_INFINIBAND;
  port.active_mtu = IBV_MTU_4096;
  port.lid = 7;
  return port;
}

TEST(PortAddressTest, IsAnotherWhenTheLidOrTheMtuIs) {
  const Address before = AddressOf(Infiniband(), {}, kGid, {});
  EXPECT_EQ(before.lid, 7);
  EXPECT_EQ(before.mtu, IBV_MTU_4096);
  EXPECT_EQ(before.gid, kGid);
  EXPECT_EQ(AddressOf(Infiniband(), {}, kGid, {}), before);
  ibv_port_attr now = Infiniband();
  now.lid = 8;
  EXPECT_NE(AddressOf(now, {}, kGid, {}), before);
  now = Infiniband();
  now.active_mtu = IBV_MTU_2048;
  EXPECT_NE(AddressOf(now, {}, kGid, {}), before);
}

// What is not told may change: the port goes down and comes back.
TEST(PortAddressTest, IsTheSameWhateverElseChanges) {
  ibv_port_attr now = Infiniband();
  now.state = IBV_PORT_DOWN;
  now.gid_tbl_len = 9;
  VerbsOptions options;
  options.mtu = 1024;
  EXPECT_EQ(AddressOf(now, {}, kGid, options), AddressOf(Infiniband(), {}, kGid, options));
  now.active_mtu = IBV_MTU_2048;
  EXPECT_EQ(AddressOf(now, {}, kGid, options), AddressOf(Infiniband(), {}, kGid, options)) << "the option is lower";
}

}  // namespace
}  // namespace skein::fabric::verbs
