#include "tests/sim/caller.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/sim/link_device.h"

namespace skein::chaos {
namespace {

constexpr uint64_t kLong = 20'000;
constexpr uint64_t kTooLarge = 16'224;  // for one message of the smallest ring

}  // namespace

void Caller::Give(std::shared_ptr<rpc::ClientPort> port) {
  port_ = std::move(port);
  over_ = port_ == nullptr;
  if (over_) return Cut();
  end_ = EndOf(port_->link());
}

void Caller::GiveServer(std::shared_ptr<rpc::ServerPort> port) {
  server_port_ = std::move(port);
  server_over_ = server_port_ == nullptr;
  if (!server_over_) server_end_ = EndOf(server_port_->link());
}

void Caller::Cut() {
  if (cut_off_ == absl::InfiniteFuture()) cut_off_ = world_.simulation().now() + kNews;
}

bool Caller::MayFail() const {
  const auto excused = [](const std::shared_ptr<LinkEnd>& end) { return end != nullptr && end->excused(); };
  return closed_ || excused(end_) || excused(server_end_);
}

void Caller::CheckLoss(absl::string_view side, const absl::Status& reason) {
  Journal& journal = world_.journal();
  // Whose client has not its end, not yet or no more, may be left alone: it may leave a link that its server, to whom
  // that is news, is just giving to it once more.
  journal.Check(MayFail() || over_ || end_ == nullptr, "a link was lost for no reason: ", side, " of ", ToString(),
                ": ", reason.ToString());
  journal.Check(IsLoss(reason.message()), "a link was lost for a bad reason: ", side, " of ", ToString(), ": ",
                reason.ToString());
}

void Caller::Act(bool finishing) {
  if (port_ == nullptr) return;
  TakeAnswers();
  if (world_.simulation().now() >= cut_off_) {
    // What had arrived is delivered first.
    if (!port_->link().Drain()) return;
    closed_ = true;
    port_->Close(absl::UnavailableError("the server is gone"));
    TakeAnswers();
  }
  Dice& dice = world_.dice();
  const bool lost = !port_->error().ok();
  if (port_->link().finished()) {
    port_->link().flushing().When([this](const absl::Status& reason) { CheckLoss("client", reason); });
  }
  if (!finishing && !lost && dice.OneIn(manner_.pace)) Start();
  if (!calls_.empty() && !finishing && dice.OneIn(60)) Forget();
  if (calls_.empty() && (lost || (finishing && HasAllPlaces()))) Close();
}

// Those of calls that were given up come back with their answers.
bool Caller::HasAllPlaces() {
  std::vector<rpc::Slot*> taken;
  for (absl::StatusOr<rpc::Slot*> slot = port_->Take(); slot.ok(); slot = port_->Take()) taken.push_back(*slot);
  for (rpc::Slot* const slot : taken) port_->Release(slot);
  return taken.size() == manner_.max_calls || !port_->error().ok();
}

void Caller::Start() {
  std::vector<rpc::Request> requests;
  const size_t before = calls_.size();
  for (uint64_t many = world_.dice().Between(1, 6); many > 0; --many) {
    const absl::StatusOr<rpc::Slot*> slot = port_->Take();
    if (!slot.ok()) break;
    Call& call = calls_.emplace_back();
    call.number = ++last_number_;
    const uint64_t size = world_.dice().OneIn(50) ? world_.dice().Below(kLong) : world_.dice().Below(200);
    call.bytes = absl::StrCat(call.number, " ", std::string(size, static_cast<char>('a' + call.number % 23)));
    call.slot = *slot;
    call.slot->answer = &call.answer;
    requests.push_back({call.slot, 1, call.bytes});
    world_.journal().Operation();
  }
  const bool too_large = std::any_of(requests.begin(), requests.end(),
                                     [](const rpc::Request& request) { return request.bytes.size() > kTooLarge; });
  for (auto call = std::next(calls_.begin(), static_cast<std::ptrdiff_t>(before)); call != calls_.end(); ++call) {
    call->too_large = too_large;
  }
  port_->Start(requests);
}

void Caller::TakeAnswers() {
  for (auto call = calls_.begin(); call != calls_.end();) {
    if (!call->slot->waiter.done()) {
      ++call;
      continue;
    }
    Judge(*call);
    call->slot->waiter.Forget();
    port_->Release(call->slot);
    call = calls_.erase(call);
  }
}

// One caller has lost patience.
void Caller::Forget() {
  Call& call = calls_.front();
  if (!call.slot->waiter.Abandon()) {
    call.slot->waiter.Forget();
    port_->Release(call.slot);
  }
  calls_.pop_front();
}

void Caller::Judge(const Call& call) {
  Journal& journal = world_.journal();
  const auto found = executions_.find(call.number);
  const int executed = found == executions_.end() ? 0 : found->second;
  const absl::Status& status = call.answer.status;
  journal.See(call.number);
  journal.See(static_cast<uint64_t>(status.code()));
  const Wish wish = WishOf(call.number);
  const auto is = [&](bool expected) {
    journal.Check(expected && executed == 1, "call ", call.number, ", executed ", executed,
                  " times: ", status.ToString());
  };
  switch (status.code()) {
    case absl::StatusCode::kOk:
      journal.Check(call.answer.bytes == call.bytes, "call ", call.number, ": an answer of ", call.answer.bytes.size(),
                    " bytes, not its ", call.bytes.size());
      return is(wish == Wish::kEcho || wish == Wish::kEchoLater);
    case absl::StatusCode::kNotFound:
      return is(wish == Wish::kNotFound);
    case absl::StatusCode::kInternal:
      return is(wish == Wish::kNoReply);
    case absl::StatusCode::kResourceExhausted:
      if (executed == 0) return journal.Check(call.too_large, "call ", call.number, ": ", status.ToString());
      return is(wish == Wish::kTooMuch);
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
      return journal.Check(MayFail(), "call ", call.number, " failed for no reason: ", status.ToString());
    default:
      journal.Violate("call ", call.number, ": ", status.ToString());
  }
}

void Caller::Close() {
  if (port_ == nullptr) return;
  closed_ = true;
  port_->Close(absl::CancelledError("closed by this end"));
  TakeAnswers();
  world_.journal().Check(calls_.empty(), calls_.size(), " calls without an answer after the end");
  Die();
}

void Caller::Die() {
  while (port_ != nullptr && !calls_.empty()) Forget();
  port_.reset();
  over_ = true;
  Cut();
}

// As core/rpc's Server: who has lost the link ends the other channel, from which the client may be the first to hear.
void Caller::ActServer() {
  if (server_over_) return;
  if (server_port_ != nullptr && server_port_->link().finished()) return OnServerLost();
  if (world_.simulation().now() >= cut_off_) CloseServer();
}

void Caller::OnServerLost() {
  server_port_->link().flushing().When([this](const absl::Status& reason) { CheckLoss("server", reason); });
  ServerDies();
}

void Caller::CloseServer() {
  closed_ = true;
  if (server_port_ != nullptr) server_port_->Close("the connection has ended");
  ServerDies();
}

void Caller::ServerDies() {
  closed_ = true;
  server_port_.reset();
  server_over_ = true;
  Cut();
}

std::string Caller::ToString() const {
  std::string text = absl::StrCat("connection of process ", client_, over_ ? ", over" : "",
                                  server_over_ ? ", over at the server" : "", " waits for");
  for (const Call& call : calls_) absl::StrAppend(&text, " ", call.number);
  return text;
}

}  // namespace skein::chaos
