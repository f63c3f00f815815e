#include "core/replicate/schedule.h"

#include <algorithm>
#include <bit>

namespace skein::replicate {
namespace {

// The sender's steps are all there are.
class Sequential final : public Schedule {
 public:
  uint32_t Steps(Shape shape) const override { return (shape.members - 1) * shape.blocks; }

  Part PartOf(Shape shape, uint32_t member) const override {
    Part part;
    if (member > 0) {
      for (uint32_t b = 0; b < shape.blocks; ++b) part.receives.push_back({(member - 1) * shape.blocks + b, 0, b});
      return part;
    }
    for (uint32_t step = 0; step < Steps(shape); ++step) {
      part.sends.push_back({step, step / shape.blocks + 1, step % shape.blocks});
    }
    return part;
  }

  std::vector<uint32_t> PeersOf(uint32_t members, uint32_t member) const override {
    if (member > 0) return {0};
    std::vector<uint32_t> peers;
    for (uint32_t peer = 1; peer < members; ++peer) peers.push_back(peer);
    return peers;
  }

  uint32_t ParentOf(uint32_t, uint32_t) const override { return 0; }
};

// Member m sends block b at step m + b.
class Chain final : public Schedule {
 public:
  uint32_t Steps(Shape shape) const override { return shape.members < 2 ? 0 : shape.blocks + shape.members - 2; }

  Part PartOf(Shape shape, uint32_t member) const override {
    Part part;
    for (uint32_t b = 0; b < shape.blocks; ++b) {
      if (member + 1 < shape.members) part.sends.push_back({member + b, member + 1, b});
      if (member > 0) part.receives.push_back({member - 1 + b, member - 1, b});
    }
    return part;
  }

  std::vector<uint32_t> PeersOf(uint32_t members, uint32_t member) const override {
    std::vector<uint32_t> peers;
    if (member > 0) peers.push_back(member - 1);
    if (member + 1 < members) peers.push_back(member + 1);
    return peers;
  }

  uint32_t ParentOf(uint32_t, uint32_t member) const override { return member - 1; }
};

// In round r the members below 2^r give the whole to those 2^r further on; a round has a step for each block.
class BinomialTree final : public Schedule {
 public:
  uint32_t Steps(Shape shape) const override { return Rounds(shape.members) * shape.blocks; }

  Part PartOf(Shape shape, uint32_t member) const override {
    Part part;
    // A receiver is reached in the round of its highest bit, and sends from the next on.
    const uint32_t first = static_cast<uint32_t>(std::bit_width(member));
    for (uint32_t b = 0; member > 0 && b < shape.blocks; ++b) {
      part.receives.push_back({(first - 1) * shape.blocks + b, ParentOf(shape.members, member), b});
    }
    for (uint32_t round = first; round < Rounds(shape.members); ++round) {
      const uint32_t to = member + (1U << round);
      for (uint32_t b = 0; to < shape.members && b < shape.blocks; ++b) {
        part.sends.push_back({round * shape.blocks + b, to, b});
      }
    }
    return part;
  }

  std::vector<uint32_t> PeersOf(uint32_t members, uint32_t member) const override {
    std::vector<uint32_t> peers;
    if (member > 0) peers.push_back(ParentOf(members, member));
    for (auto round = static_cast<uint32_t>(std::bit_width(member)); round < Rounds(members); ++round) {
      if (member + (1U << round) < members) peers.push_back(member + (1U << round));
    }
    return peers;
  }

  uint32_t ParentOf(uint32_t, uint32_t member) const override { return member - std::bit_floor(member); }

 private:
  static uint32_t Rounds(uint32_t members) { return static_cast<uint32_t>(std::bit_width(members - 1)); }
};

}  // namespace

const char* NameOf(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kSequential:
      return "sequential";
    case ScheduleKind::kChain:
      return "chain";
    case ScheduleKind::kBinomialTree:
      return "tree";
    case ScheduleKind::kBinomialPipeline:
      return "pipeline";
  }
  return "unknown";
}

std::optional<Transfer> Part::At(const std::vector<Transfer>& transfers, uint32_t step) {
  const auto found = std::lower_bound(transfers.begin(), transfers.end(), step,
                                      [](const Transfer& transfer, uint32_t at) { return transfer.step < at; });
  if (found == transfers.end() || found->step != step) return std::nullopt;
  return *found;
}

const Schedule* FindSchedule(ScheduleKind kind) {
  static const Sequential sequential;
  static const Chain chain;
  static const BinomialTree tree;
  switch (kind) {
    case ScheduleKind::kSequential:
      return &sequential;
    case ScheduleKind::kChain:
      return &chain;
    case ScheduleKind::kBinomialTree:
      return &tree;
    case ScheduleKind::kBinomialPipeline:
      return &BinomialPipeline();
  }
  return nullptr;
}

}  // namespace skein::replicate
