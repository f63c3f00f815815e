// What the conformance suite needs to know of a fabric beyond its contract: how to get devices that reach each other,
// and how time passes. One file per fabric implements it and registers itself; linking that file in is all.
#ifndef SKEIN_TESTS_CONFORMANCE_FABRIC_UNDER_TEST_H_
#define SKEIN_TESTS_CONFORMANCE_FABRIC_UNDER_TEST_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/fabric/fabric.h"

namespace skein::fabric {

// Methods may be called from any thread.
class FabricUnderTest {
 public:
  virtual ~FabricUnderTest() = default;
  // Queue pairs of any two of these devices can be connected. Two calls, two devices.
  virtual absl::StatusOr<std::shared_ptr<Device>> MakeDevice(absl::string_view name) = 0;
  // Lets everything posted arrive, as far as that does not take polling.
  virtual void Settle() = 0;
  // Whether a thread sleeping on the queue's descriptor would be awake.
  virtual bool ArmedAndReadable(const CompletionQueue& queue) = 0;
  // Sleeps on the queue's descriptor. False when it did not become readable for so long that a wake-up must be lost.
  virtual bool SleepUntilReadable(const CompletionQueue& queue) = 0;
  // Memory that its devices take for persistent; empty where there is none.
  virtual absl::Span<std::byte> PersistentMemory() { return {}; }
};

struct FabricFactory {
  std::string name;  // letters, digits and underscores: part of the tests' names
  std::function<std::unique_ptr<FabricUnderTest>()> make;
};

// To be called while static variables are initialised. The value means nothing.
bool RegisterFabric(FabricFactory factory);
const std::vector<FabricFactory>& RegisteredFabrics();

}  // namespace skein::fabric

#endif  // SKEIN_TESTS_CONFORMANCE_FABRIC_UNDER_TEST_H_
