#include "bench/sim/transactions/shapes.h"

#include <array>

namespace skein::bench {
namespace {

constexpr size_t kHeader = 8;  // the transaction's number
constexpr size_t kKey = 16;    // and its word

// The keys of a transaction: how many are read, and written, in each round of execution.
struct Round {
  size_t reads = 0;
  size_t writes = 0;
};
struct Kind {
  uint64_t percent;
  std::vector<Round> rounds;
};

// TATP's, by examples/transactions: a subscriber's number is looked up first by the last three.
const std::vector<Kind>& KindsOf(Mix mix) {
  static const auto& tatp = *new std::vector<Kind>{
      {70, {{1, 0}}},          // GetSubscriberData, GetAccessData
      {10, {{3, 0}}},          // GetNewDestination: a facility, and 1 to 3 call forwardings
      {2, {{0, 2}}},           // UpdateSubscriberData
      {14, {{1, 0}, {0, 1}}},  // UpdateLocation
      {2, {{1, 0}, {1, 1}}},   // InsertCallForwarding
      {2, {{1, 0}, {0, 1}}},   // DeleteCallForwarding
  };
  static const auto& smallbank = *new std::vector<Kind>{
      {15, {{0, 3}}},  // Amalgamate
      {15, {{2, 0}}},  // Balance
      {30, {{0, 1}}},  // DepositChecking, TransactSavings
      {25, {{0, 2}}},  // SendPayment
      {15, {{1, 1}}},  // WriteCheck
  };
  return mix == Mix::kTatp ? tatp : smallbank;
}

const Kind& PickKind(Mix mix, fabric::sim::Random& random) {
  uint64_t dice = random.Below(uint64_t{100});
  for (const Kind& kind : KindsOf(mix)) {
    if (dice < kind.percent) return kind;
    dice -= kind.percent;
  }
  return KindsOf(mix).front();
}

// How many keys each server is asked for.
using Counts = std::array<size_t, kTransactionServers>;

Step StepOf(const Counts& counts, size_t key_bytes, size_t answer_bytes, absl::Duration handler) {
  Step step;
  for (size_t server = 0; server < counts.size(); ++server) {
    const size_t keys = counts[server];
    if (keys == 0) continue;
    step.push_back({server, kHeader + key_bytes * keys, answer_bytes * keys, handler * (keys - 1)});
  }
  return step;
}

Step Reads(const std::vector<size_t>& servers) {
  Step step;
  for (const size_t server : servers) step.push_back({.server = server, .one_sided = true});
  return step;
}

}  // namespace

Shape Draw(Mix mix, const Protocol& protocol, absl::Duration handler, fabric::sim::Random& random) {
  const size_t value = mix == Mix::kTatp ? 40 : 8;
  Shape shape;
  std::vector<size_t> read_at;  // servers
  Counts reads = {};
  Counts writes = {};
  size_t keys = 0;
  for (const Round& round : PickKind(mix, random).rounds) {
    Counts asked = {};
    for (size_t i = 0; i < round.reads + round.writes; ++i, ++keys) {
      const size_t server = random.Below(uint64_t{kTransactionServers});
      ++asked[server];
      if (i < round.reads) read_at.push_back(server);
      ++(i < round.reads ? reads : writes)[server];
    }
    shape.push_back(StepOf(asked, kKey, kKey + value, handler));
  }
  if (keys > 1 && !read_at.empty())
    shape.push_back(protocol.one_sided ? Reads(read_at) : StepOf(reads, kKey, kKey, handler));
  Counts backups = {};  // each server has a copy of what the others are primaries of
  size_t written = 0;
  for (const size_t of_one : writes) written += of_one;
  if (written == 0) return shape;
  for (size_t server = 0; server < backups.size(); ++server) backups[server] = written - writes[server];
  if (protocol.log_apart) {
    const size_t first = random.Below(uint64_t{kTransactionServers});
    Step log;
    for (size_t i = 0; i < 2; ++i)
      log.push_back({(first + i) % kTransactionServers, kHeader + (kKey + value) * written, kHeader, {}});
    shape.push_back(log);
  }
  shape.push_back(StepOf(backups, kKey + value, kHeader, handler));
  shape.push_back(StepOf(writes, kKey + value, kHeader, handler));
  return shape;
}

}  // namespace skein::bench
