#include "bench/durable/page_rank.h"

#include <algorithm>
#include <numeric>

#include "gtest/gtest.h"

namespace skein::bench::durable {
namespace {

const GraphSize& Small() { return *GraphSizeOf("small"); }

TEST(GraphTest, HasTheSizeOfItsNameAndIsTheSameAgain) {
  const std::vector<Edge> edges = MakeGraph(Small(), 7);
  ASSERT_EQ(edges.size(), Small().edges);
  const auto same = [](const Edge& a, const Edge& b) { return a.from == b.from && a.to == b.to; };
  EXPECT_TRUE(std::equal(edges.begin(), edges.end(), MakeGraph(Small(), 7).begin(), same));
  EXPECT_FALSE(std::equal(edges.begin(), edges.end(), MakeGraph(Small(), 8).begin(), same));
  EXPECT_TRUE(std::is_sorted(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.from < b.from; }));
  EXPECT_TRUE(std::all_of(edges.begin(), edges.end(),
                          [](const Edge& edge) { return edge.from < Small().nodes && edge.to < Small().nodes; }));
  EXPECT_EQ(GraphSizeOf("large"), nullptr);
}

TEST(GraphTest, FewNodesHaveMostOfTheEdges) {
  std::vector<uint32_t> degrees(Small().nodes);
  for (const Edge& edge : MakeGraph(Small(), 7)) ++degrees[edge.to];
  std::sort(degrees.rbegin(), degrees.rend());
  EXPECT_GT(std::accumulate(degrees.begin(), degrees.begin() + Small().nodes / 10, 0u), Small().edges / 3);
}

std::vector<double> RanksOf(uint32_t nodes, const std::vector<Edge>& edges, size_t page) {
  PageRank rank(nodes);
  do {
    for (size_t i = 0; i < edges.size(); i += page) {
      rank.Add(absl::MakeSpan(edges).subspan(i, std::min(page, edges.size() - i)));
    }
  } while (rank.EndPass());
  return {rank.ranks().begin(), rank.ranks().end()};
}

TEST(PageRankTest, OfACircleAllAreEqual) {
  for (const double rank : RanksOf(4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}, 4)) EXPECT_NEAR(rank, 0.25, 1e-6);
}

TEST(PageRankTest, IsTheFixedPointOfItsEquation) {
  // 0 and 1 lead to 2, which leads to 0: r0 = .2/3 + .8 r2, r1 = .2/3, r2 = .2/3 + .8 (r0 + r1).
  const std::vector<double> ranks = RanksOf(3, {{0, 2}, {1, 2}, {2, 0}}, 2);
  EXPECT_NEAR(ranks[1], 0.2 / 3, 1e-6);
  EXPECT_NEAR(ranks[0], 0.2 / 3 + 0.8 * ranks[2], 1e-6);
  EXPECT_NEAR(ranks[2], 0.2 / 3 + 0.8 * (ranks[0] + ranks[1]), 1e-6);
}

TEST(PageRankTest, DoesNotDependOnHowTheEdgesCome) {
  const std::vector<Edge> edges = MakeGraph(Small(), 7);
  EXPECT_EQ(RanksOf(Small().nodes, edges, 1), RanksOf(Small().nodes, edges, 512));
}

TEST(PageRankTest, LeavesOutEdgesOfNodesThatThereAreNot) {
  EXPECT_EQ(RanksOf(2, {{0, 1}, {7, 0}, {1, 9}, {1, 0}}, 4), RanksOf(2, {{0, 1}, {1, 0}}, 4));
}

TEST(PageRankWorkloadTest, StoresTheGraphAndReadsItInEachPass) {
  PageRankWorkload workload(Small(), 7, 8, absl::Nanoseconds(150), absl::Nanoseconds(4));
  fabric::sim::Random random(1);
  const uint32_t pages = (Small().edges * sizeof(Edge) + 4095) / 4096;
  uint32_t writes = 0;
  uint32_t reads = 0;
  uint32_t waits = 0;
  while (const std::optional<Step> step = workload.Next(random)) {
    (step->requests[0].is_write != 0 ? writes : reads) += 1;
    EXPECT_EQ(step->requests[0].is_write != 0, step->computes == absl::ZeroDuration());
    waits += step->waits ? 1 : 0;
  }
  EXPECT_EQ(writes, pages);
  EXPECT_EQ(reads, pages * workload.passes());
  EXPECT_EQ(waits, 1 + workload.passes());
  EXPECT_GT(workload.passes(), 10u);
}

}  // namespace
}  // namespace skein::bench::durable
