// Every option of Skein, once. Channel arguments ("skein.<name>"), environment variables ("SKEIN_<NAME>"), the Thrift
// options struct and docs/options.md are all read from OptionTable().
#ifndef SKEIN_CORE_BASE_OPTIONS_H_
#define SKEIN_CORE_BASE_OPTIONS_H_

#include <skein/options.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace skein {

// off: as if Skein were not there. prefer: the best path both ends can prove, else TCP. require: fail rather than TCP.
enum class Mode : uint8_t { kOff, kPrefer, kRequire };
absl::string_view ModeName(Mode mode);

struct Options {
  Mode mode = Mode::kOff;
  int64_t ring_bytes = 1 << 20;
  int64_t shm_links = 16;
  int64_t window_bytes = 1 << 20;
  int64_t large_payload = -1;
  absl::Duration negotiation_timeout = absl::Milliseconds(1000);
  absl::Duration negative_cache = absl::Seconds(60);
  WaitMode wait_mode = WaitMode::kHybrid;
  absl::Duration spin_time = absl::Microseconds(50);
  int64_t trace = 0;  // one call in so many; 0: none
  bool calls_below_http2 = true;
  SharedMemoryOptions shm;
  RdmaOptions rdma;

  friend bool operator==(const Options&, const Options&) = default;
};

// One row of the table.
struct OptionSpec {
  absl::string_view name;           // "ring_bytes"; channel argument "skein.ring_bytes", environment SKEIN_RING_BYTES
  absl::string_view default_value;  // as a user would write it
  absl::string_view allowed;        // "off | prefer | require", "65536 .. 1073741824"
  absl::string_view unit;           // "bytes", "ms", "" when none
  absl::string_view doc;            // one line
  absl::Status (*set)(Options& options, absl::string_view value);
};

absl::Span<const OptionSpec> OptionTable();

// Sets one option by its bare name. INVALID_ARGUMENT naming the option and what is allowed, also for an unknown name
// (with the known one that is like it).
absl::Status SetOption(Options& options, absl::string_view name, absl::string_view value);

// An environment's say.
struct EnvironmentOptions {
  Options options;      // without the wrong values; a wrong mode asks for Skein, too, and counts as kPrefer
  absl::Status error;   // the first variable with a value that is not allowed
  std::string warning;  // names the SKEIN_* variables that are no options; empty when there are none
};
// `base` changed by every SKEIN_* variable of `environment` ("NAME=value" strings; pass environ). The variable
// `mode_variable` ("SKEIN_GRPC"; empty: none) sets the mode. Other adapters' modes are left alone.
EnvironmentOptions OptionsFromEnvironment(const Options& base, absl::string_view mode_variable,
                                          const char* const* environment);

// `options`, or the `error` found in them. With mode off no error counts: nothing of Skein's makes anything fail then.
absl::StatusOr<Options> Checked(const Options& options, const absl::Status& error);

// docs/options.md, whole.
std::string OptionsMarkdown();

}  // namespace skein

#endif  // SKEIN_CORE_BASE_OPTIONS_H_
