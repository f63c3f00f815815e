#include "tests/sim/peers.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/wire/negotiation.h"
#include "core/wire/ring_descriptor.h"

namespace skein::chaos {

Peers::Peers(World& world, Kind& kind) : world_(world), kind_(kind), sleepy_(world.dice().OneIn(2)) {
  Dice& dice = world_.dice();
  options_.link.ring_bytes = wire::kRingGranule;
  // Some so small that what is missing of one shows.
  constexpr size_t kWindows[] = {100, 4000, 4000, 1 << 17, 1 << 17, 1 << 17};
  options_.window_bytes = kWindows[dice.Below(std::size(kWindows))];
  options_.link.links = dice.Between(1, 2);
  // Some so small that what is pulled shares chunks with what is not.
  constexpr std::pair<size_t, size_t> kLarge[] = {{0, 0}, {1, 300}, {2000, 40'000}, {2000, 40'000}};
  const auto [least, most] = kLarge[dice.Below(std::size(kLarge))];
  options_.large_payload = static_cast<int64_t>(dice.Between(least, most));
  nodes_.resize(world_.processes());
  for (size_t process = 0; process < nodes_.size(); ++process) OnStart(process);
}

Peers::~Peers() {
  negotiations_.clear();
  while (!nodes_.empty()) {
    const size_t next = world_.dice().Below(nodes_.size());
    OnDeath(next);
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(next));
  }
}

stream::StreamOptions Peers::OptionsOf(size_t process) {
  stream::StreamOptions options = options_;
  Dice& dice = world_.dice();
  if (process == 0) {
    // Few places, so that links wait for their turn.
    const auto places = static_cast<uint32_t>(dice.OneIn(2) ? dice.Between(1, 3) : schedule::kMaxActiveQueuePairs);
    options.link.shares = std::make_shared<link::Shares>(places, /*turn=*/absl::Microseconds(20),
                                                         [this] { return world_.steady_clock(); });
  }
  return options;
}

void Peers::OnStart(size_t process) {
  Node& node = nodes_[process];
  node.process = std::make_unique<Process>(world_.device(process), sleepy_);
  node.fabrics = std::make_shared<LinkFabrics>(world_.device(process));
  if (process == 0) {
    node.answerer = kind_.MakeAnswerer(node.fabrics, OptionsOf(process), node.process.get());
  } else {
    node.asker = kind_.MakeAsker(process, node.fabrics, OptionsOf(process), node.process.get());
  }
}

void Peers::OnDeath(size_t process) {
  std::vector<Given> lost;
  std::erase_if(negotiations_, [&](Negotiation& negotiation) {
    if (process != 0 && process != negotiation.client) return false;
    lost.push_back(std::move(negotiation.given));
    return true;
  });
  Ending none;
  none.may_be_nothing = true;
  for (const Given& given : lost) given(/*to_client=*/true, none);
  nodes_[process] = {};
}

void Peers::Connect(size_t client, Given given) {
  const Node& node = nodes_[client];
  auto asking = node.asker->Begin();
  if (!asking.ok()) {
    Ending none;
    none.why = FallbackOf(asking.status());
    none.may_be_nothing = node.fabrics->last()->excused();
    return given(/*to_client=*/true, std::move(none));
  }
  Negotiation& negotiation = negotiations_.emplace_back();
  negotiation.client = client;
  negotiation.asking = *std::move(asking);
  negotiation.end = node.fabrics->last();
  negotiation.given = std::move(given);
  // Not before the news of links that this process has closed: where closing is announced, a server knows of it by the
  // time it hears anything later. Nor do they pass where that does not (Forward).
  negotiation.due = world_.simulation().now() + world_.longest_flight() +
                    world_.dice().Between(absl::ZeroDuration(), absl::Microseconds(40));
}

void Peers::Answer(Negotiation& negotiation) {
  auto [answer, ending] = nodes_[0].answerer->Accept(negotiation.asking->offer());
  negotiation.answer = std::move(answer);
  const absl::StatusOr<wire::Answer> decoded = wire::DecodeAnswer(negotiation.answer);
  if (decoded.ok() && std::holds_alternative<wire::Yes>(*decoded)) {
    negotiation.number = std::get<wire::Yes>(*decoded).stream;
  }
  negotiation.place = ending.given() ? ending.end() : nodes_[0].fabrics->last();
  negotiation.answered = true;
  negotiation.due += world_.dice().Between(absl::ZeroDuration(), absl::Microseconds(40));
  ending.number = negotiation.number;
  ending.may_be_nothing = negotiation.place->excused() || negotiation.end->excused();
  negotiation.given(/*to_client=*/false, std::move(ending));
}

void Peers::Complete(Negotiation& negotiation) {
  Ending ending = negotiation.asking->Complete(negotiation.answer);
  ending.number = negotiation.number;
  ending.may_be_nothing = negotiation.place->excused() || negotiation.end->excused();
  negotiation.given(/*to_client=*/true, std::move(ending));
}

// True: it is over.
bool Peers::Forward(Negotiation& negotiation) {
  if (world_.simulation().now() < negotiation.due) return false;
  if (world_.announces_close() && world_.parted(negotiation.client, 0)) return false;
  if (!negotiation.answered) {
    if (world_.awake(0)) Answer(negotiation);
    return false;
  }
  if (!world_.awake(negotiation.client)) return false;
  Complete(negotiation);
  return true;
}

void Peers::Step() {
  std::erase_if(negotiations_, [this](Negotiation& negotiation) { return Forward(negotiation); });
  for (size_t process = 0; process < nodes_.size(); ++process) {
    if (world_.awake(process) && !world_.dice().OneIn(3)) nodes_[process].process->Poll();
  }
}

void Peers::CloseLink(const Fault& fault) {
  const auto links = nodes_[fault.process].process->links();
  if (links.empty()) return;
  link::Link& victim = *links[fault.number % links.size()];
  world_.journal().Count(fault.kind);
  EndOf(victim)->Break();
  victim.Close();
}

std::string Peers::Links() const {
  std::string text;
  for (size_t process = 0; process < nodes_.size(); ++process) {
    for (const auto& link : nodes_[process].process->links()) {
      absl::StrAppend(&text, " one of process ", process, " with ", link->ports().size(), " streams",
                      link->ports().unused() ? ", unused" : "", link->channel().met() ? "" : ", not met",
                      link->flushing().Flushed() ? ", flushed" : "", ";");
    }
  }
  return text;
}

bool Peers::lost_is_left() const {
  const auto links = nodes_[0].process->links();
  return negotiations_.empty() && !links.empty() &&
         std::all_of(links.begin(), links.end(),
                     [](const auto& link) { return EndOf(*link)->broken() && !link->Glance(); }) &&
         !world_.device(0)->any_failed() &&
         std::all_of(nodes_.begin() + 1, nodes_.end(), [](const Node& node) { return node.process->links().empty(); });
}

bool Peers::links_are_left() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) { return !node.process->links().empty(); });
}

}  // namespace skein::chaos
