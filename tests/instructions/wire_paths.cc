// What a peer has sent, decoded: hostile bytes until it is.
#include <string>

#include "core/wire/message.h"
#include "core/wire/negotiation.h"
#include "tests/instructions/hot_path.h"
#include "tests/support/raw_message.h"
#include "tests/support/wire_samples.h"

namespace skein::instructions {
namespace {

constexpr uint32_t kItems = 8;

Operation WalkItems() {
  std::string area;
  for (uint32_t i = 0; i < kItems; ++i) area += wire::RawItem(wire::ItemKind::kData, 3, i, std::string(64, 'x'));
  return [area] {
    const absl::Span<const std::byte> bytes(reinterpret_cast<const std::byte*>(area.data()), area.size());
    for (wire::ItemWalk items(kItems, bytes); !items.done();) Require(items.Next().ok(), "an item");
  };
}

Operation Offer() {
  return [bytes = wire::EncodeOffer(wire::SampleOffer())] { Require(wire::DecodeOffer(bytes).ok(), "an offer"); };
}

Operation Answer() {
  return [bytes = wire::EncodeAnswer(wire::SampleYes(true))] { Require(wire::DecodeAnswer(bytes).ok(), "an answer"); };
}

}  // namespace

std::vector<HotPath> WirePaths() {
  return {{"wire.eight_items", 256, WalkItems}, {"wire.offer", 256, Offer}, {"wire.answer", 256, Answer}};
}

}  // namespace skein::instructions
