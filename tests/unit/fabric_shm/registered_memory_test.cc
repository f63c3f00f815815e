// Memory of the peer's process, which its owner can make take as long as he likes to be read.
#include <string>

#include "core/fabric/shm/shm_device.h"
#include "gtest/gtest.h"
#include "tests/support/fabric_end.h"

namespace skein::fabric {
namespace {

class RegisteredMemory : public testing::TestWithParam<bool> {
 protected:
  // Of a READ by a queue pair that reads such memory, or does not.
  Completion Read() {
    QueuePairOptions options;
    options.send_queue = options.receive_queue = reader_.queue.get();
    options.reads_registered_memory = GetParam();
    reader_.queue_pair = reader_.device->CreateQueuePair(options).value();
    EXPECT_EQ(Connect(*reader_.queue_pair, *owner_.queue_pair), absl::OkStatus());
    EXPECT_EQ(Post(*reader_.queue_pair, Opcode::kRead, reader_.Local(0, text_.size()), region_->remote()),
              absl::OkStatus());
    for (;;) {
      owner_.Poll();  // it is asked for the region
      if (const std::vector<Completion> completions = reader_.Poll(); !completions.empty()) return completions[0];
    }
  }

  std::string text_ = "of the peer's process";
  End owner_ = End(OpenShmDevice().value());
  End reader_ = End(OpenShmDevice().value());
  std::unique_ptr<MemoryRegion> region_ =
      owner_.device->Register({reinterpret_cast<std::byte*>(text_.data()), text_.size()}, kRemoteRead).value();
};

TEST_P(RegisteredMemory, OfThePeerIsReadByWhoHasSaidSoAlone) {
  EXPECT_EQ(Read().status, GetParam() ? CompletionStatus::kSuccess : CompletionStatus::kRemoteAccessError);
  EXPECT_EQ(reader_.Get(0, text_.size()), GetParam() ? text_ : std::string(text_.size(), '\0'));
}

INSTANTIATE_TEST_SUITE_P(Reads, RegisteredMemory, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "it" : "only_allocated"); });

}  // namespace
}  // namespace skein::fabric
