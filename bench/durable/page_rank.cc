#include "bench/durable/page_rank.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/fabric/sim/random.h"

namespace skein::bench::durable {
namespace {

// A quarter of the matrix at a time.
Edge Draw(uint32_t bits, fabric::sim::Random& random) {
  Edge edge;
  for (uint32_t bit = 0; bit < bits; ++bit) {
    const double at = random.Fraction();
    edge.from = 2 * edge.from + (at < 0.76 ? 0 : 1);
    edge.to = 2 * edge.to + (at < 0.57 || (at >= 0.76 && at < 0.95) ? 0 : 1);
  }
  return edge;
}

uint32_t PagesOf(const GraphSize& size) {
  return static_cast<uint32_t>((size.edges + PageRankWorkload::kPageEdges - 1) / PageRankWorkload::kPageEdges);
}

uint32_t PassesOf(const GraphSize& size, uint64_t seed) {
  const std::vector<Edge> edges = MakeGraph(size, seed);
  PageRank rank(size.nodes);
  do {
    rank.Add(edges);
  } while (rank.EndPass());
  return rank.passes();
}

}  // namespace

const GraphSize* GraphSizeOf(absl::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kGraphs), std::end(kGraphs), [name](const GraphSize& size) { return size.name == name; });
  return found == std::end(kGraphs) ? nullptr : found;
}

std::vector<Edge> MakeGraph(const GraphSize& size, uint64_t seed) {
  fabric::sim::Random random(seed);
  uint32_t bits = 0;
  while (uint64_t{1} << bits < size.nodes) ++bits;
  std::vector<Edge> edges;
  edges.reserve(size.edges);
  while (edges.size() < size.edges) {
    const Edge edge = Draw(bits, random);
    if (edge.from < size.nodes && edge.to < size.nodes) edges.push_back(edge);
  }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.from < b.from; });
  return edges;
}

void PageRank::Add(absl::Span<const Edge> edges) {
  for (const Edge& edge : edges) {
    if (edge.from >= out_.size() || edge.to >= out_.size()) continue;
    if (passes_ == 0) {
      ++out_[edge.from];
    } else {
      next_[edge.to] += rank_[edge.from] / out_[edge.from];
    }
  }
}

bool PageRank::EndPass() {
  if (passes_++ == 0) return true;
  double change = 0;
  for (double& rank : next_) rank = rank * kDamping + (1 - kDamping) / static_cast<double>(next_.size());
  for (size_t i = 0; i < next_.size(); ++i) change += std::abs(next_[i] - rank_[i]);
  rank_ = std::exchange(next_, std::vector<double>(rank_.size()));
  return change > kEnough;
}

PageRankWorkload::PageRankWorkload(const GraphSize& size, uint64_t seed, size_t ahead, absl::Duration thinks,
                                   absl::Duration edge)
    : pages_(PagesOf(size)), ahead_(ahead), thinks_(thinks), edge_(edge), passes_(PassesOf(size, seed)) {}

std::optional<Step> PageRankWorkload::Next(fabric::sim::Random& /*random*/) {
  if (pass_ > passes_) return std::nullopt;
  Step step;
  step.requests.push_back({.object = page_, .is_write = pass_ == 0 ? 1u : 0u, .object_bytes = kPageBytes});
  step.thinks = thinks_;
  step.computes = pass_ == 0 ? absl::ZeroDuration() : edge_ * kPageEdges;
  // A pass needs all of the one before.
  step.waits = page_ == 0 || ahead_ == 1;
  if (++page_ == pages_) {
    page_ = 0;
    ++pass_;
  }
  return step;
}

}  // namespace skein::bench::durable
