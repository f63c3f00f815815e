#include "bench/sim/ud/experiments.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/sim/costs.h"
#include "bench/sim/scenario.h"
#include "bench/sim/scenario_points.h"
#include "bench/sim/ud/run.h"

namespace skein::bench {
namespace {

constexpr char kUd[] = "UD";

struct UdPoint {
  std::string experiment;
  std::string series;
  size_t x = 0;
  Scenario scenario;
  UdCosts costs;

  absl::StatusOr<Outcome> Run() const {
    Costs all = Calibrated();
    all.ud = costs;
    return RunUd(scenario, all);
  }
};
using UdPoints = std::vector<UdPoint>;

Scenario Of(size_t threads, size_t outstanding) {
  Scenario scenario;
  scenario.threads = threads;
  scenario.outstanding = outstanding;
  return scenario;
}

// Figure 2.2 (b): senders of 22 hosts, a request each.
void Senders(bool quick, UdPoints& points) {
  for (const size_t senders : quick ? std::vector<size_t>{22, 704} : std::vector<size_t>{22, 44, 88, 176, 352, 704}) {
    Scenario scenario = Of(senders / 22, 1);
    scenario.hosts = 22;
    scenario.bytes = 16;
    points.push_back({"reads", "UD RPC", senders, scenario, {}});
  }
}

// Figures 4.1 to 4.3.
void Threads(bool quick, UdPoints& points) {
  const std::vector<size_t> all = {1, 2, 4, 8, 16, 24, 32, 40, 48};
  const std::vector<size_t> few = {8, 32, 48};
  for (const size_t outstanding : quick ? std::vector<size_t>{8} : std::vector<size_t>{1, 4, 8}) {
    for (const size_t threads : quick ? few : all) {
      points.push_back(
          {absl::StrCat("sharing, ", outstanding, " outstanding"), kUd, threads, Of(threads, outstanding), {}});
    }
  }
}

// Figure 4.7, whose text puts eRPC beside it.
void Processes(bool quick, UdPoints& points) {
  const std::vector<size_t> all = {2, 4, 8, 12, 16};
  const std::vector<size_t> few = {16};
  for (const size_t processes : quick ? few : all) {
    Scenario scenario = Of(1, 8);
    scenario.processes_per_host = processes;
    points.push_back({"processes", "UD, 1 thread", processes * scenario.hosts, scenario, {}});
  }
}

void Clients(bool quick, UdPoints& points) {
  const std::vector<size_t> all = {17, 43, 87, 217, 435};
  const std::vector<size_t> few = {17, 435};
  for (const size_t per_host : quick ? few : all) {
    Scenario scenario = Of(per_host, 8);
    scenario.warm_up = absl::Milliseconds(8);
    scenario.measured = absl::Milliseconds(6);
    points.push_back({"clients", kUd, per_host * scenario.hosts, scenario, {}});
  }
}

// How much of the NIC's lines a core waits for: in hundredths of a line, for each datagram.
void Lines(UdPoints& points) {
  for (const size_t outstanding : {1, 8}) {
    for (const size_t hundredths : {25, 50, 100, 150, 200}) {
      UdPoint point = {"UD, lines", absl::StrCat(outstanding, " outstanding"), hundredths, Of(32, outstanding), {}};
      point.costs.lines = static_cast<double>(hundredths) / 100;
      points.push_back(point);
    }
  }
}

void Batches(UdPoints& points) {
  for (const size_t batch : {1, 4, 16}) {
    UdPoint point = {"UD, batch", kUd, batch, Of(32, 8), {}};
    point.costs.poll_batch = point.costs.send_batch = batch;
    points.push_back(point);
  }
}

void Losses(UdPoints& points) {
  for (const size_t in_a_million : {1, 10, 100, 1000}) {
    for (const size_t threads : {4, 32}) {
      const size_t outstanding = threads == 4 ? 1 : 8;
      UdPoint point = {"UD, loss",
                       absl::StrCat(threads, " threads, ", outstanding, " outstanding"),
                       in_a_million,
                       Of(threads, outstanding),
                       {}};
      point.scenario.warm_up = 2 * point.costs.retransmission;
      point.scenario.measured = 4 * point.costs.retransmission;
      point.costs.loss = static_cast<double>(in_a_million) / 1e6;
      points.push_back(point);
    }
  }
}

// Requests of nine datagrams.
void Credits(UdPoints& points) {
  for (const size_t credits : {1, 2, 4, 8, 32}) {
    for (const size_t threads : {1, 8}) {
      UdPoint point = {"UD, credits", absl::StrCat(threads, " threads"), credits, Of(threads, 1), {}};
      point.scenario.large_percent = 100;
      point.scenario.large_bytes = 8192;
      point.costs.credits = credits;
      points.push_back(point);
    }
  }
}

void CongestionControl(UdPoints& points) {
  for (const size_t threads : {4, 32}) {
    const auto add = [&](const char* series, bool on, bool bypass) {
      UdPoint point = {"UD, congestion control", series, threads, Of(threads, 8), {}};
      point.costs.congestion_control = on;
      point.costs.bypass = bypass;
      points.push_back(point);
    };
    add("off", false, false);
    add("on", true, true);
    add("on, never bypassed", true, false);
  }
}

}  // namespace

std::vector<Point> UdExperiments(uint64_t seed, bool quick) {
  UdPoints points;
  Senders(quick, points);
  Threads(quick, points);
  Processes(quick, points);
  Clients(quick, points);
  if (!quick) {
    Lines(points);
    Batches(points);
    Losses(points);
    Credits(points);
    CongestionControl(points);
  }
  return PointsOf(std::move(points), seed, quick);
}

}  // namespace skein::bench
