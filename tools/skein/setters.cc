#include "tools/skein/setters.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace skein {
namespace {

absl::Status ReadProcess(const std::string& word, pid_t& process) {
  if (absl::SimpleAtoi(word, &process) && process > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", word, "' is no process number"));
}

// `parse` is one of absl's.
template <typename T>
Setter NumberWithin(std::optional<T>& variable, T low, T high, const std::string& unit,
                    bool (*parse)(absl::string_view, T*)) {
  return [&variable, low, high, unit, parse](const std::string& word) {
    T number = 0;
    // Also no NaN is within.
    if (!parse(word, &number) || !(number >= low && number <= high)) {
      return absl::InvalidArgumentError(
          absl::StrCat("is '", word, "', but must be a number of ", unit, " from ", low, " to ", high));
    }
    variable = number;
    return absl::OkStatus();
  };
}

}  // namespace

Setter Yes(bool& variable) {
  return [&variable](const std::string& /*word*/) {
    variable = true;
    return absl::OkStatus();
  };
}

Setter Text(std::string& variable) {
  return [&variable](const std::string& word) {
    variable = word;
    return absl::OkStatus();
  };
}

Setter Texts(std::vector<std::string>& variable) {
  return [&variable](const std::string& word) {
    variable.push_back(word);
    return absl::OkStatus();
  };
}

Setter Number(std::optional<double>& variable, double low, double high, const std::string& unit) {
  return NumberWithin<double>(variable, low, high, unit,
                              [](absl::string_view word, double* number) { return absl::SimpleAtod(word, number); });
}

Setter Number(std::optional<uint32_t>& variable, uint32_t low, uint32_t high, const std::string& unit) {
  return NumberWithin<uint32_t>(variable, low, high, unit, [](absl::string_view word, uint32_t* number) {
    return absl::SimpleAtoi(word, number);
  });
}

Setter Process(pid_t& variable) {
  return [&variable](const std::string& word) { return ReadProcess(word, variable); };
}

Setter Processes(std::vector<pid_t>& variable) {
  return [&variable](const std::string& word) {
    pid_t process = 0;
    absl::Status status = ReadProcess(word, process);
    if (status.ok()) variable.push_back(process);
    return status;
  };
}

}  // namespace skein
