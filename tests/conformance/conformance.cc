#include "tests/conformance/conformance.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/time/clock.h"

namespace skein::fabric {

void Conformance::SetUp() {
  fabric_ = GetParam().make();
  auto device_a = fabric_->MakeDevice("a");
  ASSERT_TRUE(device_a.ok()) << device_a.status();
  auto device_b = fabric_->MakeDevice("b");
  ASSERT_TRUE(device_b.ok()) << device_b.status();
  a_.emplace(*std::move(device_a));
  b_.emplace(*std::move(device_b));
  const absl::Status connected = Connect(*a_->queue_pair, *b_->queue_pair);
  ASSERT_TRUE(connected.ok()) << connected;
}

Conformance::Connection Conformance::NewConnection(uint32_t max_send, uint32_t max_receive) {
  Connection connection{a().NewQueuePair(max_send, max_receive), b().NewQueuePair(max_send, max_receive)};
  const absl::Status connected = Connect(*connection.a, *connection.b);
  EXPECT_TRUE(connected.ok()) << connected;
  return connection;
}

void Conformance::Pump() {
  fabric_->Settle();
  for (Side* side : {&*a_, &*b_}) {
    const std::vector<Completion> completions = side->Poll();
    side->seen.insert(side->seen.end(), completions.begin(), completions.end());
  }
}

std::vector<Completion> Conformance::PollUntil(Side& side, size_t count) {
  const bool enough = Eventually([&] { return side.seen.size() >= count; });
  EXPECT_TRUE(enough) << "only " << side.seen.size() << " of " << count << " completions came";
  const auto end = side.seen.begin() + static_cast<ptrdiff_t>(std::min(count, side.seen.size()));
  std::vector<Completion> completions(side.seen.begin(), end);
  side.seen.erase(side.seen.begin(), end);
  return completions;
}

Completion Conformance::PollOne(Side& side) {
  const std::vector<Completion> completions = PollUntil(side, 1);
  Completion none;
  none.id = ~uint64_t{0};
  none.status = CompletionStatus::kFatal;
  return completions.empty() ? none : completions[0];
}

bool Conformance::Eventually(absl::FunctionRef<bool()> condition) {
  const absl::Time given_up = absl::Now() + kGuard;
  while (true) {
    Pump();
    if (condition()) return true;
    if (absl::Now() > given_up) return false;
    std::this_thread::yield();
  }
}

void Conformance::ExpectQuiet() {
  // Some rounds, since what one end does may take the other's next poll to show.
  for (int round = 0; round < 4; ++round) Pump();
  for (const auto& [name, side] : {std::pair{"a", &*a_}, std::pair{"b", &*b_}}) {
    for (const Completion& completion : side->seen) {
      ADD_FAILURE() << "unexpected at " << name << ": " << OpcodeName(completion.opcode) << " " << completion.id << " "
                    << CompletionStatusName(completion.status);
    }
    side->seen.clear();
  }
}

}  // namespace skein::fabric
