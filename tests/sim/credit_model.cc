#include "tests/sim/credit_model.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace skein::chaos {
namespace {

// FORMAT.md's and the thesis' numbers, on purpose not those of core/schedule.
constexpr int64_t kCredits = 32;
constexpr int64_t kReserve = 8;

}  // namespace

CreditModel::CreditModel() : lines_{{.open = true}}, states_{{.balance = kReserve + kCredits, .active = true}} {}

void CreditModel::OnLine(const Line& line) {
  if (line == lines_.back()) return;
  // No sender is in a state before the first of these.
  const size_t before =
      absl::c_min_element(states_, [](const State& a, const State& b) { return a.line < b.line; })->line;
  lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(before));
  for (State& state : states_) state.line -= before;
  lines_.push_back(line);
}

// False: a line that no honest peer writes to a sender in that state. So it is in another one.
bool CreditModel::Look(State& state, size_t line) const {
  const auto answers = static_cast<uint16_t>(lines_[line].answers - lines_[state.line].answers);
  const auto refills = static_cast<uint16_t>(lines_[line].refills - lines_[state.line].refills);
  if (answers > (state.asked ? 1 : 0)) return false;
  state.line = line;
  state.asked = state.asked && answers == 0;
  state.active = lines_[line].open;
  state.balance = std::max(state.balance, answers + refills > 0 ? kReserve : 0) + refills * kCredits;
  return true;
}

// Why a sender in that state would not have posted it.
absl::string_view CreditModel::Post(State& state, const Posted& posted) {
  const bool due = !state.asked && state.balance <= (state.active ? kReserve + kCredits / 2 : kReserve / 2);
  if (posted.renews && !due) return "credits are asked for";
  if (!posted.renews && due) return "no credits are asked for";
  if (posted.data && state.balance <= kReserve) return "data is sent";
  if (posted.message && state.balance == 0) return "a message is sent";
  state.asked = state.asked || posted.renews;
  state.balance -= posted.message ? 1 : 0;
  return "";
}

std::string CreditModel::OnPosted(const Posted& posted) {
  std::vector<State> possible;
  std::string wrong;
  for (const State& before : states_) {
    for (size_t line = before.line; line < lines_.size(); ++line) {
      State state = before;
      if (line > before.line && !Look(state, line)) continue;
      const absl::string_view why = Post(state, posted);
      if (why.empty()) {
        if (!absl::c_linear_search(possible, state)) possible.push_back(state);
      } else {
        absl::StrAppend(&wrong, why, " with ", state.balance, " credits, ", state.active ? "active" : "inactive",
                        state.asked ? ", asked; " : "; ");
      }
    }
  }
  if (possible.empty()) return wrong;
  states_ = std::move(possible);
  return "";
}

}  // namespace skein::chaos
