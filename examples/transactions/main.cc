// Transactions on values that several servers share and back up, after FLOCK's thesis.
//   transactions serve 127.0.0.1:7000 --server 0 --servers 3    (port 0: any; prints "serving at ADDRESS")
//   transactions run ADDRESS... --threads 2 --transactions 1000  (does so many for each coroutine; prints their number)
//   transactions hold KEY ADDRESS...                             (locks a key until it is killed)
//   transactions audit ADDRESS...                                (while nothing runs: locks, copies, the sum of
//   balances)
// All of them take --workload, --size and --copies, and must be told the same.
// Exit status: 0, 1 failed, 2 called wrongly.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <iostream>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "examples/rpc_program.h"
#include "examples/transactions/workload.h"

namespace skein::transactions {
namespace {

struct Flags {
  std::vector<std::string> addresses;
  std::string workload = "smallbank";
  uint64_t size = 10'000;
  size_t copies = 3;
  size_t server = 0;
  size_t servers = 3;
  size_t threads = 1;
  size_t coroutines = 19;
  uint64_t transactions = 1000;
  uint32_t seed = 1;
  int64_t patience_ms = 1000;
  bool by_calls = false;
  uint64_t key = 0;

  Layout LayoutOf(const Workload& all, size_t among) const { return {all.keys(), among, std::min(copies, among)}; }
};

absl::Status Serve(const Flags& flags, const Workload& workload) {
  if (flags.server >= flags.servers) return absl::InvalidArgumentError("servers are counted from 0 on");
  rpc::Server server({});
  const Layout layout = flags.LayoutOf(workload, flags.servers);
  Store store(layout, flags.server);
  for (size_t partition = 0; partition < layout.servers; ++partition) {
    if (!layout.Holds(flags.server, partition)) continue;
    const size_t bytes = std::max<uint64_t>(layout.ItemsOf(partition), 1) * sizeof(Item);
    const absl::StatusOr<absl::Span<std::byte>> memory = server.Attach(RegionOf(partition), bytes, rpc::kRemoteRead);
    if (!memory.ok()) return memory.status();
    store.Hold(partition, *memory, [&](uint64_t key) { return workload.Initial(key); });
  }
  return examples::Serve(server, FunctionsOf(store), flags.addresses[0]);
}

absl::StatusOr<std::unique_ptr<Coordinator>> Connect(const Flags& flags, const Workload& workload,
                                                     rpc::Client& client) {
  const Layout layout = flags.LayoutOf(workload, flags.addresses.size());
  std::vector<std::unique_ptr<Channel>> channels;
  for (size_t i = 0; i < flags.addresses.size(); ++i) {
    absl::StatusOr<std::unique_ptr<Channel>> channel = OpenChannel(client, flags.addresses[i], layout, i);
    if (!channel.ok())
      return absl::Status(channel.status().code(), absl::StrCat("server ", i, ": ", channel.status().message()));
    channels.push_back(*std::move(channel));
  }
  return std::make_unique<Coordinator>(layout, std::move(channels), !flags.by_calls);
}

Task<absl::Status> Work(Coordinator& coordinator, const Workload& workload, const Flags& flags, uint32_t seed,
                        Tally& tally) {
  Random random(seed);
  for (uint64_t i = 0; i < flags.transactions; ++i) {
    const absl::Status status =
        co_await Transact(coordinator, workload, random, absl::Milliseconds(flags.patience_ms), tally);
    if (!status.ok()) co_return status;
  }
  co_return absl::OkStatus();
}

absl::Status RunThread(const Flags& flags, const Workload& workload, rpc::Client& client, size_t thread, Tally& tally) {
  const absl::StatusOr<std::unique_ptr<Coordinator>> coordinator = Connect(flags, workload, client);
  if (!coordinator.ok()) return coordinator.status();
  std::vector<Task<absl::Status>> tasks;
  for (size_t i = 0; i < flags.coroutines; ++i) {
    const auto seed = static_cast<uint32_t>((flags.seed * flags.threads + thread) * flags.coroutines + i + 1);
    tasks.push_back(Work(**coordinator, workload, flags, seed, tally));
  }
  return (*coordinator)->Run(tasks);
}

absl::Status Run(const Flags& flags, const Workload& workload) {
  rpc::Client client({});
  std::vector<Tally> tallies(flags.threads);
  std::vector<absl::Status> ends(flags.threads);
  std::vector<std::thread> threads;
  std::cout << "running" << std::endl;
  for (size_t i = 0; i < flags.threads; ++i)
    threads.emplace_back([&, i] { ends[i] = RunThread(flags, workload, client, i, tallies[i]); });
  for (std::thread& thread : threads) thread.join();
  Tally all;
  absl::Status status;
  for (size_t i = 0; i < flags.threads; ++i) {
    all.committed += tallies[i].committed;
    all.refused += tallies[i].refused;
    all.retried += tallies[i].retried;
    all.net += tallies[i].net;
    status.Update(ends[i]);
  }
  std::cout << "committed " << all.committed << ", refused " << all.refused << ", retried " << all.retried << ", net "
            << all.net << std::endl;
  return status;
}

Task<absl::Status> Hold(Coordinator& coordinator, uint64_t key) {
  Transaction transaction(coordinator);
  const std::vector<uint64_t> writes = {key};
  const absl::Status status = co_await transaction.Execute({}, writes);
  if (!status.ok()) co_return status;
  std::cout << "holding key " << key << std::endl;
  std::cin.get();  // until it is killed, or standard input ends
  co_return co_await transaction.Abort();
}

absl::Status HoldKey(const Flags& flags, const Workload& workload) {
  rpc::Client client({});
  const absl::StatusOr<std::unique_ptr<Coordinator>> coordinator = Connect(flags, workload, client);
  if (!coordinator.ok()) return coordinator.status();
  std::vector<Task<absl::Status>> tasks;
  tasks.push_back(Hold(**coordinator, flags.key));
  return (*coordinator)->Run(tasks);
}

// A copy of a partition, as it lies in a server's memory.
absl::StatusOr<std::vector<Item>> ReadCopy(const Flags& flags, const Layout& layout, size_t partition, size_t copy,
                                           rpc::Client& client) {
  const size_t server = layout.HolderOf(partition, copy);
  const absl::StatusOr<std::unique_ptr<rpc::Connection>> connection =
      client.Connect(flags.addresses[server], examples::kPatience);
  if (!connection.ok()) return connection.status();
  const absl::StatusOr<rpc::RemoteRegion> region = (*connection)->Attach(RegionOf(partition), examples::kPatience);
  if (!region.ok()) return region.status();
  std::vector<Item> items(layout.ItemsOf(partition));
  const absl::Span<std::byte> bytes(reinterpret_cast<std::byte*>(items.data()), items.size() * sizeof(Item));
  if (absl::Status status = (*connection)->Read(*region, 0, bytes); !status.ok()) return status;
  return items;
}

absl::Status Audit(const Flags& flags, const Workload& workload) {
  rpc::Client client({});
  if (const auto all = Connect(flags, workload, client); !all.ok()) return all.status();  // are they as they should be?
  const Layout layout = flags.LayoutOf(workload, flags.addresses.size());
  uint64_t locked = 0;
  uint64_t differing = 0;
  int64_t sum = 0;
  for (size_t partition = 0; partition < layout.servers; ++partition) {
    const absl::StatusOr<std::vector<Item>> primary = ReadCopy(flags, layout, partition, 0, client);
    if (!primary.ok()) return primary.status();
    for (size_t i = 0; i < primary->size(); ++i) {
      locked += (*primary)[i].word % 2;
      sum += workload.BalanceOf(i * layout.servers + partition, (*primary)[i].value);
    }
    for (size_t copy = 1; copy < layout.copies; ++copy) {
      const absl::StatusOr<std::vector<Item>> backup = ReadCopy(flags, layout, partition, copy, client);
      if (!backup.ok()) return backup.status();
      for (size_t i = 0; i < primary->size(); ++i)
        differing += (*primary)[i].word / 2 != (*backup)[i].word / 2 || (*primary)[i].value != (*backup)[i].value;
    }
  }
  std::cout << "locked " << locked << ", differing " << differing << ", sum " << sum << std::endl;
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Transactions on values that several servers share and back up");
  CLI::App* const serve = app.add_subcommand("serve", "serves, until it is killed");
  CLI::App* const run = app.add_subcommand("run", "does transactions");
  CLI::App* const hold = app.add_subcommand("hold", "locks a key until it is killed");
  CLI::App* const audit = app.add_subcommand("audit", "looks whether all copies are alike, and what they sum up to");
  hold->add_option("key", flags.key)->required();
  for (CLI::App* const verb : {serve, run, hold, audit}) {
    CLI::Option* const at = verb->add_option("addresses", flags.addresses, "HOST:PORT of all servers, in their order");
    at->required();
    if (verb == serve) at->expected(1);
    verb->add_option("--workload", flags.workload)->check(CLI::IsMember({"smallbank", "tatp"}));
    verb->add_option("--size", flags.size, "accounts or subscribers")->check(CLI::Range(2, 10'000'000));
    verb->add_option("--copies", flags.copies, "of each value, backups included")->check(CLI::Range(1, 64));
  }
  serve->add_option("--servers", flags.servers, "that there are")->check(CLI::Range(1, 64));
  serve->add_option("--server", flags.server, "which of them this is")->check(CLI::Range(0, 63));
  run->add_option("--threads", flags.threads)->check(CLI::Range(1, 256));
  run->add_option("--coroutines", flags.coroutines, "of each thread")->check(CLI::Range(1, 1000));
  run->add_option("--transactions", flags.transactions, "of each coroutine");
  run->add_option("--seed", flags.seed);
  run->add_option("--patience", flags.patience_ms, "ms, while others are in a transaction's way");
  run->add_flag("--by-calls", flags.by_calls, "validate by calls, as FaSST does");
  if (const std::optional<int> status = examples::Parse(app, argc, argv); status.has_value()) return *status;
  const std::unique_ptr<Workload> workload = MakeWorkload(flags.workload, flags.size);
  const auto program = serve->parsed() ? Serve : run->parsed() ? Run : hold->parsed() ? HoldKey : Audit;
  return examples::ExitStatus("transactions", program(flags, *workload));
}

}  // namespace
}  // namespace skein::transactions

int main(int argc, char** argv) { return skein::transactions::Main(argc, argv); }
