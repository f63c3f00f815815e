#include "bench/durable/experiments.h"

#include <algorithm>

#include "bench/durable/ends.h"
#include "bench/durable/exchange.h"
#include "bench/durable/page_rank.h"
#include "bench/durable/ycsb.h"

namespace skein::bench::durable {
namespace {

class Plan {
 public:
  Plan(uint64_t seed, bool quick) : seed_(seed), quick_(quick) {}

  // The scenario, for every exchange that can do it.
  void Add(const std::string& experiment, const Scenario& scenario, uint64_t operations = 20000) {
    for (const std::string& exchange : Exchanges()) {
      if (scenario.object_bytes > LargestObject(exchange)) continue;
      Scenario one = scenario;
      one.exchange = exchange;
      one.seed = seed_;
      one.operations = quick_ ? std::min<uint64_t>(1500, operations) : operations;
      points_.push_back({experiment, one});
    }
  }
  std::vector<Point> points() && { return std::move(points_); }

 private:
  static size_t LargestObject(const std::string& name) {
    for (const Exchange& exchange : kExchanges) {
      if (exchange.name == name) return exchange.largest_object;
    }
    return ~size_t{0};
  }

  const uint64_t seed_;
  const bool quick_;
  std::vector<Point> points_;
};

constexpr uint64_t kAll = 0;  // requests: until the application ends
constexpr size_t kReadAhead = 8;
constexpr size_t kFile = 65536;  // the paper's objects, where it names no size

void AddYcsb(Plan& plan) {
  for (const bool heavy : {true, false}) {
    for (const YcsbMix& mix : kYcsb) {
      plan.Add("ycsb", {.object_bytes = 4096, .heavy = heavy, .application = std::string(mix.name)});
    }
    plan.Add("ycsb", {.object_bytes = 4096, .heavy = heavy, .application = "E", .ahead = Ycsb::kLongestScan});
  }
}

void AddPageRank(Plan& plan, bool quick) {
  for (const GraphSize& graph : kGraphs) {
    if (quick != (graph.name == "small")) continue;
    for (const bool heavy : {true, false}) {
      for (const size_t ahead : {size_t{1}, kReadAhead}) {
        plan.Add("pagerank",
                 {.object_bytes = PageRankWorkload::kPageBytes,
                  .heavy = heavy,
                  .application = std::string(graph.name),
                  .ahead = ahead},
                 kAll);
      }
    }
  }
}

void AddSensitivity(Plan& plan) {
  for (const size_t bytes : {64, 256, 1024, 4096, 16384, 65536})
    plan.Add("object sizes", {.object_bytes = bytes}, 8000);
  plan.Add("beside", {.object_bytes = kFile}, 4000);
  plan.Add("beside", {.object_bytes = kFile, .background = 64}, 4000);
  plan.Add("beside", {.object_bytes = kFile, .busy_receiver = true}, 4000);
  plan.Add("beside", {.object_bytes = kFile, .busy_sender = true}, 4000);
  for (const double media : {1, 2, 4, 8}) {
    plan.Add("media", {.object_bytes = 4096, .application = "A", .media = media}, 8000);
  }
}

}  // namespace

std::vector<Point> Experiments(uint64_t seed, bool quick) {
  Plan plan(seed, quick);
  for (const bool heavy : {true, false}) {
    for (const size_t bytes : {size_t{32}, size_t{1024}, size_t{65536}}) {
      if (quick && bytes != 1024) continue;
      plan.Add("sizes", {.object_bytes = bytes, .heavy = heavy});
    }
  }
  for (const uint32_t reads : {5, 95}) {
    if (!quick) plan.Add("reads", {.object_bytes = 1024, .heavy = true, .read_percent = reads});
  }
  for (const bool heavy : {true, false}) {
    for (const size_t senders : {2, 4, 8, 16}) {
      if (!quick) plan.Add("senders", {.object_bytes = 1024, .heavy = heavy, .senders = senders});
    }
  }
  for (const size_t batch : {4, 16}) {
    if (!quick) plan.Add("batches", {.object_bytes = 1024, .heavy = false, .batch = batch});
  }
  return std::move(plan).points();
}

std::vector<Point> Applications(uint64_t seed, bool quick) {
  Plan plan(seed, quick);
  AddYcsb(plan);
  AddPageRank(plan, quick);
  if (!quick) AddSensitivity(plan);
  return std::move(plan).points();
}

std::vector<Point> Recoveries(uint64_t seed, bool quick) {
  Plan plan(seed, quick);
  for (const bool heavy : {true, false}) {
    for (const uint32_t reads : {5, 50, 95}) {
      if (!quick || reads == 50) plan.Add("recovery", {.heavy = heavy, .read_percent = reads}, 8000);
    }
  }
  return std::move(plan).points();
}

}  // namespace skein::bench::durable
