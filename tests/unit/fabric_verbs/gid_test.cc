// Which entry of the ports' GID tables leads to a peer.
#include "core/fabric/verbs/gid.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace skein::fabric::verbs {
namespace {

using testing::HasSubstr;

sockaddr_storage Ip(const char* text) {
  sockaddr_storage address = {};
  auto& v4 = reinterpret_cast<sockaddr_in&>(address);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text, &v6.sin6_addr), 1) << text;
    v6.sin6_family = AF_INET6;
  }
  return address;
}

GidEntry Entry(const char* device, uint32_t index, const char* address, GidType type, bool active = true) {
  GidEntry entry;
  entry.device = device;
  entry.index = index;
  entry.gid = GidOf(Ip(address)).value();
  entry.type = type;
  entry.netdev = 1000 + index;
  entry.port_active = active;
  return entry;
}

TEST(GidOfTest, Ipv4IsMappedAndIpv6IsItself) {
  EXPECT_EQ(ToString(GidOf(Ip("10.9.0.1")).value()), "::ffff:10.9.0.1");
  EXPECT_EQ(GidOf(Ip("::ffff:10.9.0.1")).value(), GidOf(Ip("10.9.0.1")).value());
  EXPECT_EQ(ToString(GidOf(Ip("fd09::1")).value()), "fd09::1");
  EXPECT_FALSE(GidOf(sockaddr_storage{}).ok());
}

TEST(ChooseGidTest, TheOneWithTheConnectionsAddress) {
  const std::vector<GidEntry> entries = {
      Entry("mlx5_0", 0, "fe80::1", GidType::kRoceV1), Entry("mlx5_0", 3, "10.0.0.1", GidType::kRoceV2),
      Entry("mlx5_1", 0, "fe80::2", GidType::kRoceV1), Entry("mlx5_1", 3, "10.0.1.1", GidType::kRoceV2)};
  const absl::StatusOr<GidEntry> chosen = ChooseGid(entries, Ip("10.0.1.1"));
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->device, "mlx5_1");
  EXPECT_EQ(chosen->index, 3u);
  EXPECT_EQ(ChooseGid(entries, Ip("::ffff:10.0.0.1"))->device, "mlx5_0") << "IPv4 on an IPv6 socket";
}

TEST(ChooseGidTest, RoceV2BeforeV1WhateverTheOrder) {
  const std::vector<GidEntry> entries = {Entry("mlx5_0", 2, "10.0.0.1", GidType::kRoceV1),
                                         Entry("mlx5_0", 3, "10.0.0.1", GidType::kRoceV2)};
  EXPECT_EQ(ChooseGid(entries, Ip("10.0.0.1"))->index, 3u);
  EXPECT_EQ(ChooseGid({entries[0]}, Ip("10.0.0.1"))->index, 2u) << "v1 when there is nothing else";
}

TEST(ChooseGidTest, OnlyIpv6) {
  const std::vector<GidEntry> entries = {Entry("mlx5_0", 1, "fe80::1", GidType::kRoceV2),
                                         Entry("mlx5_0", 5, "fd09::1", GidType::kRoceV2)};
  EXPECT_EQ(ChooseGid(entries, Ip("fd09::1"))->index, 5u);
}

TEST(ChooseGidTest, APortThatIsDownIsNoneAndIsSaidToBe) {
  const absl::StatusOr<GidEntry> chosen =
      ChooseGid({Entry("mlx5_0", 3, "10.0.0.1", GidType::kRoceV2, /*active=*/false)}, Ip("10.0.0.1"));
  ASSERT_FALSE(chosen.ok());
  EXPECT_THAT(chosen.status().message(), HasSubstr("10.0.0.1"));
  EXPECT_THAT(chosen.status().message(), HasSubstr("mlx5_0/1 (down)"));
}

TEST(ChooseGidTest, AnAddressThatNoPortHasNamesWhatThereIs) {
  const absl::StatusOr<GidEntry> chosen =
      ChooseGid({Entry("mlx5_0", 3, "10.0.0.1", GidType::kRoceV2)}, Ip("192.0.2.1"));
  ASSERT_TRUE(absl::IsNotFound(chosen.status()));
  EXPECT_THAT(chosen.status().message(), HasSubstr("192.0.2.1"));
  EXPECT_THAT(chosen.status().message(), HasSubstr("::ffff:10.0.0.1"));
}

// An IP address of InfiniBand's is not among the GIDs; its interface leads to the port. Here: the loopback's.
TEST(ChooseGidTest, OnInfinibandTheInterfaceDecides) {
  GidEntry entry = Entry("mlx5_0", 0, "fe80::1", GidType::kInfiniband);
  entry.netdev = if_nametoindex("lo");
  ASSERT_NE(entry.netdev, 0u);
  EXPECT_EQ(ChooseGid({entry}, Ip("127.0.0.1"))->device, "mlx5_0");
  entry.type = GidType::kRoceV2;
  EXPECT_FALSE(ChooseGid({entry}, Ip("127.0.0.1")).ok());
}

TEST(DefaultGidTest, RoutableFirstAndOfActivePorts) {
  const std::vector<GidEntry> entries = {
      Entry("mlx5_0", 0, "fe80::1", GidType::kRoceV1), Entry("mlx5_0", 1, "fe80::1", GidType::kRoceV2),
      Entry("mlx5_0", 2, "10.0.0.1", GidType::kRoceV1), Entry("mlx5_0", 3, "10.0.0.1", GidType::kRoceV2),
      Entry("mlx5_1", 3, "10.0.1.1", GidType::kRoceV2, /*active=*/false)};
  EXPECT_EQ(DefaultGid(entries)->index, 3u);
  EXPECT_EQ(DefaultGid({entries[0], entries[1]})->index, 1u);
  EXPECT_FALSE(DefaultGid({entries[4]}).ok());
  EXPECT_FALSE(DefaultGid({}).ok());
}

}  // namespace
}  // namespace skein::fabric::verbs
