// Which entry of the ports' GID tables leads to a peer.
#include "core/fabric/verbs/gid.h"

#include <ifaddrs.h>

#include <cstring>
#include <fstream>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/ip_address.h"

namespace skein::fabric::verbs {
namespace {

using testing::HasSubstr;

GidEntry Entry(const char* device, uint32_t index, const char* address, GidType type, bool active = true) {
  GidEntry entry;
  entry.device = device;
  entry.index = index;
  entry.gid = GidOf(Ip(address)).value();
  entry.type = type;
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

// An IP address of InfiniBand's is not among the GIDs, but its interface's hardware address has the port's in it.
TEST(ChooseGidTest, OnInfinibandTheInterfacesHardwareAddressDecides) {
  const std::vector<GidEntry> entries = {Entry("mlx5_0", 0, "fe80::1", GidType::kInfiniband),
                                         Entry("mlx5_1", 0, "fe80::2", GidType::kInfiniband)};
  std::string hardware("\x80\x00\x02\x08", 4);
  hardware.append(entries[1].gid.begin(), entries[1].gid.end());
  const auto ipoib = [&](const sockaddr_storage& local) {
    return GidOf(local) == GidOf(Ip("10.0.0.1")) ? hardware : std::string(6, '\x02');
  };
  const absl::StatusOr<GidEntry> chosen = ChooseGid(entries, Ip("10.0.0.1"), ipoib);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->device, "mlx5_1");
  EXPECT_FALSE(ChooseGid(entries, Ip("10.0.0.2"), ipoib).ok()) << "an address on Ethernet";
  EXPECT_FALSE(ChooseGid({entries[0]}, Ip("10.0.0.1"), ipoib).ok()) << "the GID of a port that is not here";
}

TEST(ChooseGidTest, OnEthernetTheInterfaceIsNotAsked) {
  const auto unexpected = [](const sockaddr_storage&) {
    ADD_FAILURE();
    return std::string();
  };
  EXPECT_FALSE(ChooseGid({Entry("mlx5_0", 3, "10.0.0.1", GidType::kRoceV2)}, Ip("10.0.0.2"), unexpected).ok());
}

// Of every interface with an address here, as the kernel tells it elsewhere.
TEST(HardwareAddressOfTest, IsThatOfTheInterfaceWithTheAddress) {
  ifaddrs* list = nullptr;
  ASSERT_EQ(getifaddrs(&list), 0);
  const absl::Cleanup free_list = [&] { freeifaddrs(list); };
  int compared = 0;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    std::string told;
    std::ifstream(absl::StrCat("/sys/class/net/", entry->ifa_name, "/address")) >> told;
    if (told.empty()) continue;
    sockaddr_storage address = {};
    std::memcpy(&address, entry->ifa_addr, sizeof(sockaddr_in));
    EXPECT_EQ(absl::BytesToHexString(HardwareAddressOf(address)), absl::StrReplaceAll(told, {{":", ""}}))
        << entry->ifa_name;
    ++compared;
  }
  EXPECT_GT(compared, 0);
  EXPECT_EQ(HardwareAddressOf(Ip("192.0.2.1")), "") << "nobody's";
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
