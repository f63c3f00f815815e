#include "core/wire/message.h"

#include <cstring>

#include "absl/strings/str_cat.h"

namespace skein::wire {

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

absl::StatusOr<Item> ItemWalk::Next() {
  Item item;
  if (area_.size() < sizeof(item.header)) return absl::DataLossError("a message ends inside an item's header");
  std::memcpy(&item.header, area_.data(), sizeof(item.header));
  area_.remove_prefix(sizeof(item.header));
  const ItemHeader& header = item.header;
  if (header.kind < ItemKind::kHello || header.kind > ItemKind::kPulled || header.flags != 0 || header.reserved != 0) {
    return absl::DataLossError(absl::StrCat("an item of unknown kind ", static_cast<int>(header.kind)));
  }
  if (header.size > area_.size() || PaddedPayload(header.size) > area_.size()) {
    return absl::DataLossError(absl::StrCat("an item of ", header.size, " bytes in a message with ", area_.size()));
  }
  item.payload = area_.first(header.size);
  area_.remove_prefix(PaddedPayload(header.size));
  --left_;
  return item;
}

}  // namespace skein::wire
