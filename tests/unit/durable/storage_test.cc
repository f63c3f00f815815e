// The contract of Storage, on every implementation.
#include "core/durable/storage/storage.h"

#include <functional>
#include <memory>
#include <string>

#include "core/durable/sim/simulated_medium.h"
#include "core/durable/storage/file_storage.h"
#include "core/durable/storage/pmem_storage.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace skein::durable {
namespace {

constexpr uint64_t kStorageSize = 16384;

// Something that storages are opened on, one after the other.
struct Place {
  std::string name;
  std::function<std::function<absl::StatusOr<std::unique_ptr<Storage>>()>()> make;
};

template <typename Implementation>
Place InFolder(std::string name, const std::string& parent) {
  return {std::move(name), [parent] {
            auto folder = std::make_shared<TemporaryFolder>(parent);
            return [folder]() -> absl::StatusOr<std::unique_ptr<Storage>> {
              auto storage = Implementation::Open(folder->File("log"), kStorageSize);
              if (!storage.ok()) return storage.status();
              return *std::move(storage);
            };
          }};
}

Place Simulated(std::string name, sim::Granule granule) {
  return {std::move(name), [granule] {
            auto medium = std::make_shared<sim::SimulatedMedium>(kStorageSize, granule, 1);
            return [medium]() -> absl::StatusOr<std::unique_ptr<Storage>> { return medium->Open(); };
          }};
}

class StorageTest : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    open_ = GetParam().make();
    Reopen();
  }
  void Reopen() {
    storage_.reset();
    absl::StatusOr<std::unique_ptr<Storage>> storage = open_();
    ASSERT_TRUE(storage.ok()) << storage.status();
    storage_ = *std::move(storage);
  }
  std::string Read(uint64_t offset, size_t size) {
    std::string bytes(size, '?');
    EXPECT_TRUE(storage_->Read(offset, absl::MakeSpan(bytes)).ok());
    return bytes;
  }

  std::function<absl::StatusOr<std::unique_ptr<Storage>>()> open_;
  std::unique_ptr<Storage> storage_;
};

TEST_P(StorageTest, BeginsWithZerosAndKeepsWhatIsPersisted) {
  EXPECT_EQ(storage_->size(), kStorageSize);
  EXPECT_EQ(Read(0, kStorageSize), std::string(kStorageSize, '\0'));
  const absl::string_view pieces[] = {"data ", "", "of three pieces"};
  EXPECT_TRUE(storage_->Write(100, pieces).ok());
  EXPECT_TRUE(storage_->WriteWord(kStorageSize - 8, 0x0807060504030201).ok());
  EXPECT_EQ(Read(100, 20), "data of three pieces");
  const Extent extents[] = {{100, 20}, {kStorageSize - 8, 8}};
  EXPECT_TRUE(storage_->Persist(extents).ok());
  Reopen();
  EXPECT_EQ(Read(99, 22), absl::string_view("\0data of three pieces\0", 22));
  EXPECT_EQ(Read(kStorageSize - 8, 8), "\1\2\3\4\5\6\7\10");
}

TEST_P(StorageTest, NothingBeyondItsEnds) {
  std::string two = "ab";
  EXPECT_EQ(storage_->Write(kStorageSize - 1, two).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(storage_->Write(~uint64_t{0}, two).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(storage_->WriteWord(kStorageSize, 1).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(storage_->WriteWord(4, 1).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(storage_->Persist(1, kStorageSize).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(storage_->Persist(8, ~uint64_t{0}).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(storage_->Read(kStorageSize - 1, absl::MakeSpan(two)).code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(storage_->Write(kStorageSize, "").ok());
  EXPECT_TRUE(storage_->Persist(kStorageSize, 0).ok());
  EXPECT_EQ(Read(0, kStorageSize), std::string(kStorageSize, '\0'));
}

TEST_P(StorageTest, WhatAPeerWritesIntoTheMappedMemoryIsThere) {
  const absl::Span<std::byte> memory = storage_->mapped();
  if (memory.empty()) return;
  ASSERT_EQ(memory.size(), kStorageSize);
  memory[4711] = std::byte{'x'};
  EXPECT_TRUE(storage_->Persist(4711, 1).ok());
  EXPECT_EQ(Read(4711, 1), "x");
}

INSTANTIATE_TEST_SUITE_P(Everywhere, StorageTest,
                         testing::Values(InFolder<FileStorage>("FileOnDisk", "."),
                                         InFolder<FileStorage>("FileInMemory", "/dev/shm"),
                                         InFolder<PmemStorage>("MappedFileOnDisk", "."),
                                         InFolder<PmemStorage>("MappedFileInMemory", "/dev/shm"),
                                         Simulated("SimulatedWords", sim::Granule::kWord),
                                         Simulated("SimulatedSectors", sim::Granule::kSector)),
                         [](const testing::TestParamInfo<Place>& info) { return info.param.name; });

TEST(PersistenceTest, HasNames) {
  for (int number = 1; number <= 5; ++number) {
    const auto level = static_cast<Persistence>(number);
    EXPECT_EQ(PersistenceOf(PersistenceName(level)), level);
  }
  EXPECT_EQ(PersistenceName(static_cast<Persistence>(0)), "unknown");
  EXPECT_EQ(PersistenceName(static_cast<Persistence>(6)), "unknown");
  EXPECT_EQ(PersistenceOf("unknown"), std::nullopt);
}

TEST(GivesTest, MoreGivesLessAndEmulatedGivesNothingReal) {
  EXPECT_TRUE(Gives(Persistence::kPersistent, Persistence::kEmulated));
  EXPECT_TRUE(Gives(Persistence::kPersistent, Persistence::kFlushed));
  EXPECT_TRUE(Gives(Persistence::kFlushed, Persistence::kCpuFlushed));
  EXPECT_TRUE(Gives(Persistence::kVisible, Persistence::kVisible));
  EXPECT_TRUE(Gives(Persistence::kEmulated, Persistence::kVisible));
  EXPECT_FALSE(Gives(Persistence::kEmulated, Persistence::kFlushed));
  EXPECT_FALSE(Gives(Persistence::kEmulated, Persistence::kPersistent));
  EXPECT_FALSE(Gives(Persistence::kFlushed, Persistence::kPersistent));
  EXPECT_FALSE(Gives(Persistence::kFlushed, Persistence::kEmulated));
  EXPECT_FALSE(Gives(Persistence::kVisible, Persistence::kFlushed));
}

}  // namespace
}  // namespace skein::durable
