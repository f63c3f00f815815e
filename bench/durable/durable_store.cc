// SC'21's applications on real calls of a Thrift service that keeps records in its memory: YCSB, or PageRank.
//   bench_durable_store --application=A --way=early --log=FILE [--skein] [--work=100us] --operations=10000
// The way: "plain" calls; "waits": durable ones, a write is over when it is answered; "early": when it is known to be
// safe. Each record that is read is compared with what was written, and PageRank's ranks with those of the same graph
// without a server. Prints the figures as JSON. Exit status: 0; 1 failed, or a record or a rank is wrong.
#include <skein/thrift/durable_transport.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/transport/TBufferTransports.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/durable/BenchStore.h"
#include "bench/durable/page_rank.h"
#include "bench/durable/thrift_ends.h"
#include "bench/durable/ycsb.h"
#include "bench/server_process.h"

ABSL_FLAG(std::string, application, "A",
          "YCSB's A to F; or PageRank on a graph: small, wordassociation-2011, enron, dblp-2010");
ABSL_FLAG(std::string, way, "plain", "plain, waits or early");
ABSL_FLAG(bool, skein, false, "whether over Skein's shared memory; or else over TCP");
ABSL_FLAG(std::string, log, "", "the server's redo log; for the ways but plain");
ABSL_FLAG(absl::Duration, work, absl::ZeroDuration(), "that a handler computes besides");
ABSL_FLAG(uint64_t, operations, 10000, "of YCSB");
ABSL_FLAG(uint32_t, records, 1000, "of YCSB");
ABSL_FLAG(uint64_t, seed, 1, "of all chance");

namespace skein::bench {
namespace {

using apache::thrift::protocol::TBinaryProtocol;
using apache::thrift::transport::TTransport;
using thrift_transport::TSkeinDurableTransport;

constexpr size_t kValueBytes = 4096;

ThriftCarrier Carrier() {
  return {.skein = absl::GetFlag(FLAGS_skein), .log = absl::GetFlag(FLAGS_log), .replicas = {}};
}

class Records final : public BenchStoreIf {
 public:
  void get(std::string& value, int64_t key) override {
    Work();
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = records_.find(key);
    if (found != records_.end()) value = found->second;
  }
  void put(int64_t key, const std::string& value) override {
    Work();
    const std::lock_guard<std::mutex> lock(mutex_);
    records_[key] = value;
  }
  void put_safely(int64_t key, const std::string& value) override { put(key, value); }

 private:
  // On the processor, as a handler would.
  static void Work() {
    const absl::Time end = absl::Now() + absl::GetFlag(FLAGS_work);
    while (absl::Now() < end) continue;
  }

  std::mutex mutex_;
  absl::flat_hash_map<int64_t, std::string> records_;
};

// Throws what Thrift throws.
class Store {
 public:
  Store(absl::string_view way, int port) : early_(way == "early") {
    std::shared_ptr<TTransport> transport;
    if (way == "plain") {
      transport = std::make_shared<apache::thrift::transport::TBufferedTransport>(ThriftSocket(Carrier(), port));
    } else {
      transport = durable_ = std::make_shared<TSkeinDurableTransport>([port] { return ThriftSocket(Carrier(), port); });
    }
    client_ = std::make_unique<BenchStoreClient>(std::make_shared<TBinaryProtocol>(transport));
    transport->open();
  }

  std::string Get(int64_t key) {
    std::string value;
    client_->get(value, key);
    return value;
  }
  void Put(int64_t key, const std::string& value) {
    if (!early_) return client_->put(key, value);
    client_->put_safely(key, value);
    level_ = durable_->waitPersisted();
  }
  const std::string& level() const { return level_; }

 private:
  const bool early_;
  std::shared_ptr<TSkeinDurableTransport> durable_;
  std::unique_ptr<BenchStoreClient> client_;
  std::string level_;  // of what was known to be safe
};

class Times {
 public:
  template <typename Action>
  void Measure(Action action) {
    const absl::Time start = absl::Now();
    action();
    times_.push_back(absl::ToDoubleMicroseconds(absl::Now() - start));
  }
  double At(double part) {
    std::sort(times_.begin(), times_.end());
    return times_[static_cast<size_t>(part * static_cast<double>(times_.size() - 1))];
  }
  double Mean() const {
    double sum = 0;
    for (const double time : times_) sum += time;
    return sum / static_cast<double>(times_.size());
  }

 private:
  std::vector<double> times_;
};

// Each value says whose it is, and the how-manieth.
class CheckedRecords {
 public:
  explicit CheckedRecords(Store& store) : store_(store) {}
  void Write(uint32_t record) { store_.Put(record, ValueOf(record, ++versions_[record])); }
  void Read(uint32_t record) {
    if (store_.Get(record) != ValueOf(record, versions_[record])) throw std::runtime_error("a record is another");
  }

 private:
  static std::string ValueOf(uint32_t record, uint32_t version) {
    std::string value(kValueBytes, static_cast<char>('a' + record % 26));
    std::memcpy(value.data(), &record, sizeof(record));
    std::memcpy(value.data() + sizeof(record), &version, sizeof(version));
    return value;
  }

  Store& store_;
  absl::flat_hash_map<uint32_t, uint32_t> versions_;
};

void Do(const durable::YcsbOperation& operation, CheckedRecords& records) {
  using durable::YcsbKind;
  const YcsbKind kind = operation.kind;
  if (kind != YcsbKind::kUpdate && kind != YcsbKind::kInsert) {
    for (uint32_t i = 0; i < operation.count; ++i) records.Read(operation.record + i);
  }
  if (kind != YcsbKind::kRead && kind != YcsbKind::kScan) records.Write(operation.record);
}

void RunYcsb(const durable::YcsbMix& mix, Store& store) {
  durable::Ycsb ycsb(mix, absl::GetFlag(FLAGS_records), 0.99);
  fabric::sim::Random random(absl::GetFlag(FLAGS_seed));
  CheckedRecords records(store);
  for (uint32_t i = 0; i < ycsb.records(); ++i) records.Write(i);
  Times times;
  for (uint64_t i = 0; i < absl::GetFlag(FLAGS_operations); ++i) {
    const durable::YcsbOperation operation = ycsb.Next(random);
    times.Measure([&] { Do(operation, records); });
  }
  absl::PrintF(R"({"mean_us": %.2f, "p50_us": %.2f, "p99_us": %.2f, "level": "%s"})"
               "\n",
               times.Mean(), times.At(0.5), times.At(0.99), store.level());
}

std::vector<durable::Edge> EdgesOf(absl::string_view page) {
  std::vector<durable::Edge> edges(page.size() / sizeof(durable::Edge));
  if (!edges.empty()) std::memcpy(edges.data(), page.data(), edges.size() * sizeof(durable::Edge));
  return edges;
}

void RunPageRank(const durable::GraphSize& size, Store& store) {
  const std::vector<durable::Edge> edges = durable::MakeGraph(size, absl::GetFlag(FLAGS_seed));
  constexpr size_t kPage = durable::PageRankWorkload::kPageEdges;
  const size_t pages = (edges.size() + kPage - 1) / kPage;
  const absl::Time start = absl::Now();
  for (size_t page = 0; page < pages; ++page) {
    const size_t count = std::min(kPage, edges.size() - page * kPage);
    const char* const first = reinterpret_cast<const char*>(&edges[page * kPage]);
    store.Put(static_cast<int64_t>(page), std::string(first, count * sizeof(durable::Edge)));
  }
  durable::PageRank rank(size.nodes);
  do {
    for (size_t page = 0; page < pages; ++page) rank.Add(EdgesOf(store.Get(static_cast<int64_t>(page))));
  } while (rank.EndPass());
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);

  durable::PageRank local(size.nodes);
  do {
    local.Add(edges);
  } while (local.EndPass());
  if (rank.ranks() != local.ranks()) throw std::runtime_error("the ranks are not those of this graph");
  absl::PrintF(R"({"seconds": %.6f, "passes": %d, "level": "%s"})"
               "\n",
               seconds, rank.passes(), store.level());
}

int Main(int port) {
  const std::string way = absl::GetFlag(FLAGS_way);
  const std::string application = absl::GetFlag(FLAGS_application);
  if ((way != "plain" && way != "waits" && way != "early") || (way == "plain") != absl::GetFlag(FLAGS_log).empty()) {
    std::cerr << "bench_durable_store: --way is plain, or waits or early with a --log" << std::endl;
    return 1;
  }
  Store store(way, port);
  if (const durable::YcsbMix* const mix = durable::YcsbMixOf(application)) {
    RunYcsb(*mix, store);
  } else if (const durable::GraphSize* const graph = durable::GraphSizeOf(application)) {
    RunPageRank(*graph, store);
  } else {
    std::cerr << "bench_durable_store: no application is called \"" << application << "\"" << std::endl;
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  skein::bench::ServerProcess server([](int port_fd) {
    using namespace skein::bench;  // NOLINT(google-build-using-namespace): of this benchmark
    return ServeThrift(Carrier(), std::make_shared<BenchStoreProcessor>(std::make_shared<Records>()), port_fd);
  });
  const std::string port = server.Address();
  if (port.empty()) return 1;
  try {
    return skein::bench::Main(std::stoi(port));
  } catch (const std::exception& error) {
    std::cerr << "bench_durable_store: " << error.what() << std::endl;
    return 1;
  }
}
