// Items whose headers lie: the walk stays inside the area it was given, and says so.
#include <string>
#include <vector>

#include "core/wire/message.h"
#include "gtest/gtest.h"
#include "tests/support/exact_bytes.h"
#include "tests/support/raw_message.h"

namespace skein::wire {
namespace {

// The payloads of what the walk gave before it ended, and how it ended.
struct Walked {
  std::vector<std::string> payloads;
  absl::Status end;
};

Walked Walk(uint32_t items, absl::string_view area) {
  const ExactBytes exact(area);
  Walked walked;
  for (ItemWalk walk(items, exact.bytes()); !walk.done();) {
    const absl::StatusOr<Item> item = walk.Next();
    walked.end = item.status();
    if (!item.ok()) break;
    walked.payloads.emplace_back(reinterpret_cast<const char*>(item->payload.data()), item->payload.size());
  }
  return walked;
}

ItemHeader HeaderOf(uint32_t size) {
  ItemHeader header;
  header.stream = 1;
  header.size = size;
  return header;
}

TEST(ItemWalkTest, GivesEachItemItsOwnPayload) {
  const std::string area = RawItem(ItemKind::kData, 1, 0, "a") + RawItem(ItemKind::kCloseWrite, 1, 1) +
                           RawItem(ItemKind::kData, 2, 0, "eight by") + RawItem(ItemKind::kData, 2, 1, "nine byte");
  const Walked walked = Walk(4, area);
  EXPECT_TRUE(walked.end.ok()) << walked.end;
  EXPECT_EQ(walked.payloads, (std::vector<std::string>{"a", "", "eight by", "nine byte"}));
}

TEST(ItemWalkTest, CopiesTheHeader) {
  const ExactBytes area(RawItem(ItemKind::kWindow, 7, 9, "12345678"));
  const absl::StatusOr<Item> item = ItemWalk(1, area.bytes()).Next();
  ASSERT_TRUE(item.ok()) << item.status();
  EXPECT_EQ(item->header.stream, 7u);
  EXPECT_EQ(item->header.sequence, 9u);
  EXPECT_EQ(item->header.size, 8u);
  EXPECT_EQ(item->header.kind, ItemKind::kWindow);
}

TEST(ItemWalkTest, NoItemsIsDoneAtOnce) {
  EXPECT_TRUE(ItemWalk(0, {}).done());
  EXPECT_TRUE(Walk(0, "whatever lies here").payloads.empty());
}

TEST(ItemWalkTest, ItemsThatAreNotThereEndIt) {
  const std::string one = RawItem(ItemKind::kData, 1, 0, "only");
  for (uint32_t count : {2u, 3u, 0x80000000u, UINT32_MAX}) {
    const Walked walked = Walk(count, one);
    EXPECT_EQ(walked.end.code(), absl::StatusCode::kDataLoss) << count;
    EXPECT_EQ(walked.payloads.size(), 1u);
  }
}

TEST(ItemWalkTest, EveryTruncationEndsIt) {
  const std::string area = RawItem(ItemKind::kData, 1, 0, "nine byte") + RawItem(ItemKind::kData, 1, 1, "last");
  for (size_t size = 0; size < area.size(); ++size) {
    EXPECT_EQ(Walk(2, area.substr(0, size)).end.code(), absl::StatusCode::kDataLoss) << size;
  }
}

TEST(ItemWalkTest, SizesPastTheEndEndIt) {
  // The last few overflow 32 bits when padded.
  for (uint32_t size : {17u, 24u, 4096u, 0x7fffffffu, 0x80000000u, 0xfffffff8u, 0xfffffff9u, UINT32_MAX}) {
    const Walked walked = Walk(1, RawItem(HeaderOf(size), "sixteen bytes ok"));
    EXPECT_EQ(walked.end.code(), absl::StatusCode::kDataLoss) << size;
    EXPECT_TRUE(walked.payloads.empty()) << size;
  }
}

TEST(ItemWalkTest, AnItemMayFillTheAreaToItsEnd) {
  const Walked walked = Walk(1, RawItem(HeaderOf(16), "sixteen bytes ok"));
  EXPECT_TRUE(walked.end.ok()) << walked.end;
  EXPECT_EQ(walked.payloads, std::vector<std::string>{"sixteen bytes ok"});
}

TEST(ItemWalkTest, PaddingMustBeThere) {
  const std::string whole = RawItem(HeaderOf(5), "fives");
  EXPECT_TRUE(Walk(1, whole).end.ok());
  EXPECT_EQ(Walk(1, whole.substr(0, sizeof(ItemHeader) + 5)).end.code(), absl::StatusCode::kDataLoss);
}

TEST(ItemWalkTest, UnknownKindsAndReservedBitsEndIt) {
  for (int kind = 0; kind < 256; ++kind) {
    ItemHeader header;
    header.kind = static_cast<ItemKind>(kind);
    EXPECT_EQ(Walk(1, RawItem(header)).end.ok(), kind >= 1 && kind <= 9) << kind;
  }
  ItemHeader flags;
  flags.flags = 1;
  EXPECT_EQ(Walk(1, RawItem(flags)).end.code(), absl::StatusCode::kDataLoss);
  ItemHeader reserved;
  reserved.reserved = 0x100;
  EXPECT_EQ(Walk(1, RawItem(reserved)).end.code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace skein::wire
