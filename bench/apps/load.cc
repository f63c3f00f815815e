#include "bench/apps/load.h"

#include <memory>
#include <numeric>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/apps/transactions.h"
#include "examples/cache/cache.h"
#include "examples/cache/service.h"
#include "examples/ordered_index/index.h"
#include "examples/parameters/messages.h"
#include "examples/parameters/service.h"
#include "examples/transactions/workload.h"

namespace skein::bench {
namespace {

absl::Status Wrong(absl::string_view what) { return absl::DataLossError(absl::StrCat("a wrong answer: ", what)); }

// memcached's (RaaS, figure 18): objects of one size.
class CacheLoad : public Load {
 public:
  CacheLoad(const LoadOptions& options, uint32_t seed)
      : sets_(options.operation == "set"), value_(options.size, 'v'), random_(seed) {}

  std::vector<std::string> kinds() const override { return {sets_ ? "set" : "get"}; }

  std::vector<Step> Preparation() override {
    std::vector<Step> steps;
    for (uint32_t key = 0; key < kKeys; ++key) steps.push_back({0, cache::kSet, {SetRequestOf(key)}});
    return steps;
  }

  void Next(Step& step) override {
    const uint32_t key = random_() % kKeys;
    step.function = sets_ ? cache::kSet : cache::kGet;
    step.requests = {sets_ ? SetRequestOf(key) : KeyOf(key)};
  }

  absl::Status Check(const Step& step, absl::Span<const std::string> answers) override {
    const bool gets = step.function == cache::kGet;
    return answers[0].size() == (gets ? value_.size() : 0) ? absl::OkStatus() : Wrong("a value of another size");
  }

 private:
  static constexpr uint32_t kKeys = 1000;

  static std::string KeyOf(uint32_t key) { return absl::StrCat("object-", key); }
  std::string SetRequestOf(uint32_t key) const { return cache::SetRequest(KeyOf(key), value_, 0); }

  const bool sets_;
  const std::string value_;
  std::minstd_rand random_;
};

// ps-lite's (RaaS, figures 15 and 16): as many pairs of key and value in each request, split among the servers.
class ParametersLoad : public Load {
 public:
  explicit ParametersLoad(const LoadOptions& options)
      : pushes_(options.operation == "push"), servers_(options.servers), keys_(options.size), values_(options.size, 1) {
    std::iota(keys_.begin(), keys_.end(), 0);
  }

  std::vector<std::string> kinds() const override { return {pushes_ ? "push" : "pull"}; }
  std::vector<Step> Preparation() override { return {PushOfAll()}; }

  void Next(Step& step) override {
    step = pushes_ ? PushOfAll() : Step{0, parameters::kPull, parameters::PullRequests(keys_, servers_)};
  }

  absl::Status Check(const Step& step, absl::Span<const std::string> answers) override {
    if (step.function == parameters::kPush) return absl::OkStatus();
    const absl::StatusOr<parameters::Values> values = parameters::Join(keys_, answers);
    if (!values.ok()) return values.status();
    return values->back() >= 1 ? absl::OkStatus() : Wrong("a value that nobody pushed");
  }

 private:
  Step PushOfAll() const { return {0, parameters::kPush, parameters::PushRequests(keys_, values_, servers_)}; }

  const bool pushes_;
  const size_t servers_;
  parameters::Keys keys_;
  const parameters::Values values_;
};

// FLOCK's thesis, 4.6: nine gets to a scan of 64.
class IndexLoad : public Load {
 public:
  IndexLoad(const LoadOptions& options, uint32_t seed) : entries_(options.size), random_(seed) {}

  static constexpr uint64_t kApart = 7;  // keys
  static constexpr uint64_t kRange = 64;

  std::vector<std::string> kinds() const override { return {"get", "scan"}; }

  void Next(Step& step) override {
    step.kind = random_() % 10 == 0 ? 1 : 0;
    asked_ = random_() % (entries_ - kRange) * kApart;
    step.function = step.kind == 0 ? ordered_index::kGet : ordered_index::kCount;
    step.requests = {step.kind == 0 ? ordered_index::Request({asked_}) : ordered_index::Request({asked_, kRange})};
  }

  absl::Status Check(const Step& step, absl::Span<const std::string> answers) override {
    const absl::StatusOr<std::vector<uint64_t>> words = ordered_index::WordsOf(answers[0], 1);
    if (!words.ok()) return words.status();
    const bool right = step.kind == 0 ? (*words)[0] % kApart == 1 : (*words)[0] == kRange;
    return right ? absl::OkStatus() : Wrong("of the index");
  }

 private:
  const uint64_t entries_;
  uint64_t asked_ = 0;
  std::minstd_rand random_;
};

// A server's functions keep their state as long as its process lives.
template <typename Of>
Service ServiceOf(std::unique_ptr<Of> service) {
  return {.functions = [of = service.release()](absl::Span<std::byte>) { return FunctionsOf(*of); }};
}

}  // namespace

std::unique_ptr<Load> MakeLoad(const LoadOptions& options, uint32_t seed) {
  const std::string& operation = options.operation;
  if (options.app == "cache" && (operation == "get" || operation == "set") && options.servers == 1)
    return std::make_unique<CacheLoad>(options, seed);
  if (options.app == "parameters" && (operation == "pull" || operation == "push") && options.size > 0)
    return std::make_unique<ParametersLoad>(options);
  if (options.app == "index" && operation == "mix" && options.size > IndexLoad::kRange && options.servers == 1)
    return std::make_unique<IndexLoad>(options, seed);
  return nullptr;
}

bool IsLoad(const LoadOptions& options) {
  if (options.app != "transactions") return MakeLoad(options, 0) != nullptr;
  return options.size > 1 && transactions::MakeWorkload(options.operation, options.size) != nullptr;
}

Service MakeService(const LoadOptions& options, size_t server) {
  if (options.app == "transactions") return TransactionService(options, server);
  if (options.app == "cache") return ServiceOf(std::make_unique<cache::Cache>(size_t{1} << 30));
  if (options.app == "parameters") return ServiceOf(std::make_unique<parameters::Parameters>(options.size));
  auto index = std::make_unique<ordered_index::Index>(options.size);
  for (uint64_t i = 0; i < options.size; ++i)
    index->Put(i * IndexLoad::kApart, i * IndexLoad::kApart * IndexLoad::kApart + 1).IgnoreError();
  return ServiceOf(std::move(index));
}

}  // namespace skein::bench
