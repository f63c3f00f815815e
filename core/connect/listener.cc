// The asked end of a negotiation.
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/mutex.h"
#include "core/base/random_value.h"
#include "core/connect/negotiation.h"
#include "core/connect/own_process.h"
#include "core/link/link.h"
#include "core/wire/negotiation.h"

namespace skein::connect {
namespace {

using link::Link;

// Links whose streams have no owners here: their clients are about to leave them, or have died. Where nothing tells of
// a death, or the good-bye was lost, only asking finds that out. Clients that leave none, but come by new ones, lose
// the oldest of those on which nothing is under way. Any thread.
class UnusedLinks {
 public:
  void Add(const std::shared_ptr<Link>& link) {
    {
      MutexLock lock(&mu_);
      std::erase_if(links_, [&](const std::weak_ptr<Link>& each) { return each.lock() == link; });
      links_.push_back(link);
    }
    const std::vector<std::shared_ptr<Link>> left = Left();
    for (size_t i = 0; i + kMost < left.size(); ++i) {
      const bool may_go = i + kMostUnflushed < left.size() || left[i]->flushing().Flushed();
      if (may_go && left[i]->ports().CloseIfUnused()) left[i]->Close();
    }
  }
  void AskWhoIsThere() {
    for (const std::shared_ptr<Link>& link : Left()) link->StillConnected();
  }

 private:
  static constexpr size_t kMost = 64;
  static constexpr size_t kMostUnflushed = 256;  // whose clients have not taken all that they were sent

  std::vector<std::shared_ptr<Link>> Left() {
    std::vector<std::shared_ptr<Link>> left;
    MutexLock lock(&mu_);
    std::erase_if(links_, [&left](const std::weak_ptr<Link>& each) {
      std::shared_ptr<Link> link = each.lock();
      if (link == nullptr || link->finished() || !link->ports().unused()) return true;
      left.push_back(std::move(link));
      return false;
    });
    return left;
  }

  Mutex mu_;  // before those of links
  std::vector<std::weak_ptr<Link>> links_ ABSL_GUARDED_BY(mu_);
};

// By somebody who would not see what goes over a link, and would end the connection as an idle one.
bool PassedOn(const wire::Offer& offer, const Route& route) {
  constexpr wire::ConnectionEnd kNotKnown = {};
  return offer.from != kNotKnown && route.peer.ss_family != 0 && offer.from != EndOf(route.peer);
}

// Of this process alone: what its kernel, its options, its devices do not give.
bool IsOwn(const Fallback& why) {
  return why.code == FallbackCode::kResources || why.code == FallbackCode::kNotPermitted ||
         why.code == FallbackCode::kNoRdma || why.code == FallbackCode::kFabricOff ||
         why.code == FallbackCode::kSettling || why.code == FallbackCode::kTimeout;
}

// The client would take this end's own for its own.
Fallback ToldToClient(std::vector<Fallback> reasons) {
  for (Fallback& why : reasons) {
    if (IsOwn(why)) why.detail = absl::StrCat("the server's: ", why.detail);
  }
  return Join(reasons);
}

class PoolingListener final : public Listener {
 public:
  PoolingListener(std::shared_ptr<Fabrics> fabrics, const Options& options, wait::Watcher* waiter,
                  std::shared_ptr<Service> service)
      : fabrics_(std::move(fabrics)), options_(options), waiter_(waiter), service_(std::move(service)) {}
  ~PoolingListener() override { shares_->Close(); }

  Result Accept(absl::string_view bytes, const Route& route, uint8_t features) override {
    std::vector<Fallback> reasons;
    absl::StatusOr<Result> result = TryAccept(bytes, route, features, reasons);
    if (!result.ok()) {
      if (reasons.empty()) reasons.push_back(FallbackOf(result.status()));  // no fabric was looked at
      result = Result();
      result->placement.both_know = true;
      result->answer = wire::EncodeAnswer(ToldToClient(reasons));
    }
    result->placement.why = Join(reasons);
    return *std::move(result);
  }

 private:
  using ClientKey = std::pair<wire::ProcessId, std::string>;  // and the fabric's kind
  struct Numbered {
    uint64_t number = 0;
    std::weak_ptr<Link> link;    // owned by the waiter that watches it, and by its streams
    bool named_no_more = false;  // the client has asked for another instead
  };
  using Links = std::vector<Numbered>;  // oldest first

  // The best of what is offered that this end has, too, and the reasons against what is better.
  absl::StatusOr<Result> TryAccept(absl::string_view bytes, const Route& route, uint8_t features,
                                   std::vector<Fallback>& reasons) {
    if (absl::Status status = process_.CheckNotForked(); !status.ok()) return status;
    const absl::StatusOr<wire::Offer> offer = wire::DecodeOffer(bytes);
    if (!offer.ok()) return offer.status();
    if (offer->service != service_->name()) {
      return FallbackError(FallbackCode::kVersion,
                           absl::StrCat("service ", static_cast<int>(offer->service), " is not served here"));
    }
    std::vector<Candidate> candidates = fabrics_->For(route);
    if (PassedOn(*offer, route)) {
      const Fallback why = {FallbackCode::kProxy, "the connection comes from another address than its client's"};
      if (absl::c_none_of(candidates, [](const Candidate& c) { return c.named; })) {
        return FallbackError(why);
      }
      for (Candidate& candidate : candidates) {
        if (!candidate.named) candidate = {candidate.kind, nullptr, why};
      }
    }
    for (size_t i = 0; i < offer->fabrics.size(); ++i) {
      const std::string& kind = offer->fabrics[i].kind;
      const auto own = absl::c_find_if(candidates, [&](const Candidate& c) { return c.kind == kind; });
      if (own == candidates.end()) {
        reasons.push_back({FallbackCode::kVersion, absl::StrCat("no fabric ", kind, " here")});
        continue;
      }
      if (own->transport == nullptr) {
        reasons.push_back(own->why_not);
        continue;
      }
      wire::Yes yes;
      yes.fabric = static_cast<uint8_t>(i);
      yes.passed_over = ToldToClient(reasons);
      yes.features = offer->features & features;
      absl::StatusOr<Result> result = AcceptFabric(*offer, route, own->transport, std::move(yes));
      if (result.ok()) return result;
      reasons.push_back(FallbackOf(result.status()));
    }
    return FallbackError(Join(reasons));
  }

  absl::StatusOr<Result> AcceptFabric(const wire::Offer& offer, const Route& route,
                                      const std::shared_ptr<channel::Transport>& transport, wire::Yes yes) {
    yes.process = id_;
    yes.window = service_->window();
    // First: the lost links may hold the memory that the new one needs.
    unused_->AskWhoIsThere();
    if (!transport->traits().announces_close) AskOfThoseNamedNoMore(offer, yes);
    std::shared_ptr<Link> new_link;
    const size_t most = transport->device() != nullptr ? 1 : options_.links;
    absl::StatusOr<std::shared_ptr<link::Port>> port = OnExistingLink(offer, most, yes);
    if (!port.ok()) port = OnNewLink(offer, route, transport, yes, new_link);
    if (!port.ok()) return port.status();
    Result result;
    result.answer = wire::EncodeAnswer(yes);
    if (result.answer.size() > kMaxAnswerBytes) return absl::InternalError("an answer that is too long");
    result.placement.port = *std::move(port);
    result.placement.features = yes.features;
    result.placement.reached = true;  // the client finds out, and this end writes nothing before
    if (new_link != nullptr) waiter_->Watch(std::move(new_link));
    return result;
  }

  static ClientKey KeyOf(const wire::Offer& offer, const wire::Yes& yes) {
    return {offer.process, offer.fabrics[yes.fabric].kind};
  }
  Links LinksOf(const wire::Offer& offer, const wire::Yes& yes) {
    MutexLock lock(&mu_);
    const auto found = clients_.find(KeyOf(offer, yes));
    return found == clients_.end() ? Links() : found->second;
  }

  // The client's word on which process it is decides at most which of its own user's links it shares.
  // There may be more than `most` where the client asked before it had attached to any of them.
  absl::StatusOr<std::shared_ptr<link::Port>> OnExistingLink(const wire::Offer& offer, size_t most, wire::Yes& yes) {
    if (offer.new_link_only) return absl::NotFoundError("");
    std::shared_ptr<Link> best;
    size_t links = 0;
    for (const Numbered& each : LinksOf(offer, yes)) {
      std::shared_ptr<Link> link = each.link.lock();
      if (link == nullptr || link->finished() || each.named_no_more) continue;
      if (++links > most && best != nullptr) break;
      if (!CanTakeMore(*link) || (best != nullptr && best->ports().size() <= link->ports().size())) continue;
      best = std::move(link);
      yes.link = each.number;
    }
    const bool takes = best != nullptr && (links >= most || best->ports().unused());
    return takes ? NewPort(best, yes) : absl::NotFoundError("");
  }

  static bool CanTakeMore(Link& link) {
    // Nobody uses it: has the client left it?
    if (link.ports().unused() && !link.Drain()) return false;
    // It does only once the client has heard of it, so that the client can be told "that one".
    return link.TakesStreams();
  }

  absl::StatusOr<std::shared_ptr<link::Port>> OnNewLink(const wire::Offer& offer, const Route& route,
                                                        const std::shared_ptr<channel::Transport>& transport,
                                                        wire::Yes& yes, std::shared_ptr<Link>& new_link) {
    const wire::OfferedFabric& offered = offer.fabrics[yes.fabric];
    const absl::Status checked = fabrics_->CheckPeer(route, offered.kind, offered.queue_pair);
    if (!checked.ok()) return checked;
    absl::StatusOr<std::shared_ptr<Link>> link =
        Link::Create(transport, {.ring_bytes = options_.ring_bytes,
                                 .max_staging_bytes = options_.max_staging_bytes,
                                 .shares = shares_,
                                 .takes_blocks = service_->takes_blocks(),
                                 .shares_memory = service_->shares_memory(),
                                 .combines = options_.combines});
    if (!link.ok()) return link.status();
    absl::StatusOr<Link::Answer> accepted = (*link)->Accept(offered.queue_pair);
    if (!accepted.ok()) return accepted.status();
    if (shares_->BeginToWatch()) waiter_->Watch(shares_);
    yes.is_new = true;
    yes.new_link = {accepted->ring, std::move(accepted->connection)};
    AddLink(offer, yes, *link);
    new_link = *link;
    return NewPort(*link, yes);
  }

  void AddLink(const wire::Offer& offer, wire::Yes& yes, const std::shared_ptr<Link>& link) {
    MutexLock lock(&mu_);
    absl::erase_if(clients_, [](auto& entry) {
      std::erase_if(entry.second, [](const Numbered& each) { return each.link.expired(); });
      return entry.second.empty();
    });
    yes.link = ++links_made_;
    Links& links = clients_[KeyOf(offer, yes)];
    for (Numbered& older : links) older.named_no_more |= offer.new_link_only;
    links.push_back({yes.link, link});
  }

  // Their client may have lost them, of which nothing tells while there is nothing to say. Again, whenever the client
  // comes: a device that tells nothing is believed for a while only. Those that it has not come to yet cannot answer.
  void AskOfThoseNamedNoMore(const wire::Offer& offer, const wire::Yes& yes) {
    for (const Numbered& each : LinksOf(offer, yes)) {
      if (!each.named_no_more && !offer.new_link_only) continue;
      const std::shared_ptr<Link> link = each.link.lock();
      if (link != nullptr && link->channel().met()) link->StillConnected();
    }
  }

  absl::StatusOr<std::shared_ptr<link::Port>> NewPort(const std::shared_ptr<Link>& link, wire::Yes& yes) {
    yes.stream = link->ports().NewNumber();
    if (yes.stream == 0) return absl::UnavailableError("the link is lost or has no more stream numbers");
    // Nothing may be sent before the peer has attached: its open item gives the window.
    const auto look_after = [weak = std::weak_ptr<Link>(link), unused = unused_] { LookAfter(weak.lock(), *unused); };
    std::shared_ptr<link::Port> port =
        service_->MakePort({link, yes.stream, /*send_window=*/0, look_after, look_after, /*opened=*/false});
    if (absl::Status status = link->ports().Add(port); !status.ok()) return status;
    return port;
  }

  // Leaving links is the client's business, but for those it never came to. If it has died, this finds out.
  static void LookAfter(const std::shared_ptr<Link>& link, UnusedLinks& unused) {
    if (link == nullptr || !link->ports().unused()) return;
    if (!link->channel().met() && link->ports().size() == 0) return link->Close();
    unused.Add(link);
    link->StillConnected();
  }

  const std::shared_ptr<Fabrics> fabrics_;
  const Options options_;
  wait::Watcher* const waiter_;
  const std::shared_ptr<Service> service_;
  const OwnProcess process_;
  const wire::ProcessId id_ = RandomValue<wire::ProcessId>();  // by which clients know links of its again
  const std::shared_ptr<UnusedLinks> unused_ = std::make_shared<UnusedLinks>();  // with the ports' ends
  const std::shared_ptr<link::Shares> shares_ =
      options_.shares != nullptr ? options_.shares : std::make_shared<link::Shares>();
  Mutex mu_;
  uint64_t links_made_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<ClientKey, Links> clients_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::unique_ptr<Listener> CreateListener(std::shared_ptr<Fabrics> fabrics, const Options& options,
                                         wait::Watcher* waiter, std::shared_ptr<Service> service) {
  return std::make_unique<PoolingListener>(std::move(fabrics), options, waiter, std::move(service));
}

}  // namespace skein::connect
