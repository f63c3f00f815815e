#include "tests/unit/grpc_transport/iomgr/calls_chaos/plan.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "grpc_transport/iomgr/calls/frame.h"

namespace skein::calls_chaos {
namespace {

using grpc_transport::kInitialWindow;
using grpc_transport::kMaxFragmentBytes;

constexpr size_t kLargest = size_t{3} << 20;
constexpr size_t kPlaces = size_t{1} << 20;  // where in Bytes() a message may begin

// Sixteen different ones, so that compressing pays.
const std::string& Bytes() {
  static const std::string* const kBytes = [] {
    Dice dice(0);
    auto* bytes = new std::string(kPlaces + kLargest, '\0');
    for (size_t at = 0; at < bytes->size(); at += 16) {
      uint64_t drawn = dice.Next();
      for (size_t i = at; i < std::min(at + 16, bytes->size()); ++i, drawn >>= 4)
        (*bytes)[i] = "0123456789abcdef"[drawn & 15];
    }
    return bytes;
  }();
  return *kBytes;
}

// Many are small. The code has edges at a fragment's and at a window's size.
size_t DrawSize(Dice& dice) {
  switch (dice.Below(16)) {
    case 0:
    case 1:
      return 0;
    case 2:
    case 3:
      return kMaxFragmentBytes - 20 + dice.Below(40);
    case 4:
      return kInitialWindow - 200 + dice.Below(400);
    case 5:
      return dice.Below(kLargest + 1);
    case 6:
    case 7:
      return dice.Below(200'000);
    default:
      return dice.Below(300);
  }
}

std::vector<size_t> DrawSizes(Dice& dice, bool one) {
  if (one) return {DrawSize(dice)};
  std::vector<size_t> sizes(dice.Below(7));
  for (size_t& size : sizes) size = DrawSize(dice);
  // More empty messages than the window takes at once.
  if (dice.OneIn(40)) sizes.assign(kInitialWindow / grpc_transport::kMessageCost + 300, dice.Below(2));
  return sizes;
}

// What a part does, in order: so many steps.
size_t StepsOf(const Plan& plan, Part part) {
  switch (part) {
    case Part::kWriter:
      return plan.kind == Kind::kUp || plan.kind == Kind::kBoth ? plan.requests.size() : 0;
    case Part::kReader:
      return plan.kind == Kind::kDown || plan.kind == Kind::kBoth ? plan.replies.size() : 0;
    case Part::kHandler:
      return plan.read + plan.replies.size();
    case Part::kNobody:
      break;
  }
  return 0;
}

void DrawCourse(Dice& dice, Plan& plan) {
  const bool one_request = plan.kind == Kind::kUnary || plan.kind == Kind::kDown;
  const bool one_reply = plan.kind == Kind::kUnary || plan.kind == Kind::kUp;
  plan.requests = DrawSizes(dice, one_request);
  plan.fails = dice.OneIn(6);
  if (!one_reply || !plan.fails) plan.replies = DrawSizes(dice, one_reply);
  const bool early = !one_request && dice.OneIn(4);
  plan.read = early ? dice.Below(plan.requests.size() + 1) : plan.requests.size();
  // The caller does not read while it writes: neither end could go on with a long reply.
  if (early && one_reply && !plan.replies.empty()) plan.replies = {dice.Below(300)};
  plan.turns.assign(plan.read, true);
  plan.turns.resize(plan.read + plan.replies.size(), false);
  for (size_t left = plan.turns.size(); left > 1; --left) {
    const size_t other = dice.Below(left);
    const bool last = plan.turns[left - 1];
    plan.turns[left - 1] = plan.turns[other];
    plan.turns[other] = last;
  }
}

void DrawEnd(Dice& dice, Plan& plan) {
  if (dice.OneIn(7)) plan.timeout = dice.Between(absl::Milliseconds(1), absl::Milliseconds(60));
  if (!dice.OneIn(6)) return;
  const Part canceller = static_cast<Part>(dice.Between(1, 3));
  const size_t steps = StepsOf(plan, canceller);
  if (steps == 0) return;
  plan.canceller = canceller;
  plan.cancel_at = dice.Below(steps);
}

}  // namespace

Plan PlanOf(uint64_t call) {
  Dice dice(call);
  Plan plan;
  plan.call = call;
  plan.kind = MayBeRetried(call) ? (dice.OneIn(2) ? Kind::kUnary : Kind::kDown) : static_cast<Kind>(dice.Below(4));
  DrawCourse(dice, plan);
  DrawEnd(dice, plan);
  plan.pauses = dice.OneIn(3) ? 3 : 20;
  if (plan.requests.size() + plan.replies.size() > 100) plan.pauses = 500;
  if (dice.OneIn(10)) plan.padding = dice.Below(6000);
  plan.corked = dice.OneIn(3) && !plan.requests.empty();  // gRPC would keep it for ever
  plan.hints = dice.OneIn(3);
  plan.joins_end = dice.OneIn(2);
  const auto large = [](size_t size) { return size > 100'000; };
  plan.compresses = dice.OneIn(6) && !MayBeRetried(call) && absl::c_none_of(plan.requests, large) &&
                    absl::c_none_of(plan.replies, large);
  plan.initial_early = dice.OneIn(3);
  plan.awaits_initial = dice.OneIn(4);
  return plan;
}

std::string Describe(const Plan& plan) {
  constexpr const char* kKinds[] = {"Unary", "Up", "Down", "Both"};
  constexpr const char* kParts[] = {"nobody", "the writer", "the reader", "the handler"};
  const auto sizes = [](const std::vector<size_t>& of) {
    return of.size() < 10 ? absl::StrJoin(of, "+") : absl::StrFormat("%d times %d", of.size(), of[0]);
  };
  return absl::StrFormat(
      "%s, requests %s of which the handler reads %d, replies %s, %s, timeout %s, cancelled by %s at %d",
      kKinds[static_cast<size_t>(plan.kind)], sizes(plan.requests), plan.read, sizes(plan.replies),
      plan.fails ? "ABORTED" : "OK", absl::FormatDuration(plan.timeout), kParts[static_cast<size_t>(plan.canceller)],
      plan.cancel_at);
}

std::string Message(uint64_t call, bool is_reply, size_t index, size_t size) {
  return Bytes().substr(Dice(call * 10'007 + index * 2 + (is_reply ? 1 : 0)).Below(kPlaces), size);
}

}  // namespace skein::calls_chaos
