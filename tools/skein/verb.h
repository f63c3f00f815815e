// What the skein command can do, a verb each: how it is called, what its help says, and what it does.
#ifndef SKEIN_TOOLS_SKEIN_VERB_H_
#define SKEIN_TOOLS_SKEIN_VERB_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/skein/setters.h"

namespace skein {

struct VerbOption {
  std::string names;  // "--every", or "-o,--output"
  std::string value;  // what help calls its value: "N"; empty: the option has none
  std::string help;   // empty: help does not list the option
  Setter set;         // its error completes a sentence that begins with the option's name
};

// What stands behind the options.
struct Operand {
  enum class Count : uint8_t {
    kOne,
    kMany,
    kProgram,  // a program and all words behind it, whatever they look like
  };
  Count count = Count::kOne;
  std::string name;      // what usage calls it: "PID"
  std::string question;  // to a caller who gives none; empty: none is needed
  Setter set;            // called for each word; its error is a sentence
};

struct Example {
  std::string words;  // "skein paths"
  std::string what;
};

// The functions are called one after the other, by one thread, once: the setters in the order of the words.
struct Verb {
  std::string name;
  std::string summary;  // a line of the command's own help
  std::string about;    // paragraphs, with a line break only between two of them
  std::vector<VerbOption> options = {};
  Operand operand;
  std::vector<Example> examples = {};
  std::function<absl::Status()> check = nullptr;       // whether all that was set goes together; null: it does
  std::function<absl::StatusOr<int>()> run = nullptr;  // the exit status; an error is said, and is 1
};

// "--json", of verbs that print facts: for people by default, for programs with it.
inline VerbOption JsonOption(bool& json) { return {"--json", "", "prints JSON, for programs", Yes(json)}; }

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_VERB_H_
