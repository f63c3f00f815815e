// Runs a fuzz target without libFuzzer, which GCC does not have: over its seeds, a corpus, and deterministic mutants of
// the seeds. With clang, libFuzzer and libfuzzer.cc take the place of this file and of mutate.cc.
//
//   fuzz_NAME [--corpus=FOLDER] [--seed=N] [--runs=N] [--only=RUN]   RUN as a failure has named it
//   fuzz_NAME FILE...                                                these inputs and nothing else
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutate.h"

// Of the sanitizers' runtime, when there is one.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

// What is under way, for the words on failure. Read by a signal handler of this very thread.
struct {
  uint64_t seed = 20261121;
  uint64_t run = 0;
  bool is_mutant = false;
  const char* file = nullptr;
  const std::string* input = nullptr;
} current;

void TellWhatFailed() {
  if (current.input == nullptr) return;
  if (current.file != nullptr) {
    std::fprintf(stderr, "failed on %s", current.file);
  } else if (current.is_mutant) {
    std::fprintf(stderr, "failed on --seed=%llu --only=%llu", static_cast<unsigned long long>(current.seed),
                 static_cast<unsigned long long>(current.run));
  } else {
    std::fprintf(stderr, "failed on seed %llu", static_cast<unsigned long long>(current.run));
  }
  std::fprintf(stderr, ", %zu bytes:\n", current.input->size());
  for (const char c : *current.input) std::fprintf(stderr, "%02x", static_cast<unsigned char>(c));
  std::fprintf(stderr, "\n");
  current.input = nullptr;
}

// The process is lost anyway: stdio is good enough.
void OnSignal(int signal) {
  TellWhatFailed();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void Run(const std::string& input) {
  current.input = &input;
  // No byte to spare behind it, so that AddressSanitizer sees a read past the end.
  const auto exact = std::make_unique<uint8_t[]>(input.size());
  if (!input.empty()) std::memcpy(exact.get(), input.data(), input.size());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
  current.input = nullptr;
}

// False: there is no such file.
bool RunFile(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return false;
  current.file = name.c_str();
  Run({std::istreambuf_iterator<char>(file), {}});
  current.file = nullptr;
  return true;
}

// Returns how many files are in the folder; 0 if it is not there.
size_t RunFilesOf(const std::string& folder) {
  std::error_code error;
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) files += RunFile(entry.path()) ? 1 : 0;
  return files;
}

void RunMutant(const std::vector<std::string>& seeds, uint64_t run) {
  // A generator of its own for each, so that one can be run alone.
  std::mt19937_64 random(current.seed * 0x9e3779b97f4a7c15 + run);
  current.is_mutant = true;
  current.run = run;
  Run(skein::fuzz::Mutant(seeds, random));
}

bool TakeNumber(absl::string_view argument, absl::string_view name, uint64_t& value) {
  return absl::ConsumePrefix(&argument, name) && absl::SimpleAtoi(argument, &value);
}

void CatchFailures() {
  std::signal(SIGABRT, OnSignal);
  std::signal(SIGFPE, OnSignal);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(TellWhatFailed);
  } else {
    std::signal(SIGSEGV, OnSignal);
    std::signal(SIGBUS, OnSignal);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CatchFailures();
  constexpr uint64_t kAll = UINT64_MAX;
  uint64_t runs = 100'000;
  uint64_t only = kAll;
  std::string corpus;
  bool files = false;
  for (int i = 1; i < argc; ++i) {
    absl::string_view argument = argv[i];
    if (TakeNumber(argument, "--seed=", current.seed) || TakeNumber(argument, "--runs=", runs) ||
        TakeNumber(argument, "--only=", only)) {
      continue;
    }
    if (absl::ConsumePrefix(&argument, "--corpus=")) {
      corpus = std::string(argument);
      continue;
    }
    if (!RunFile(argv[i])) {
      std::fprintf(stderr, "%s: neither an option nor a file to read; driver.cc has the options\n", argv[i]);
      return 2;
    }
    files = true;
  }
  if (files) return 0;
  const std::vector<std::string> seeds = skein::fuzz::Seeds();
  if (only != kAll) {
    RunMutant(seeds, only);
    return 0;
  }
  for (size_t n = 0; n < seeds.size(); ++n) {
    current.run = n;
    Run(seeds[n]);
  }
  const size_t corpus_files = corpus.empty() ? 0 : RunFilesOf(corpus);
  if (!corpus.empty() && corpus_files == 0) {
    std::fprintf(stderr, "no files in %s\n", corpus.c_str());
    return 2;
  }
  for (uint64_t run = 0; run < runs; ++run) RunMutant(seeds, run);
  std::printf("%zu seeds, %zu files and %llu mutants, --seed=%llu\n", seeds.size(), corpus_files,
              static_cast<unsigned long long>(runs), static_cast<unsigned long long>(current.seed));
  return 0;
}
