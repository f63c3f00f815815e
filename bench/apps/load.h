// The load of the examples' clients, whatever carries their calls.
#ifndef SKEIN_BENCH_APPS_LOAD_H_
#define SKEIN_BENCH_APPS_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "bench/apps/channel.h"

namespace skein::bench {

// A step of an application: one request to each server.
struct Step {
  size_t kind = 0;  // of Load::kinds
  uint32_t function = 0;
  std::vector<std::string> requests;
};

// One thread's.
class Load {
 public:
  virtual ~Load() = default;

  virtual std::vector<std::string> kinds() const = 0;
  // Steps that must be done once before the others, by one thread.
  virtual std::vector<Step> Preparation() { return {}; }
  // Changes `step`, whose memory is used again.
  virtual void Next(Step& step) = 0;
  // Answer i is server i's, to `step`.
  virtual absl::Status Check(const Step& step, absl::Span<const std::string> answers) = 0;
};

struct LoadOptions {
  std::string app = "cache";
  std::string operation;  // get, set; pull, push; mix; tatp, smallbank
  uint32_t size = 8;      // of a value; pairs; entries in the index; subscribers, accounts
  size_t servers = 1;
};

// Whether there is such an application, with such an operation.
bool IsLoad(const LoadOptions& options);
// Not of transactions, whose steps follow from answers (transactions.h). Null: there is none.
std::unique_ptr<Load> MakeLoad(const LoadOptions& options, uint32_t seed);
// Of that server, in its process.
Service MakeService(const LoadOptions& options, size_t server);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_APPS_LOAD_H_
