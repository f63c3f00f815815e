// Which RDMA port a connection gets while ports and addresses come and go.
#include "core/connect/rdma_ports.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/fabric/sim/simulation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/ip_address.h"

namespace skein::connect {
namespace {

using fabric::verbs::GidEntry;
using fabric::verbs::GidType;
using testing::ElementsAre;
using testing::HasSubstr;

Route From(const char* local) { return {Ip(local), Ip("10.0.0.99")}; }

GidEntry Entry(const char* device, uint32_t index, const char* address) {
  GidEntry entry;
  entry.device = device;
  entry.index = index;
  entry.gid = fabric::verbs::GidOf(Ip(address)).value();
  entry.type = GidType::kRoceV2;
  entry.port_active = true;
  return entry;
}

class RdmaPortsTest : public testing::Test {
 protected:
  std::unique_ptr<RdmaPorts> Ports(const RdmaOptions& options = {}) {
    return std::make_unique<RdmaPorts>(
        options,
        [this] {
          ++listings_;
          return entries_;
        },
        [this](const GidEntry& entry) -> absl::StatusOr<std::shared_ptr<fabric::Device>> {
          opened_.push_back(absl::StrCat(entry.device, " ", entry.index));
          return simulation_.CreateDevice(opened_.back());
        });
  }

  fabric::Simulation simulation_{20261121};
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  absl::StatusOr<std::vector<GidEntry>> entries_ =
      std::vector<GidEntry>{Entry("mlx5_0", 3, "10.0.0.1"), Entry("mlx5_1", 3, "10.0.1.1")};
  int listings_ = 0;
  std::vector<std::string> opened_;
};

TEST_F(RdmaPortsTest, OneDeviceForAllConnectionsOfAnAddress) {
  const auto ports = Ports();
  const auto device = ports->For(From("10.0.1.1"), now_);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(ports->For(From("10.0.1.1"), now_).value(), *device);
  EXPECT_NE(ports->For(From("10.0.0.1"), now_).value(), *device);
  EXPECT_THAT(opened_, ElementsAre("mlx5_1 3", "mlx5_0 3"));
}

TEST_F(RdmaPortsTest, ListsOnceInAWhileHoweverManyConnectionsThereAre) {
  const auto ports = Ports();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(ports->For(From("10.0.0.1"), now_ + absl::Milliseconds(40 * i)).ok());
  EXPECT_EQ(listings_, 1);
  EXPECT_TRUE(ports->For(From("10.0.0.1"), now_ + RdmaPorts::kListingIsFresh + absl::Milliseconds(1)).ok());
  EXPECT_EQ(listings_, 2);
}

// It was kept open for the life of the process, and its removal waited for that.
TEST_F(RdmaPortsTest, LetsGoOfADeviceThatHasVanished) {
  const auto ports = Ports();
  const std::weak_ptr<fabric::Device> gone = ports->For(From("10.0.0.1"), now_).value();
  const std::weak_ptr<fabric::Device> stays = ports->For(From("10.0.1.1"), now_).value();
  entries_->erase(entries_->begin());
  const auto none = ports->For(From("10.0.0.1"), now_ + absl::Seconds(6));
  EXPECT_THAT(none.status().message(), HasSubstr("10.0.0.1"));
  EXPECT_TRUE(gone.expired());
  EXPECT_FALSE(stays.expired());
  entries_ = absl::NotFoundError("this host has no RDMA device");
  EXPECT_EQ(ports->For(From("10.0.1.1"), now_ + absl::Seconds(12)).status(), entries_.status());
  EXPECT_TRUE(stays.expired());
}

TEST_F(RdmaPortsTest, AnAddressThatHasMovedToAnotherIndexIsOpenedThere) {
  const auto ports = Ports();
  EXPECT_TRUE(ports->For(From("10.0.0.1"), now_).ok());
  entries_ = std::vector<GidEntry>{Entry("mlx5_0", 5, "10.0.0.1")};
  EXPECT_TRUE(ports->For(From("10.0.0.1"), now_ + absl::Seconds(6)).ok());
  EXPECT_THAT(opened_, ElementsAre("mlx5_0 3", "mlx5_0 5"));
}

TEST_F(RdmaPortsTest, AnotherDeviceOnlyForWhoNamesIt) {
  RdmaOptions options;
  EXPECT_FALSE(NamesPort(options));
  EXPECT_FALSE(Ports(options)->For(From("192.0.2.1"), now_).ok());
  options.device = "mlx5_1";
  EXPECT_TRUE(NamesPort(options));
  EXPECT_TRUE(Ports(options)->For(From("192.0.2.1"), now_).ok());
  options.gid_index = 4;
  EXPECT_THAT(Ports(options)->For(From("192.0.2.1"), now_).status().message(), HasSubstr("mlx5_1"));
  EXPECT_THAT(opened_, ElementsAre("mlx5_1 3"));
}

}  // namespace
}  // namespace skein::connect
