// PageRank as SC'21's program has it (5.1): the graph is kept by a server, and fetched anew for each iteration; the
// ranks are the client's own.
#ifndef SKEIN_BENCH_DURABLE_PAGE_RANK_H_
#define SKEIN_BENCH_DURABLE_PAGE_RANK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "bench/durable/workload.h"

namespace skein::bench::durable {

struct Edge {
  uint32_t from = 0;
  uint32_t to = 0;
};

struct GraphSize {
  absl::string_view name;
  uint32_t nodes = 0;
  uint32_t edges = 0;
};
// Of the Laboratory for Web Algorithmics, as the paper rounds them; the last is for tests.
inline constexpr GraphSize kGraphs[] = {
    {"wordassociation-2011", 10617, 72172},
    {"enron", 69244, 276143},
    {"dblp-2010", 326186, 1615400},
    {"small", 1000, 6800},
};
// nullptr: no such graph.
const GraphSize* GraphSizeOf(absl::string_view name);

// So many edges between so many nodes, in the order of where they begin, few nodes with many of them: R-MAT with
// Graph500's 57, 19, 19 and 5 per cent (Chakrabarti, Zhan, Faloutsos, SDM '04). The same seed gives the same graph.
std::vector<Edge> MakeGraph(const GraphSize& size, uint64_t seed);

// The ranks, one pass over all edges after the other: the first counts them, each of the others is an iteration.
class PageRank {
 public:
  explicit PageRank(uint32_t nodes) : out_(nodes), rank_(nodes, 1.0 / nodes), next_(nodes) {}

  // Some of the edges. Edges of nodes that there are not are left out.
  void Add(absl::Span<const Edge> edges);
  // All have been added: whether another pass is wanted.
  bool EndPass();

  absl::Span<const double> ranks() const { return rank_; }
  uint32_t passes() const { return passes_; }

 private:
  static constexpr double kDamping = 0.8;       // the program's
  static constexpr double kEnough = 0.0000001;  // likewise: the ranks' changes, summed up

  std::vector<uint32_t> out_;  // edges of a node
  std::vector<double> rank_;
  std::vector<double> next_;
  uint32_t passes_ = 0;
};

// The requests of it: the graph is stored, then read again and again, a page of edges at a time.
class PageRankWorkload final : public Workload {
 public:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kPageEdges = kPageBytes / sizeof(Edge);

  // `thinks`: before each request. `edge`: on each edge that has come.
  PageRankWorkload(const GraphSize& size, uint64_t seed, size_t ahead, absl::Duration thinks, absl::Duration edge);

  std::optional<Step> Next(fabric::sim::Random& random) override;
  uint32_t passes() const { return passes_; }

 private:
  const uint32_t pages_;
  const size_t ahead_;
  const absl::Duration thinks_;
  const absl::Duration edge_;
  uint32_t passes_ = 0;  // that reading takes
  uint32_t pass_ = 0;    // 0: the graph is stored
  uint32_t page_ = 0;
};

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_PAGE_RANK_H_
