// Durable connections with their log in real storages: a file, and memory mapped from one.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/durable/flush/flush_receiver.h"
#include "core/durable/flush/flush_sender.h"
#include "core/durable/storage/file_storage.h"
#include "core/durable/storage/pmem_library.h"
#include "core/durable/storage/pmem_storage.h"
#include "core/fabric/sim/simulation.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace skein::durable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FlushStorageTest : public testing::Test {
 protected:
  static constexpr RingShape kShape{.slot_bytes = 1024, .slots = 16};

  absl::Status Open(std::shared_ptr<Storage> storage, FlushMode mode) {
    receiver_.reset();
    FlushReceiverOptions options;
    options.mode = mode;
    options.shape = kShape;
    auto receiver = FlushReceiver::Open(*receiving_, std::move(storage), options);
    if (receiver.ok()) receiver_ = *std::move(receiver);
    return receiver.status();
  }
  void Connect(FlushMode mode) {
    FlushSenderOptions options;
    options.mode = mode;
    options.slots = kShape.slots;
    sender_ = FlushSender::Create(*sending_, options).value();
    ASSERT_TRUE(sender_->Complete(receiver_->Accept(sender_->Offer().value()).value()).ok());
  }
  void PollReceiver() {
    simulation_.RunUntilIdle();
    const absl::Status polled = receiver_->Poll([this](FlushEntry entry) { requests_.push_back(entry.payload); });
    ASSERT_TRUE(polled.ok()) << polled;
  }
  void SendAndWait(int count) {
    for (int i = 0; i < count; ++i) ASSERT_TRUE(sender_->Send(absl::StrCat("request ", sender_->next())).ok());
    ASSERT_TRUE(sender_->Flush().ok());
    const absl::Time given_up = absl::Now() + absl::Seconds(20);
    while (sender_->acknowledged().up_to + 1 < sender_->next() || requests_.size() < static_cast<size_t>(count)) {
      ASSERT_LT(absl::Now(), given_up);
      PollReceiver();
      ASSERT_TRUE(sender_->Poll([](uint64_t, absl::string_view) {}).ok());
    }
  }
  // The second and the third come again; the first was finished.
  void ComesAgainAfterARestart(FlushMode mode, const std::function<std::shared_ptr<Storage>()>& open) {
    ASSERT_TRUE(Open(open(), mode).ok());
    Connect(mode);
    SendAndWait(3);
    ASSERT_TRUE(receiver_->Finish(1, "").ok());
    PollReceiver();
    sender_.reset();
    receiver_.reset();
    requests_.clear();
    ASSERT_TRUE(Open(open(), mode).ok());
    PollReceiver();
    EXPECT_THAT(requests_, ElementsAre("request 2", "request 3"));
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.File("log");
  fabric::Simulation simulation_{20261128};
  const std::shared_ptr<fabric::Device> sending_ = simulation_.CreateDevice("sender");
  const std::shared_ptr<fabric::Device> receiving_ = simulation_.CreateDevice("receiver");
  std::unique_ptr<FlushReceiver> receiver_;
  std::unique_ptr<FlushSender> sender_;
  std::vector<std::string> requests_;
};

TEST_F(FlushStorageTest, AFileByWrite) {
  ComesAgainAfterARestart(FlushMode::kWRFlush,
                          [this] { return FileStorage::Open(path_, StorageBytes(kShape)).value(); });
}
TEST_F(FlushStorageTest, AFileBySend) {
  ComesAgainAfterARestart(FlushMode::kSRFlush,
                          [this] { return FileStorage::Open(path_, StorageBytes(kShape)).value(); });
}

TEST_F(FlushStorageTest, NoReadReachesAFile) {
  // Which stays blank, for either.
  for (const FlushMode mode : {FlushMode::kWFlush, FlushMode::kSFlush}) {
    const absl::Status refused = Open(FileStorage::Open(path_, StorageBytes(kShape)).value(), mode);
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("rflush"));
  }
}

TEST_F(FlushStorageTest, AStorageThatIsTooSmallIsRefusedWithWhatItTakes) {
  const absl::Status refused = Open(FileStorage::Open(path_, 16384).value(), FlushMode::kWRFlush);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr(absl::StrCat(StorageBytes(kShape))));
}

TEST_F(FlushStorageTest, MappedMemory) {
  if (!LoadLibpmem().ok()) GTEST_SKIP() << "no libpmem";
  const auto open = [this] { return PmemStorage::Open(path_, StorageBytes(kShape)).value(); };
  ComesAgainAfterARestart(FlushMode::kWRFlush, open);
}
TEST_F(FlushStorageTest, NoDeviceIsPersistentMemoryButOneOfDax) {
  if (!LoadLibpmem().ok()) GTEST_SKIP() << "no libpmem";
  const auto opened = PmemStorage::Open("/dev/null", StorageBytes(kShape));
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(opened.status().message(), HasSubstr("DAX device"));
}
TEST_F(FlushStorageTest, MappedMemoryThatTheSenderFlushes) {
  if (!LoadLibpmem().ok()) GTEST_SKIP() << "no libpmem";
  ComesAgainAfterARestart(FlushMode::kSFlush,
                          [this] { return PmemStorage::Open(path_, StorageBytes(kShape)).value(); });
  EXPECT_EQ(receiver_->level(), Persistence::kVisible) << "whatever it lies on: nobody has said anything of DDIO";
}

}  // namespace
}  // namespace skein::durable
