#include "bench/durable/experiments.h"

#include "bench/durable/ends.h"
#include "bench/durable/exchange.h"

namespace skein::bench::durable {
namespace {

class Plan {
 public:
  Plan(uint64_t seed, bool quick) : seed_(seed), quick_(quick) {}

  // The scenario, for every exchange that can do it.
  void Add(const std::string& experiment, const Scenario& scenario) {
    for (const std::string& exchange : Exchanges()) {
      if (scenario.object_bytes > LargestObject(exchange)) continue;
      Scenario one = scenario;
      one.exchange = exchange;
      one.seed = seed_;
      one.operations = quick_ ? 1500 : 20000;
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

}  // namespace skein::bench::durable
