// The fixture of the conformance suite: two devices "a" and "b" of the fabric under test, connected.
//
// Tests say what the contract in core/fabric/fabric.h says and no more. *When* something happens is the fabric's own
// affair, so they wait with PollUntil and Eventually, which let time pass and poll both ends: emulated fabrics make
// their progress there.
#ifndef SKEIN_TESTS_CONFORMANCE_CONFORMANCE_H_
#define SKEIN_TESTS_CONFORMANCE_CONFORMANCE_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "core/fabric/fabric.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/fabric_under_test.h"
#include "tests/support/fabric_end.h"

namespace skein::fabric {

// Only how long a failing test takes; no passing one waits for it.
inline constexpr absl::Duration kGuard = absl::Seconds(10);

class Conformance : public testing::TestWithParam<FabricFactory> {
 protected:
  // An end, and the completions taken from its queue that no test has asked for yet.
  struct Side : End {
    using End::End;
    std::deque<Completion> seen;
  };
  struct Connection {
    std::unique_ptr<QueuePair> a;
    std::unique_ptr<QueuePair> b;
  };

  void SetUp() override;

  // Two more queue pairs of the two ends, connected; a's is the active one.
  Connection NewConnection(uint32_t max_send = 128, uint32_t max_receive = 128);

  // Lets what is posted arrive and polls both ends, once.
  void Pump();
  // The next `count` completions of `side`; fewer, and a failure, if they do not come.
  std::vector<Completion> PollUntil(Side& side, size_t count);
  // The next completion, or one with id ~0.
  Completion PollOne(Side& side);
  // Pumps until it holds. False if it does not.
  bool Eventually(absl::FunctionRef<bool()> condition);
  // No completion that nobody asked for is there or turns up. (It cannot prove that none ever will, only catch it.)
  void ExpectQuiet();

  FabricUnderTest& fabric() { return *fabric_; }
  Side& a() { return *a_; }
  Side& b() { return *b_; }

 private:
  std::unique_ptr<FabricUnderTest> fabric_;
  std::optional<Side> a_;
  std::optional<Side> b_;
};

inline auto EveryFabric() { return testing::ValuesIn(RegisteredFabrics()); }
inline std::string FabricName(const testing::TestParamInfo<FabricFactory>& info) { return info.param.name; }
inline void PrintTo(const FabricFactory& factory, std::ostream* out) { *out << factory.name; }

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_CONFORMANCE_CONFORMANCE_H_
