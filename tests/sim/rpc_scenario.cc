#include "tests/sim/rpc_scenario.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/rpc/client_service.h"
#include "core/rpc/server_service.h"

namespace skein::chaos {
namespace {

constexpr size_t kMostCallers = 6;

}  // namespace

RpcScenario::RpcScenario(World& world) : world_(world) {
  options_.max_calls = static_cast<uint32_t>(world_.dice().Between(1, 64));
  manner_.max_calls = options_.max_calls;
  // In some runs there is seldom a call under way: then nobody learns of a death by his own words.
  manner_.pace = world_.dice().OneIn(3) ? 200 : 3;
  options_.coalesce = !world_.dice().OneIn(4);
  peers_ = std::make_unique<Peers>(world_, *this);
}

RpcScenario::~RpcScenario() {
  later_.clear();
  for (const auto& caller : callers_) {
    caller->Die();
    caller->ServerDies();
  }
  peers_.reset();
}

std::unique_ptr<Asker> RpcScenario::MakeAsker(size_t /*process*/, std::shared_ptr<connect::Fabrics> fabrics,
                                              const stream::StreamOptions& options, wait::Watcher* waiter) {
  return chaos::MakeAsker(connect::CreateConnector(std::move(fabrics), options.link, waiter,
                                                   std::make_shared<rpc::ClientService>(options_)));
}

std::unique_ptr<Answerer> RpcScenario::MakeAnswerer(std::shared_ptr<connect::Fabrics> fabrics,
                                                    const stream::StreamOptions& options, wait::Watcher* waiter) {
  auto service = std::make_shared<rpc::ServerService>(options_);
  service->handlers()[1] = [this](absl::string_view request, rpc::Reply reply) { Handle(request, std::move(reply)); };
  return chaos::MakeAnswerer(connect::CreateListener(std::move(fabrics), options.link, waiter, std::move(service)));
}

void RpcScenario::Handle(absl::string_view request, rpc::Reply reply) {
  uint64_t number = 0;
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(request, absl::MaxSplits(' ', 1));
  const bool whole = absl::SimpleAtoi(parts.first, &number) && number <= last_number_;
  world_.journal().Check(whole, "a request that nobody has made");
  world_.journal().Check(++executions_[number] == 1, "call ", number, " was executed twice");
  world_.journal().See(number);
  switch (WishOf(number)) {
    case Wish::kEcho:
      return reply.Send(request);
    case Wish::kEchoLater:
      later_.emplace_back(request, std::move(reply));
      return;
    case Wish::kNotFound:
      return reply.Fail(absl::NotFoundError("as it was asked for"));
    case Wish::kNoReply:
      return;
    case Wish::kTooMuch:
      return reply.Send(std::string(100'000, 'x'));
  }
}

void RpcScenario::AnswerLater() {
  if (later_.empty() || !world_.awake(0) || !(finishing_ || world_.dice().OneIn(3))) return;
  auto one = later_.begin();
  std::advance(one, static_cast<std::ptrdiff_t>(world_.dice().Below(later_.size())));
  one->second.Send(one->first);
  later_.erase(one);
}

void RpcScenario::Begin(size_t client) {
  callers_.push_back(std::make_unique<Caller>(world_, client, manner_, last_number_, executions_));
  Caller* const caller = callers_.back().get();
  peers_->Connect(client, [this, caller](bool to_client, Ending ending) {
    world_.journal().Check(ending.given() || ending.may_be_nothing || caller->server_over(),
                           "no way to connect, for no reason: ", ToString(ending.why));
    if (to_client) {
      caller->Give(std::static_pointer_cast<rpc::ClientPort>(std::move(ending.port)));
    } else {
      caller->GiveServer(std::static_pointer_cast<rpc::ServerPort>(std::move(ending.port)));
    }
  });
}

void RpcScenario::Step() {
  Dice& dice = world_.dice();
  const auto active = static_cast<size_t>(
      std::count_if(callers_.begin(), callers_.end(), [](const auto& caller) { return !caller->over(); }));
  const size_t client = 1 + dice.Below(world_.processes() - 1);
  const bool may_come = finishing_ ? peers_->lost_is_left() : active < kMostCallers;
  const uint64_t seldom = finishing_ ? 300 : active < 2 ? 10 : 60;
  if (may_come && world_.awake(client) && dice.OneIn(seldom)) Begin(client);
  for (const auto& caller : callers_) {
    if (caller->over()) continue;
    if (world_.awake(caller->client())) caller->Act(finishing_);
    if (world_.awake(0)) caller->ActServer();
    if (!finishing_ && dice.OneIn(2000)) dice.OneIn(2) ? caller->Close() : caller->CloseServer();
  }
  AnswerLater();
  peers_->Step();
}

void RpcScenario::OnExit(size_t process) {
  for (const auto& caller : callers_) {
    if (process == 0 && !caller->server_over()) caller->CloseServer();
    if (process == caller->client()) caller->Close();
  }
}

void RpcScenario::OnDeath(size_t process) {
  if (process == 0) later_.clear();
  for (const auto& caller : callers_) {
    if (process == 0) caller->ServerDies();
    if (process == caller->client()) caller->Die();
  }
  peers_->OnDeath(process);
}

void RpcScenario::OnClose(const Fault& fault) {
  if (fault.number % 2 == 0 || callers_.empty()) return peers_->CloseLink(fault);
  Caller& caller = *callers_[fault.number % callers_.size()];
  if (caller.over()) return;
  world_.journal().Count(fault.kind);
  fault.process == 0 ? caller.CloseServer() : caller.Close();
}

bool RpcScenario::Settled() const {
  return !peers_->negotiating() && !peers_->links_are_left() && later_.empty() &&
         std::all_of(callers_.begin(), callers_.end(), [](const auto& caller) { return caller->over(); });
}

std::string RpcScenario::Unsettled() const {
  std::string text = peers_->links_are_left() ? absl::StrCat("links are left: ", peers_->Links()) : "";
  for (const auto& caller : callers_) {
    if (!caller->over()) absl::StrAppend(&text, text.empty() ? "" : "; ", caller->ToString());
  }
  return text;
}

void RpcScenario::CheckAtEnd() {
  for (const auto& [number, times] : executions_) world_.journal().See(number);
}

}  // namespace skein::chaos
