// The verbs as one command: its words parsed, its help, and what it says to who calls it wrongly.
#ifndef SKEIN_TOOLS_SKEIN_COMMAND_H_
#define SKEIN_TOOLS_SKEIN_COMMAND_H_

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tools/skein/verb.h"

namespace skein {

class Command {
 public:
  explicit Command(std::vector<Verb> verbs) : verbs_(std::move(verbs)) {}

  // `words`: those behind the command's name. Gives the exit status: the verb's own; 1: it failed; 2: called wrongly.
  // Once: the verbs keep what they are told. Help goes to `out`, complaints go to `err`.
  int Run(std::vector<std::string> words, std::ostream& out, std::ostream& err) const;

 private:
  std::vector<Verb> verbs_;
};

}  // namespace skein

#endif  // SKEIN_TOOLS_SKEIN_COMMAND_H_
