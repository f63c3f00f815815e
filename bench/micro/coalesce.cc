// Does combining pay? Threads that each have a 64-byte item to post, one after the other under a lock (a doorbell
// each), or through the combining queue (a doorbell for each batch). The doorbell is the cost that batches share: on a
// NIC a write to the device, a few hundred nanoseconds; 0 shows what the queue itself costs.
#include <benchmark/benchmark.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/synchronization/mutex.h"
#include "core/coalesce/combining_queue.h"
#include "tests/support/held.h"

namespace skein {
namespace {

struct Item : coalesce::Entry<Item> {
  std::array<std::byte, 64> bytes{};
};

// What one at a time may use: a ring, and the device behind it.
class Port {
 public:
  explicit Port(int64_t doorbell_ns) : doorbell_(doorbell_ns) {}
  void Put(const Item& item) {
    std::memcpy(&ring_[tail_ % ring_.size()], item.bytes.data(), item.bytes.size());
    tail_ += item.bytes.size();
  }
  void RingDoorbell() {
    ++doorbells_;
    if (doorbell_.count() == 0) return;
    const auto until = std::chrono::steady_clock::now() + doorbell_;
    while (std::chrono::steady_clock::now() < until) {
    }
  }
  double items() const { return static_cast<double>(tail_) / sizeof(Item::bytes); }
  double doorbells() const { return static_cast<double>(doorbells_); }

 private:
  const std::chrono::nanoseconds doorbell_;
  std::array<std::byte, 64 << 10> ring_{};
  size_t tail_ = 0;
  uint64_t doorbells_ = 0;
};

class Spinlock {
 public:
  void lock() {
    for (int round = 1; locked_.exchange(true, std::memory_order_acquire); ++round) {
      while (locked_.load(std::memory_order_relaxed)) {
        if (++round % 64 == 0) sched_yield();
      }
    }
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

class UnderSpinlock {
 public:
  void Send(Port& port, Item& item) {
    lock_.lock();
    port.Put(item);
    port.RingDoorbell();
    lock_.unlock();
  }

 private:
  Spinlock lock_;
};

class UnderMutex {
 public:
  void Send(Port& port, Item& item) {
    Held lock(mu_);
    port.Put(item);
    port.RingDoorbell();
  }

 private:
  absl::Mutex mu_;
};

class Combining {
 public:
  void Send(Port& port, Item& item) {
    if (queue_.Join(item) == coalesce::Turn::kDone) return;
    auto batch = queue_.Gather(item, 32, [](const Item&) { return true; });
    for (const Item& each : batch) port.Put(each);
    port.RingDoorbell();
    queue_.Finish(batch);
  }

 private:
  coalesce::CombiningQueue<Item> queue_;
};

template <class Way>
void Send(benchmark::State& state) {
  static std::optional<Port> port;
  static std::optional<Way> way;
  if (state.thread_index() == 0) {
    port.emplace(state.range(0));
    way.emplace();
  }
  Item item;
  for (auto _ : state) way->Send(*port, item);
  if (state.thread_index() == 0) {
    state.counters["items"] = benchmark::Counter(port->items(), benchmark::Counter::kIsRate);
    state.counters["batch"] = port->items() / port->doorbells();
  }
}

void Cases(benchmark::internal::Benchmark* bench) {
  bench->ArgName("doorbell_ns")->Arg(0)->Arg(300)->UseRealTime();
  for (int threads : {1, 2, 4, 8, 16}) bench->Threads(threads);
}
BENCHMARK(Send<Combining>)->Apply(Cases);
BENCHMARK(Send<UnderMutex>)->Apply(Cases);
BENCHMARK(Send<UnderSpinlock>)->Apply(Cases);

}  // namespace
}  // namespace skein

BENCHMARK_MAIN();
