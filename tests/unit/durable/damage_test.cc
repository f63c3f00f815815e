// Logs whose bytes are not what was written: cut at every byte, every bit turned, the fields of the header.
#include <memory>
#include <string>
#include <vector>

#include "core/durable/log/checksum.h"
#include "core/durable/log/log_header.h"
#include "core/durable/log/redo_log.h"
#include "core/durable/storage/file_storage.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/durable/logged.h"

namespace skein::durable {
namespace {

using testing::HasSubstr;

constexpr uint64_t kSize = kRingOffset + 4096;
constexpr uint64_t kEntries = 10;

Logged OpenBytes(const std::string& bytes) {
  return OpenLog(std::make_shared<sim::SimulatedMedium>(bytes, sim::Granule::kSector, 1)->Open());
}

// A log whose ring is about half full, all of it persisted entry by entry.
std::string SomeLog() {
  auto medium = std::make_shared<sim::SimulatedMedium>(kSize, sim::Granule::kSector, 1);
  const Logged logged = OpenLog(medium->Open());
  for (uint64_t sequence = 1; sequence <= kEntries; ++sequence) {
    EXPECT_TRUE(Append(*logged.log, sequence, PayloadOf(sequence)).ok());
    EXPECT_TRUE(logged.log->Persist().ok());
  }
  return medium->bytes();
}

// The entries are the first of those that were written, each as it was; or nothing is shown at all.
void ExpectAPrefix(const Logged& logged, uint64_t at) {
  for (size_t i = 0; i < logged.sequences.size(); ++i) {
    ASSERT_EQ(logged.sequences[i], i + 1) << "at " << at;
    ASSERT_EQ(logged.payloads[i], PayloadOf(i + 1)) << "at " << at;
  }
}

TEST(DamageTest, AFileCutAtAnyByte) {
  const TemporaryFolder folder("/dev/shm");
  const std::string path = folder.File("log");
  const std::string log = SomeLog();
  uint64_t before = 0;
  for (uint64_t cut = 0; cut <= kSize; cut += kFewer) {
    {
      absl::StatusOr<std::unique_ptr<FileStorage>> file = FileStorage::Open(path, kSize);
      ASSERT_TRUE(file.ok()) << file.status();
      std::string bytes = log.substr(0, cut);
      bytes.resize(kSize, '\0');
      ASSERT_TRUE((*file)->Storage::Write(0, bytes).ok());
    }
    absl::StatusOr<std::unique_ptr<FileStorage>> file = FileStorage::Open(path, kSize);
    ASSERT_TRUE(file.ok());
    const Logged logged = OpenLog(*std::move(file));
    ExpectAPrefix(logged, cut);
    if (cut > kRingOffset) {
      ASSERT_TRUE(logged.status.ok()) << logged.status << " at " << cut;
      ASSERT_GE(logged.sequences.size(), before) << "at " << cut;
      before = logged.sequences.size();
    }
  }
  EXPECT_EQ(before, kEntries);
}

TEST(DamageTest, AFileThatIsShorterIsAnErrorAndStaysAsItIs) {
  const TemporaryFolder folder("/dev/shm");
  const std::string path = folder.File("log");
  { ASSERT_TRUE(OpenLog(*FileStorage::Open(path, kSize)).status.ok()); }
  for (const uint64_t cut : {kSize - 1, kRingOffset, uint64_t{1}}) {
    ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(cut)), 0);
    EXPECT_EQ(FileStorage::Open(path, kSize).status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(std::filesystem::file_size(path), cut);
  }
}

// A bit that rots is noticed, or has no meaning; only the very last entry may look as if it had never been finished.
TEST(DamageTest, AnyBitTurned) {
  const std::string log = SomeLog();
  uint64_t refused = 0;
  for (uint64_t bit = 0; bit < kSize * 8; bit += kFewer) {
    // Most of the pages before the ring mean nothing.
    if (bit / 8 < kRingOffset && bit / 8 % kLogPage >= sizeof(LogHeader) && bit % 97 != 0) continue;
    std::string bytes = log;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    const Logged logged = OpenBytes(bytes);
    ExpectAPrefix(logged, bit);
    if (logged.status.ok()) {
      ASSERT_GE(logged.sequences.size(), kEntries - 1) << "safe entries are gone, and nobody says so; bit " << bit;
    } else {
      ++refused;
      ASSERT_FALSE(logged.status.message().empty());
    }
  }
  EXPECT_GT(refused, 2000u / kFewer);
}

TEST(DamageTest, ASlotThatRotsLosesNothingThoughTheRingHasGoneOn) {
  auto medium = std::make_shared<sim::SimulatedMedium>(kSize, sim::Granule::kSector, 1);
  Logged logged = OpenLog(medium->Open());
  std::vector<uint64_t> positions;
  for (uint64_t sequence = 1; sequence <= 200; ++sequence) {
    absl::StatusOr<uint64_t> position;
    for (int tries = 0; tries < 2; ++tries) {
      position = Append(*logged.log, sequence, PayloadOf(sequence));
      if (position.ok()) break;
      logged.log->Flush();
    }
    ASSERT_TRUE(position.ok()) << position.status();
    positions.push_back(*position);
    EXPECT_TRUE(logged.log->Persist().ok());
    if (sequence > 18) logged.log->Release(positions[sequence - 19]);
    for (const uint64_t slot : {0, 1}) {
      std::string bytes = medium->bytes();
      bytes[SlotOffset(slot) + 9] ^= 1;
      const Logged other = OpenBytes(bytes);
      ASSERT_TRUE(other.status.ok()) << other.status;
      ASSERT_EQ(other.sequences.back(), sequence);
      ASSERT_LE(other.sequences.front(), sequence > 18 ? sequence - 17 : 1);
    }
  }
}

TEST(DamageTest, BothSlotsGoneIsAnError) {
  std::string bytes = SomeLog();
  bytes[SlotOffset(0)] ^= 1;
  bytes[SlotOffset(1)] ^= 1;
  EXPECT_EQ(OpenBytes(bytes).status.code(), absl::StatusCode::kDataLoss);
}

// Their checksums hold. The one with the number would be the newest for ever, or the next one's would be 0.
TEST(DamageTest, ASlotThatNobodyCanHaveWrittenDoesNotCount) {
  const std::string log = SomeLog();
  LogHeader header;
  std::memcpy(&header, log.data(), sizeof(header));
  constexpr uint64_t kNever = (uint64_t{1} << 62) + 64;
  for (const HeadSlot& slot : {HeadSlot{.number = ~uint64_t{0} - 1, .head = 64}, HeadSlot{.number = kNever, .head = 64},
                               HeadSlot{.number = 100, .head = kNever}, HeadSlot{.number = 100, .head = 63}}) {
    std::string bytes = log;
    bytes.replace(SlotOffset(slot.number), sizeof(slot), std::string(BytesOf(MakeHeadSlot(header.identity, slot))));
    const Logged logged = OpenBytes(bytes);
    ASSERT_TRUE(logged.status.ok()) << logged.status;
    EXPECT_EQ(logged.sequences.size(), kEntries);
  }
}

TEST(DamageTest, AnotherVersionOrSizeIsSaidAndNothingWritten) {
  const std::string log = SomeLog();
  LogHeader header;
  std::memcpy(&header, log.data(), sizeof(header));
  LogHeader newer = header;
  newer.version = 2;
  LogHeader larger = MakeLogHeader(2 * kSize, header.identity);
  for (const LogHeader& other : {newer, larger}) {
    std::string bytes = log;
    bytes.replace(0, sizeof(other), std::string(BytesOf(other)));
    auto medium = std::make_shared<sim::SimulatedMedium>(bytes, sim::Granule::kSector, 1);
    const Logged logged = OpenLog(medium->Open());
    EXPECT_EQ(logged.status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(logged.status.message(), HasSubstr(other.version == 2 ? "version 2" : "32768 bytes"));
    EXPECT_EQ(medium->bytes(), bytes);
  }
}

}  // namespace
}  // namespace skein::durable
