// Parameters of a model, held by servers and learned by workers at the same time, after ps-lite.
//   parameters serve 127.0.0.1:7000 --max 1000000          (port 0: any; prints "serving at ADDRESS")
//   parameters train ADDRESS... --rounds 300 --seed 1       (a worker; prints the weights it ends with)
// What a worker learns is a line in 8 dimensions, whose weights are 1, 2, ... 8.
// Exit status: 0, 1 failed, 2 called wrongly.
#include <CLI/CLI.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "examples/parameters/service.h"
#include "examples/parameters/worker.h"
#include "examples/rpc_program.h"

namespace skein::parameters {
namespace {

constexpr size_t kWeights = 8;
constexpr size_t kBatch = 16;
constexpr float kLearningRate = 0.05f;

struct Flags {
  std::vector<std::string> addresses;
  size_t max = 1'000'000;
  uint64_t rounds = 300;
  uint32_t seed = 1;
};

// What to add to the weights, by a batch of points that `random` gives.
Values StepFrom(const Values& weights, std::mt19937& random) {
  std::uniform_real_distribution<float> coordinate(-1, 1);
  Values step(kWeights);
  for (size_t i = 0; i < kBatch; ++i) {
    std::array<float, kWeights> point;
    float error = 0;
    for (size_t k = 0; k < kWeights; ++k) {
      point[k] = coordinate(random);
      error += (static_cast<float>(k + 1) - weights[k]) * point[k];
    }
    for (size_t k = 0; k < kWeights; ++k) step[k] += kLearningRate * error * point[k];
  }
  return step;
}

absl::Status Train(const Flags& flags) {
  absl::StatusOr<Worker> worker = Worker::Connect(flags.addresses);
  if (!worker.ok()) return worker.status();
  std::cout << "training" << std::endl;
  Keys keys(kWeights);
  std::iota(keys.begin(), keys.end(), 0);
  std::mt19937 random(flags.seed);
  for (uint64_t round = 0; round < flags.rounds; ++round) {
    const absl::StatusOr<Values> weights = worker->Pull(keys);
    if (!weights.ok()) return weights.status();
    if (absl::Status status = worker->Push(keys, StepFrom(*weights, random)); !status.ok()) return status;
  }
  const absl::StatusOr<Values> weights = worker->Pull(keys);
  if (!weights.ok()) return weights.status();
  const auto format = [](std::string* out, float weight) { absl::StrAppendFormat(out, "%.3f", weight); };
  std::cout << "weights: " << absl::StrJoin(*weights, " ", format) << std::endl;
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Parameters of a model, held by servers");
  CLI::App* const serve = app.add_subcommand("serve", "serves, until it is killed");
  serve->add_option("address", flags.addresses, "HOST:PORT")->required()->expected(1);
  serve->add_option("--max", flags.max, "parameters that it holds");
  CLI::App* const train = app.add_subcommand("train", "learns, as one worker of several");
  train->add_option("addresses", flags.addresses, "HOST:PORT of all servers, in the same order everywhere")->required();
  train->add_option("--rounds", flags.rounds, "how often it pulls and pushes");
  train->add_option("--seed", flags.seed, "of its points");
  if (const std::optional<int> status = examples::Parse(app, argc, argv); status.has_value()) return *status;
  if (train->parsed()) return examples::ExitStatus("parameters", Train(flags));
  Parameters parameters(flags.max);
  return examples::ExitStatus("parameters", examples::Serve(FunctionsOf(parameters), flags.addresses[0]));
}

}  // namespace
}  // namespace skein::parameters

int main(int argc, char** argv) { return skein::parameters::Main(argc, argv); }
