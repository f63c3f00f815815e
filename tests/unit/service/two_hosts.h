#ifndef SKEIN_TESTS_UNIT_SERVICE_TWO_HOSTS_H_
#define SKEIN_TESTS_UNIT_SERVICE_TWO_HOSTS_H_

#include <memory>

#include "gtest/gtest.h"
#include "tests/support/skeind_host.h"
#include "tests/unit/service/counted_device.h"
#include "tests/unit/service/process.h"

namespace skein::service {

// Two hosts with skeinds; nothing is on their trunk yet.
class TwoHosts : public ::testing::Test {
 protected:
  explicit TwoHosts(UserLimits limits = {}, TrunkPatience patience = {}) : limits_(limits), patience_(patience) {}

  // While it is held, what skeinds have posted stays under way.
  void HoldTime(bool held) {
    one_.HoldTime(held);
    other_.HoldTime(held);
  }
  // Both skeinds have done what they can.
  void Settle() { service::Settle(one_, other_); }

  const UserLimits limits_;
  const TrunkPatience patience_;
  fabric::Simulation simulation_{20261129, {}};
  const std::shared_ptr<CountedDevice> device_one_ = std::make_shared<CountedDevice>(simulation_.CreateDevice("one"));
  const std::shared_ptr<CountedDevice> device_other_ =
      std::make_shared<CountedDevice>(simulation_.CreateDevice("other"));
  SkeindHost one_{simulation_, device_one_, limits_, patience_};
  SkeindHost other_{simulation_, device_other_, limits_, patience_};
};

}  // namespace skein::service

#endif  // SKEIN_TESTS_UNIT_SERVICE_TWO_HOSTS_H_
