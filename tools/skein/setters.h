// What becomes of the words of a command line: each is checked, and kept in a variable.
#ifndef SKEIN_TOOLS_SKEIN_SETTERS_H_
#define SKEIN_TOOLS_SKEIN_SETTERS_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace skein {

// INVALID_ARGUMENT says what is allowed. The variable outlives the setter.
using Setter = std::function<absl::Status(const std::string& word)>;

// Of an option without a value.
Setter Yes(bool& variable);
Setter Text(std::string& variable);
Setter Texts(std::vector<std::string>& variable);
// From `low` to `high`; `unit` is in the plural: "seconds".
Setter Number(std::optional<double>& variable, double low, double high, const std::string& unit);
Setter Number(std::optional<uint32_t>& variable, uint32_t low, uint32_t high, const std::string& unit);
// The number of a process.
Setter Process(pid_t& variable);
Setter Processes(std::vector<pid_t>& variable);

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_SETTERS_H_
