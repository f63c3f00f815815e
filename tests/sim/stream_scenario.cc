#include "tests/sim/stream_scenario.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace skein::chaos {
namespace {

constexpr size_t kMostTalks = 8;

}  // namespace

std::unique_ptr<Asker> StreamKind::MakeAsker(size_t /*process*/, std::shared_ptr<connect::Fabrics> fabrics,
                                             const stream::StreamOptions& options, wait::Watcher* waiter) {
  return chaos::MakeAsker(stream::CreateConnector(std::move(fabrics), options, waiter));
}

std::unique_ptr<Answerer> StreamKind::MakeAnswerer(std::shared_ptr<connect::Fabrics> fabrics,
                                                   const stream::StreamOptions& options, wait::Watcher* waiter) {
  return chaos::MakeAnswerer(stream::CreateListener(std::move(fabrics), options, waiter));
}

// In some runs there is seldom anything under way: then nobody learns of a death by his own words.
StreamScenario::StreamScenario(World& world) : world_(world), peers_(std::make_unique<Peers>(world, kind_)) {
  manner_.window = peers_->window();
  manner_.pace = world.dice().OneIn(3) ? 100 : 1;
}

StreamScenario::~StreamScenario() {
  // Some owners go before what carries their streams, as it happens at exit.
  for (const auto& talk : talks_) {
    for (const Talk::Side side : {Talk::kClient, Talk::kServer}) talk->Die(side);
  }
  peers_.reset();
}

void StreamScenario::Begin(size_t client) {
  talks_.push_back(std::make_unique<Talk>(world_, ++begun_, client, 0, manner_));
  peers_->Connect(client, [talk = talks_.back().get()](bool to_client, Ending ending) {
    talk->Give(to_client ? Talk::kClient : Talk::kServer, std::move(ending));
  });
}

void StreamScenario::Act(Talk& talk, Talk::Side side) {
  const size_t process = talk.process(side);
  if (world_.awake(process) && (finishing_ || world_.dice().OneIn(2))) talk.Act(side, finishing_);
}

void StreamScenario::Step() {
  Dice& dice = world_.dice();
  const auto active =
      static_cast<size_t>(std::count_if(talks_.begin(), talks_.end(), [](const auto& talk) { return !talk->over(); }));
  const size_t client = 1 + dice.Below(world_.processes() - 1);
  const bool may_come = finishing_ ? peers_->lost_is_left() : active < kMostTalks;
  const uint64_t seldom = finishing_ ? 300 : active < 2 ? 10 : 60;
  if (may_come && world_.awake(client) && dice.OneIn(seldom)) Begin(client);
  for (const auto& talk : talks_) {
    if (talk->over()) continue;
    Act(*talk, Talk::kClient);
    Act(*talk, Talk::kServer);
  }
  peers_->Step();
}

void StreamScenario::OnExit(size_t process) {
  for (const auto& talk : talks_) {
    for (const Talk::Side side : {Talk::kClient, Talk::kServer}) {
      if (talk->process(side) == process) talk->Abort(side);
    }
  }
}

void StreamScenario::OnDeath(size_t process) {
  for (const auto& talk : talks_) {
    for (const Talk::Side side : {Talk::kClient, Talk::kServer}) {
      if (talk->process(side) == process) talk->Die(side);
    }
  }
  peers_->OnDeath(process);
}

void StreamScenario::OnClose(const Fault& fault) {
  if (fault.number % 4 == 0 || talks_.empty()) return peers_->CloseLink(fault);
  Talk& talk = *talks_[fault.number % talks_.size()];
  const Talk::Side side = fault.number % 8 < 4 ? Talk::kClient : Talk::kServer;
  if (!world_.alive(talk.process(side)) || talk.over(side)) return;
  world_.journal().Count(fault.kind);
  fault.number % 2 == 0 ? talk.Abort(side) : talk.Leave(side);
}

bool StreamScenario::Settled() const {
  return !peers_->negotiating() && !peers_->links_are_left() &&
         std::all_of(talks_.begin(), talks_.end(), [](const auto& talk) { return talk->over(); });
}

std::string StreamScenario::Unsettled() const {
  std::string text = peers_->links_are_left() ? absl::StrCat("links are left: ", peers_->Links()) : "";
  for (const auto& talk : talks_) {
    if (!talk->over()) absl::StrAppend(&text, text.empty() ? "" : "; ", talk->ToString());
  }
  return text;
}

}  // namespace skein::chaos
