// Any environment gives options within their bounds; wrong and unknown variables are named.
#include "core/base/options.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds = {"SKEIN_GRPC=prefer\nSKEIN_RING_BYTES=65536\nPATH=/bin", "SKEIN_RING=1"};
  for (const OptionSpec& option : OptionTable()) {
    seeds.push_back(absl::StrCat("SKEIN_", absl::AsciiStrToUpper(option.name), "=", option.default_value));
  }
  return seeds;
}

namespace {

void CheckBounds(const Options& options) {
  Require(options.ring_bytes >= 1 << 16 && options.ring_bytes <= 1 << 30 && options.ring_bytes % (1 << 16) == 0,
          "a ring's size");
  Require(options.window_bytes > 0 && options.shm_links > 0, "something may be sent");
  Require(options.negotiation_timeout > absl::ZeroDuration() && options.spin_time >= absl::ZeroDuration(), "times");
}

}  // namespace
}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  // The environment's strings, and each of these as one option.
  const std::vector<std::string> strings = absl::StrSplit(skein::fuzz::Text(data, size), '\n');
  std::vector<const char*> environment;
  environment.reserve(strings.size() + 1);
  for (const std::string& string : strings) environment.push_back(string.c_str());
  environment.push_back(nullptr);
  const skein::EnvironmentOptions all = skein::OptionsFromEnvironment({}, "SKEIN_GRPC", environment.data());
  skein::fuzz::CheckBounds(all.options);
  Require(all.error.ok() || absl::StrContains(all.error.message(), "SKEIN_"), "the wrong variable is named");
  Require(all.warning.empty() || absl::StrContains(all.warning, "SKEIN_"), "the unknown variables are named");
  for (const std::string& string : strings) {
    const size_t equals = std::min(string.find('='), string.size());
    skein::Options one;
    const absl::Status status = skein::SetOption(one, absl::string_view(string).substr(0, equals),
                                                 absl::string_view(string).substr(std::min(equals + 1, string.size())));
    skein::fuzz::CheckBounds(one);
    Require(status.ok() || absl::IsInvalidArgument(status), "an invalid argument");
  }
  return 0;
}
