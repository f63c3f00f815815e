// Records and names that a format must stand: of a normal call, and of peers that name methods as they like.
#ifndef SKEIN_TESTS_UNIT_TRACE_SAMPLES_H_
#define SKEIN_TESTS_UNIT_TRACE_SAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/method_table.h"
#include "core/trace/record.h"

namespace skein::trace {

// Each byte, alone and among others; what either format has a meaning for.
inline std::vector<std::string> HostileNames() {
  std::vector<std::string> names = {"/greeter.Greeter/Say",
                                    "\"} 1\nskein_forged 1\n",
                                    "\\",
                                    "\\\"",
                                    "\\n",
                                    "\n",
                                    "},{\"ph\":\"X\"",
                                    "</script>",
                                    "\xc3\xa9",
                                    "\xed\xa0\x80",
                                    std::string(1000, '\xff')};
  for (int byte = 0; byte < 256; ++byte) names.push_back(std::string("a") + static_cast<char>(byte) + "0");
  return names;
}

// A call whose stages are 1 us apart from start_ns on.
inline Record CompleteCall(uint32_t method, uint64_t start_ns) {
  Record record;
  record.method = method;
  record.bytes = 64;
  record.id = start_ns;
  for (size_t stage = 0; stage <= static_cast<size_t>(Stage::kDelivered); ++stage) {
    record.times[stage] = start_ns + 1000 * stage;
  }
  return record;
}

}  // namespace skein::trace

#endif  // SKEIN_TESTS_UNIT_TRACE_SAMPLES_H_
