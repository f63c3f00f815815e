// What Abseil's B-tree takes for a get and for a scan, without anything that carries them: 32 million keys, as in
// FLOCK's thesis (4.6), asked for at random. The model of its machines (bench/sim/costs.h) has its figures from here.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>

#include "examples/ordered_index/index.h"

namespace skein::bench {
namespace {

constexpr uint64_t kKeys = 32'000'000;
constexpr uint64_t kRange = 64;

const ordered_index::Index& FullIndex() {
  static const ordered_index::Index* const full = [] {
    auto* index = new ordered_index::Index(kKeys);
    for (uint64_t key = 0; key < kKeys; ++key) index->Put(key, key).IgnoreError();
    return index;
  }();
  return *full;
}

void Get(benchmark::State& state) {
  const ordered_index::Index& index = FullIndex();
  std::minstd_rand random;
  for (auto _ : state) benchmark::DoNotOptimize(index.Get(random() % kKeys));
}

void Scan(benchmark::State& state) {
  const ordered_index::Index& index = FullIndex();
  std::minstd_rand random;
  for (auto _ : state) benchmark::DoNotOptimize(index.Count(random() % kKeys, kRange));
}

BENCHMARK(Get);
BENCHMARK(Scan);

}  // namespace
}  // namespace skein::bench

BENCHMARK_MAIN();
