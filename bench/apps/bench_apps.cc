// One of the examples under load, over one path. The program starts its servers itself, as processes of their own, and
// prints one line of JSON:
//   bench_apps cache get --size=8 --path=tcp
//   bench_apps parameters pull --size=1000 --servers=4 --threads=4
//   bench_apps index mix --size=1000000 --threads=16 --window=8
//   bench_apps transactions smallbank --size=10000 --servers=3 --window=19
// Exit status: 0, 1 failed, 2 called wrongly.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <barrier>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/apps/channel.h"
#include "bench/apps/load.h"
#include "bench/apps/measured.h"
#include "bench/apps/transactions.h"
#include "bench/server_process.h"

namespace skein::bench {
namespace {

struct Flags {
  LoadOptions load;
  std::string path = "skein";
  size_t threads = 1;
  size_t window = 1;
  double seconds = 0.5;
};

using Channels = std::vector<std::unique_ptr<Channel>>;

struct Flight {
  Step step;
  int64_t begun = 0;
};

// Starts the next step of `load`.
absl::Status Begin(const Channels& servers, Flight& flight) {
  for (size_t i = 0; i < servers.size(); ++i) {
    const Channel::Call call = {flight.step.function, flight.step.requests[i]};
    if (absl::Status status = servers[i]->Start({&call, 1}); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status End(const Channels& servers, const Flight& flight, Load& load, std::vector<std::string>& answers) {
  answers.resize(servers.size());
  for (size_t i = 0; i < servers.size(); ++i) {
    const absl::StatusOr<absl::string_view> answer = servers[i]->Finish();
    if (!answer.ok()) return answer.status();
    answers[i].assign(answer->data(), answer->size());
  }
  return load.Check(flight.step, answers);
}

absl::StatusOr<Channels> OpenAll(const Path& path, const std::vector<std::string>& addresses, size_t window) {
  Channels servers;
  for (const std::string& address : addresses) {
    absl::StatusOr<std::unique_ptr<Channel>> server = path.open(address, window);
    if (!server.ok()) return server.status();
    servers.push_back(*std::move(server));
  }
  return servers;
}

absl::Status Prepare(const Path& path, const std::vector<std::string>& addresses, Load& load) {
  const absl::StatusOr<Channels> servers = OpenAll(path, addresses, 1);
  if (!servers.ok()) return servers.status();
  std::vector<std::string> answers;
  for (Step& step : load.Preparation()) {
    Flight flight = {std::move(step)};
    if (absl::Status status = Begin(*servers, flight); !status.ok()) return status;
    if (absl::Status status = End(*servers, flight, load, answers); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// `window` steps under way.
absl::Status Work(const Channels& servers, Load& load, size_t window, double seconds, Measured& measured) {
  const Stopwatch stopwatch(seconds);
  measured.latencies.resize(load.kinds().size());
  std::vector<Flight> flights(window);
  std::vector<std::string> answers;
  size_t counted = 0;
  size_t under_way = 0;
  for (size_t next = 0;; next = (next + 1) % window) {
    Flight& flight = flights[next];
    const bool over = stopwatch.IsOver(counted);
    if (over && under_way == 0) break;
    if (under_way == window || over) {
      if (absl::Status status = End(servers, flight, load, answers); !status.ok()) return status;
      --under_way;
      if (stopwatch.Counts(flight.begun)) {
        measured.latencies[flight.step.kind].push_back(absl::GetCurrentTimeNanos() - flight.begun);
        ++counted;
      }
    }
    if (over) continue;
    flight.begun = absl::GetCurrentTimeNanos();
    load.Next(flight.step);
    if (absl::Status status = Begin(servers, flight); !status.ok()) return status;
    ++under_way;
  }
  measured.steps_per_s = stopwatch.RateOf(counted);
  return absl::OkStatus();
}

nlohmann::json FiguresOf(std::vector<int64_t> latencies) {
  std::sort(latencies.begin(), latencies.end());
  const auto percentile = [&](double part) {
    return static_cast<double>(latencies[static_cast<size_t>(static_cast<double>(latencies.size() - 1) * part)]) / 1e3;
  };
  return {{"p50_us", percentile(0.5)}, {"p99_us", percentile(0.99)}};
}

// Of all threads.
absl::StatusOr<nlohmann::json> FiguresOf(const std::vector<Measured>& measured, const std::vector<std::string>& kinds) {
  nlohmann::json figures;
  double rate = 0;
  for (const Measured& one : measured) {
    if (!one.status.ok()) return one.status;
    rate += one.steps_per_s;
  }
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    std::vector<int64_t> of_all;
    for (const Measured& one : measured)
      of_all.insert(of_all.end(), one.latencies[kind].begin(), one.latencies[kind].end());
    if (of_all.empty()) return absl::DeadlineExceededError("nothing was answered in time");
    figures[kinds[kind]] = FiguresOf(std::move(of_all));
  }
  figures["steps_per_s"] = rate;
  return figures;
}

absl::StatusOr<nlohmann::json> Measure(const Flags& flags, const Path& path,
                                       const std::vector<std::string>& addresses) {
  const bool transacts = flags.load.app == "transactions";
  const std::unique_ptr<Load> first = transacts ? nullptr : MakeLoad(flags.load, 0);
  if (absl::Status status = transacts ? absl::OkStatus() : Prepare(path, addresses, *first); !status.ok())
    return status;
  const size_t window = transacts ? TransactionWindow(flags.load, flags.window) : flags.window;
  std::vector<Measured> measured(flags.threads);
  std::barrier all_connected(static_cast<std::ptrdiff_t>(flags.threads));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < flags.threads; ++i) {
    threads.emplace_back([&, i] {
      absl::StatusOr<Channels> servers = OpenAll(path, addresses, window);
      const auto seed = static_cast<uint32_t>(i + 1);
      all_connected.arrive_and_wait();
      measured[i].status = servers.status();
      if (!servers.ok()) return;
      if (transacts)
        return WorkTransactions(*std::move(servers), flags.load, seed, flags.window, flags.seconds, measured[i]);
      measured[i].status = Work(*servers, *MakeLoad(flags.load, seed), window, flags.seconds, measured[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return FiguresOf(measured, transacts ? std::vector<std::string>{"transaction"} : first->kinds());
}

int Fail(const absl::Status& status) {
  std::cerr << "bench_apps: " << status << std::endl;
  return 1;
}

int Run(const Flags& flags, const std::function<Path()>& path) {
  std::list<ServerProcess> servers;
  for (size_t i = 0; i < flags.load.servers; ++i) {
    servers.emplace_back([&, i](int address_fd) { return Fail(path().serve(MakeService(flags.load, i), address_fd)); });
  }
  std::vector<std::string> addresses;
  for (ServerProcess& server : servers) addresses.push_back(server.Address());
  const absl::StatusOr<nlohmann::json> figures = Measure(flags, path(), addresses);
  if (!figures.ok()) return Fail(figures.status());
  std::cout << *figures << std::endl;
  return 0;
}

int Main(int argc, char** argv) {
  const std::map<std::string, std::function<Path()>> paths = {
      {"skein", [] { return SkeinPath(WaitMode::kHybrid); }},
      {"skein-block", [] { return SkeinPath(WaitMode::kBlock); }},
      {"tcp", TcpPath},
      {"unix", UnixPath},
  };
  Flags flags;
  CLI::App app("One of the examples under load");
  app.add_option("app", flags.load.app, "cache, parameters, index or transactions")->required();
  app.add_option("operation", flags.load.operation, "get or set; pull or push; mix; tatp or smallbank")->required();
  app.add_option("--size", flags.load.size, "bytes of a value, pairs of a request, entries of the index, accounts");
  app.add_option("--servers", flags.load.servers, "that share the parameters, or the values of transactions")
      ->check(CLI::Range(1, 64));
  app.add_option("--path", flags.path, "skein, skein-block, tcp or unix")->check(CLI::IsMember(&paths));
  app.add_option("--threads", flags.threads, "of the client")->check(CLI::Range(1, 256));
  app.add_option("--window", flags.window, "steps that each has under way, coroutines of transactions")
      ->check(CLI::Range(1, 128));
  app.add_option("--seconds", flags.seconds, "of the measurement")->check(CLI::Range(0.001, 3600.0));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (IsLoad(flags.load)) return Run(flags, paths.at(flags.path));
  std::cerr << "bench_apps: " << flags.load.app << " has no such load" << std::endl;
  return 2;
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) { return skein::bench::Main(argc, argv); }
