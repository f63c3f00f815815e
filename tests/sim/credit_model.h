// What the sender on a queue pair must think of its credits, by nothing but what both ends have posted: what messages
// cost, how many are granted, and at which message half of them is gone and more are asked for.
//
// It cannot be seen when a sender has looked at its peer's control line, which lands at any time. So the sender may be
// in one of a few states; each message, and each request for more, says in which it cannot be.
#ifndef SKEIN_TESTS_CHAOS_CREDIT_MODEL_H_
#define SKEIN_TESTS_CHAOS_CREDIT_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace skein::chaos {

class CreditModel {
 public:
  // What the peer's control line says of credits.
  struct Line {
    uint16_t answers = 0;
    uint16_t refills = 0;
    bool open = false;
    friend bool operator==(const Line&, const Line&) = default;
  };
  // What the sender has posted: a message, or something that costs nothing.
  struct Posted {
    bool message = false;
    bool data = false;
    bool renews = false;  // asks for more
  };

  CreditModel();

  // The peer has posted one.
  void OnLine(const Line& line);
  // Gives what is wrong with it; nothing if it may be.
  std::string OnPosted(const Posted& posted);

 private:
  struct State {
    size_t line = 0;  // of lines_: the last one looked at
    int64_t balance = 0;
    bool active = false;
    bool asked = false;
    friend bool operator==(const State&, const State&) = default;
  };

  bool Look(State& state, size_t line) const;
  static absl::string_view Post(State& state, const Posted& posted);

  std::vector<Line> lines_;
  std::vector<State> states_;
};

}  // namespace skein::chaos

#endif  // SKEIN_TESTS_CHAOS_CREDIT_MODEL_H_
