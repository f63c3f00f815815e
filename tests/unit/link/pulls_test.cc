// Pulls of large payloads, beside other one-sided operations of the link: what one of them waits for is never lost.
#include <memory>
#include <string>
#include <vector>

#include "core/channel/memory_operation.h"
#include "core/fabric/sim/simulation.h"
#include "gtest/gtest.h"
#include "tests/support/ring_link.h"
#include "tests/unit/link/waiting_port.h"

namespace skein::link {
namespace {

class OneRead final : public channel::MemoryOperation {
 public:
  OneRead(const fabric::MemoryRegion& from, const fabric::MemoryRegion& to) {
    request.opcode = fabric::Opcode::kRead;
    request.remote = from.remote();
    local = {to.bytes().data(), to.bytes().size(), to.lkey()};
  }
  void OnDone(fabric::CompletionStatus status) override { done = status == fabric::CompletionStatus::kSuccess; }

  bool done = false;
};

TEST(PullsTest, APullThatFoundNoSpaceIsPostedOnceOtherOperationsAreDone) {
  fabric::Simulation simulation(20261129);
  const LinkOptions options = {.ring_bytes = wire::kRingGranule, .takes_blocks = true};
  const std::shared_ptr<fabric::Device> reads_on = simulation.CreateDevice("reader");
  const std::shared_ptr<fabric::Device> writes_on = simulation.CreateDevice("writer");
  const auto reader = LinkOn(reads_on, options);
  const auto writer = LinkOn(writes_on, options);
  const Link::Answer accepted = reader->Accept(writer->Offer().value()).value();
  ASSERT_TRUE(writer->Complete(accepted).ok());
  const auto to = std::make_shared<WaitingPort>(reader->ports().NewNumber());
  const auto from = std::make_shared<WaitingPort>(to->stream());
  ASSERT_TRUE(reader->ports().Add(to).ok());
  ASSERT_TRUE(writer->ports().Add(from).ok());
  from->SendAll(*writer, std::string(WaitingPort::kLarge, 'x'));
  simulation.RunUntilIdle();

  // The block is announced, and nobody has read that yet.
  const auto remote = writes_on->Allocate(4096, fabric::kRemoteRead).value();
  const auto local = reads_on->Allocate(4096, fabric::kLocalOnly).value();
  std::vector<std::unique_ptr<OneRead>> reads;
  for (size_t i = 0; i < channel::MemoryOperations::kMost; ++i) {
    reads.push_back(std::make_unique<OneRead>(*remote, *local));
    ASSERT_TRUE(reader->Operate(*reads.back()).ok()) << i;
  }
  while (reader->Poll()) {
  }
  simulation.RunUntilIdle();
  EXPECT_EQ(to->heard, "");
  EXPECT_FALSE(reader->Arm()) << "the reader would sleep over the pull";
  for (const auto& read : reads) EXPECT_TRUE(read->done);
  reader->Poll();
  simulation.RunUntilIdle();
  EXPECT_FALSE(reader->Arm());
  reader->Poll();
  EXPECT_EQ(to->heard, from->said);
}

}  // namespace
}  // namespace skein::link
