// RDMC's schedule: the binomial pipeline (Ganesan and Seshadri; the paper's reference 7).
//
// Of 2^l members each is a vertex of a hypercube. At step s all exchange along dimension s mod l. The sender passes
// block s there, and the last block from then on; block b doubles its holders in the l steps from b on, so that all
// have the last one after blocks + l - 1 steps. The holders of block b have bit b mod l in their number. Thus the
// lowest bit of a vertex, counted from the step's dimension upwards and round, names the block that it passes on.
//
// Of other numbers, more than 2^l members, each of the members behind the first 2^l shares a vertex with one of
// vertices 1, 2, 3, ...: the vertex does what the rule says of it. At each step one of the two sends along the edge,
// the other receives along it and gives the first something that only the other has. After the last step of the cube
// the two exchange what is left: one step.
#include <algorithm>
#include <bit>
#include <deque>

#include "core/replicate/schedule.h"

namespace skein::replicate {
namespace {

struct Cube {
  explicit Cube(uint32_t members)
      : dimensions(static_cast<uint32_t>(std::bit_width(members)) - 1),
        vertices(1U << dimensions),
        pairs(members - vertices) {}

  bool IsPair(uint32_t vertex) const { return vertex >= 1 && vertex <= pairs; }
  uint32_t VertexOf(uint32_t member) const { return member < vertices ? member : member - vertices + 1; }
  uint32_t MateOf(uint32_t vertex) const { return vertices + vertex - 1; }
  uint32_t NeighbourAt(uint32_t vertex, uint32_t step) const { return vertex ^ 1U << step % dimensions; }

  // What a vertex passes to its neighbour; null: nothing.
  std::optional<uint32_t> BlockAt(uint32_t vertex, uint32_t step, uint32_t blocks) const {
    if (NeighbourAt(vertex, step) == 0) return std::nullopt;
    uint32_t behind = 0;  // how many steps ago the holders of the block were half of now
    if (vertex != 0) {
      const uint32_t at = step % dimensions;
      const uint32_t turned = (vertex >> at | vertex << (dimensions - at)) & (vertices - 1);
      behind = dimensions - static_cast<uint32_t>(std::countr_zero(turned));
    }
    if (step < behind) return std::nullopt;
    return std::min(step - behind, blocks - 1);
  }

  const uint32_t dimensions;
  const uint32_t vertices;
  const uint32_t pairs;  // vertices 1 to this have two members
};

// The members of one vertex, step by step. A vertex with one member is a pair whose two are the same.
class Vertex {
 public:
  Vertex(const Cube& cube, uint32_t number)
      : members_{number, cube.IsPair(number) ? cube.MateOf(number) : number}, pair_(cube.IsPair(number)) {}

  // What happens at a step inside, and who of the two meets the edges.
  struct Step {
    uint32_t sender = 0;    // along the edge
    uint32_t receiver = 0;  // along the edge
    struct Gift {
      uint32_t from = 0;
      uint32_t to = 0;
      uint32_t block = 0;
    };
    std::vector<Gift> gifts;
  };

  // `sends`, `receives`: blocks along the edge.
  Step Take(std::optional<uint32_t> sends, std::optional<uint32_t> receives) {
    const int sender = pair_ ? SenderOf(sends) : 0;
    const int receiver = pair_ ? 1 - sender : 0;
    Step step{members_[sender], members_[receiver], {}};
    if (!pair_) return step;
    Give(receiver, sender, step);
    // Without an edge to meet, the other is free to give and receive as well.
    if (!sends && !receives) Give(sender, receiver, step);
    // Behind the gifts: what arrives at this step can be given at the next.
    if (receives) lacks_[sender].push_back(*receives);
    return step;
  }

 private:
  bool Has(int which, uint32_t block) const {
    return std::find(lacks_[which].begin(), lacks_[which].end(), block) == lacks_[which].end();
  }
  // Who has the block; of two that have it, the one to which the other can give more.
  int SenderOf(std::optional<uint32_t> sends) const {
    if (sends && !Has(0, *sends)) return 1;
    if (sends && !Has(1, *sends)) return 0;
    return lacks_[0].size() >= lacks_[1].size() ? 0 : 1;
  }
  void Give(int from, int to, Step& step) {
    if (lacks_[to].empty()) return;
    step.gifts.push_back({members_[from], members_[to], lacks_[to].front()});
    lacks_[to].pop_front();
  }

  const uint32_t members_[2];
  const bool pair_;
  std::deque<uint32_t> lacks_[2];  // what only the other has, in the order it came
};

class Pipeline final : public Schedule {
 public:
  uint32_t Steps(Shape shape) const override {
    return shape.members < 2 ? 0 : static_cast<uint32_t>(std::bit_width(shape.members - 1)) + shape.blocks - 1;
  }

  Part PartOf(Shape shape, uint32_t member) const override {
    Part part;
    if (shape.members < 2) return part;
    const Cube cube(shape.members);
    const uint32_t own = cube.VertexOf(member);
    Vertex here(cube, own);
    std::vector<Vertex> neighbours;  // by dimension; all of them go on at each step
    for (uint32_t d = 0; d < cube.dimensions; ++d) neighbours.emplace_back(cube, cube.NeighbourAt(own, d));
    for (uint32_t step = 0; step < Steps(shape); ++step) {
      const Vertex::Step mine = StepOf(cube, here, own, step, shape.blocks);
      for (const Vertex::Step::Gift& gift : mine.gifts) {
        if (gift.from == member) part.sends.push_back({step, gift.to, gift.block});
        if (gift.to == member) part.receives.push_back({step, gift.from, gift.block});
      }
      for (uint32_t d = 0; d < cube.dimensions; ++d) {
        const uint32_t other = own ^ 1U << d;
        const Vertex::Step theirs = StepOf(cube, neighbours[d], other, step, shape.blocks);
        if (cube.NeighbourAt(own, step) != other) continue;
        const std::optional<uint32_t> out = Along(cube, own, step, shape.blocks);
        const std::optional<uint32_t> in = Along(cube, other, step, shape.blocks);
        if (out && mine.sender == member) part.sends.push_back({step, theirs.receiver, *out});
        if (in && mine.receiver == member) part.receives.push_back({step, theirs.sender, *in});
      }
    }
    return part;
  }

  std::vector<uint32_t> PeersOf(uint32_t members, uint32_t member) const override {
    if (members < 2) return {};
    const Cube cube(members);
    const uint32_t own = cube.VertexOf(member);
    std::vector<uint32_t> peers;
    for (uint32_t d = 0; d < cube.dimensions; ++d) {
      const uint32_t other = own ^ 1U << d;
      peers.push_back(other);
      if (cube.IsPair(other)) peers.push_back(cube.MateOf(other));
    }
    if (cube.IsPair(own)) peers.push_back(member == own ? cube.MateOf(own) : own);
    std::sort(peers.begin(), peers.end());
    return peers;
  }

  uint32_t ParentOf(uint32_t members, uint32_t member) const override {
    const Cube cube(members);
    return member < cube.vertices ? member & (member - 1) : cube.VertexOf(member);
  }

 private:
  // Along the edge of this step, while the cube has steps left.
  static std::optional<uint32_t> Along(const Cube& cube, uint32_t vertex, uint32_t step, uint32_t blocks) {
    if (step >= cube.dimensions + blocks - 1) return std::nullopt;
    return cube.BlockAt(vertex, step, blocks);
  }
  static Vertex::Step StepOf(const Cube& cube, Vertex& vertex, uint32_t number, uint32_t step, uint32_t blocks) {
    return vertex.Take(Along(cube, number, step, blocks), Along(cube, cube.NeighbourAt(number, step), step, blocks));
  }
};

}  // namespace

const Schedule& BinomialPipeline() {
  static const Pipeline pipeline;
  return pipeline;
}

}  // namespace skein::replicate
