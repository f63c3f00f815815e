// Three threads in every order there is: half a minute.
#include <gtest/gtest.h>

#include "tests/unit/coalesce/queue_scenarios.h"

namespace skein::coalesce {
namespace {

TEST(QueueEveryOrder, ThreeRequests) { ExpectHolds(kThree); }

}  // namespace
}  // namespace skein::coalesce
