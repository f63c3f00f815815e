#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/link/link.h"
#include "core/stream/connector.h"
#include "core/stream/process_identity.h"
#include "core/stream/stream_port.h"
#include "core/wire/negotiation.h"

namespace skein::stream {
namespace {

using link::Link;

class LinkListener final : public Listener {
 public:
  LinkListener(std::shared_ptr<Fabrics> fabrics, const StreamOptions& options, progress::Waiter* waiter)
      : fabrics_(std::move(fabrics)), options_(options), waiter_(waiter) {}

  Fallback Deaf(const Route& route) override {
    std::vector<Fallback> reasons;
    for (Candidate& candidate : fabrics_->For(route)) {
      if (candidate.device != nullptr) return {};
      reasons.push_back(std::move(candidate.why_not));
    }
    return Join(reasons);
  }

  Result Accept(absl::string_view bytes, const Route& route) override {
    absl::StatusOr<Result> result = TryAccept(bytes, route);
    return result.ok() ? *std::move(result) : Decline(FallbackOf(result.status()));
  }

 private:
  using ClientKey = std::pair<wire::ProcessId, std::string>;  // and the fabric's kind
  struct Client {
    uint64_t number = 0;       // of the link
    std::weak_ptr<Link> link;  // owned by the waiter that watches it, and by its streams
  };

  // The best of what is offered that this end has, too.
  absl::StatusOr<Result> TryAccept(absl::string_view bytes, const Route& route) {
    if (absl::Status status = process_.CheckNotForked(); !status.ok()) return status;
    const absl::StatusOr<wire::Offer> offer = wire::DecodeOffer(bytes);
    if (!offer.ok()) return offer.status();
    const std::vector<Candidate> candidates = fabrics_->For(route);
    std::vector<Fallback> reasons;
    for (size_t i = 0; i < offer->fabrics.size(); ++i) {
      const std::string& kind = offer->fabrics[i].kind;
      const auto own = absl::c_find_if(candidates, [&](const Candidate& c) { return c.kind == kind; });
      if (own == candidates.end()) {
        reasons.push_back({FallbackCode::kVersion, absl::StrCat("no fabric ", kind, " here")});
        continue;
      }
      if (own->device == nullptr) {
        reasons.push_back(own->why_not);
        continue;
      }
      wire::Yes yes;
      yes.fabric = static_cast<uint8_t>(i);
      yes.passed_over = Join(reasons);
      absl::StatusOr<Result> result = AcceptFabric(*offer, own->device, std::move(yes));
      if (result.ok()) return result;
      reasons.push_back(FallbackOf(result.status()));
    }
    const Fallback why = Join(reasons);
    return FallbackError(why.code, why.detail);
  }

  absl::StatusOr<Result> AcceptFabric(const wire::Offer& offer, const std::shared_ptr<fabric::Device>& device,
                                      wire::Yes yes) {
    yes.process = process_.id();
    yes.window = options_.window_bytes;
    std::shared_ptr<Link> new_link;
    absl::StatusOr<std::shared_ptr<StreamPort>> port = OnExistingLink(offer, yes);
    if (!port.ok()) port = OnNewLink(offer, device, yes, new_link);
    if (!port.ok()) return port.status();
    Result result;
    result.answer = wire::EncodeAnswer(yes);
    if (result.answer.size() > kMaxAnswerBytes) return absl::InternalError("an answer that is too long");
    result.outcome.stream = std::make_shared<LinkStream>(*std::move(port));
    result.outcome.why = yes.passed_over;
    result.outcome.reached = true;  // the client finds out, and this end writes nothing before
    if (new_link != nullptr) waiter_->Watch(std::move(new_link));
    return result;
  }

  Client ClientOf(const wire::Offer& offer, const wire::Yes& yes) {
    absl::MutexLock lock(&mu_);
    const auto found = clients_.find(ClientKey(offer.process, offer.fabrics[yes.fabric].kind));
    return found == clients_.end() ? Client() : found->second;
  }

  // The client's word on which process it is decides at most which of its own user's links it shares.
  absl::StatusOr<std::shared_ptr<StreamPort>> OnExistingLink(const wire::Offer& offer, wire::Yes& yes) {
    const Client client = ClientOf(offer, yes);
    const std::shared_ptr<Link> link = client.link.lock();
    if (offer.new_link_only || link == nullptr) return absl::NotFoundError("");
    // Nobody uses it: has the client left it?
    if (link->unused() && !link->Drain()) return absl::NotFoundError("");
    // Attached: the client has heard of it, so that it can be told "that one".
    if (!link->attached() || !link->StillConnected()) return absl::NotFoundError("");
    yes.link = client.number;
    return NewPort(link, yes);
  }

  absl::StatusOr<std::shared_ptr<StreamPort>> OnNewLink(const wire::Offer& offer,
                                                        const std::shared_ptr<fabric::Device>& device, wire::Yes& yes,
                                                        std::shared_ptr<Link>& new_link) {
    absl::StatusOr<std::shared_ptr<Link>> link = Link::Create(device, options_.ring_bytes, options_.max_mirror_bytes);
    if (!link.ok()) return link.status();
    const wire::OfferedFabric& offered = offer.fabrics[yes.fabric];
    absl::StatusOr<Link::Accepted> accepted = (*link)->Accept(offered.queue_pair);
    if (!accepted.ok()) return accepted.status();
    absl::MutexLock lock(&mu_);
    absl::erase_if(clients_, [](const auto& entry) { return entry.second.link.expired(); });
    yes.link = ++links_made_;
    yes.is_new = true;
    yes.new_link = {accepted->ring, std::move(accepted->queue_pair_answer)};
    clients_[ClientKey(offer.process, offered.kind)] = {yes.link, *link};
    new_link = *link;
    return NewPort(*link, yes);
  }

  absl::StatusOr<std::shared_ptr<StreamPort>> NewPort(const std::shared_ptr<Link>& link, wire::Yes& yes) {
    yes.stream = link->NewStreamNumber();
    if (yes.stream == 0) return absl::UnavailableError("the link is lost or has no more stream numbers");
    // Nothing may be sent before the peer has attached: its open item gives the window.
    auto port = std::make_shared<StreamPort>(yes.stream, link, options_.window_bytes, /*send_window=*/0,
                                             [link = std::weak_ptr<Link>(link)] { LookAfter(link.lock()); });
    if (absl::Status status = link->AddPort(port); !status.ok()) return status;
    return port;
  }

  // Leaving links is the client's business, but for those it never came to. If it has died, this finds out.
  static void LookAfter(const std::shared_ptr<Link>& link) {
    if (link == nullptr || !link->unused()) return;
    if (!link->met()) return link->Close();
    link->StillConnected();
  }

  const std::shared_ptr<Fabrics> fabrics_;
  const StreamOptions options_;
  progress::Waiter* const waiter_;
  const ProcessIdentity process_;
  absl::Mutex mu_;
  uint64_t links_made_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<ClientKey, Client> clients_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

Listener::Result Decline(Fallback why) {
  Listener::Result result;
  result.answer = wire::EncodeAnswer(why);
  result.outcome.why = std::move(why);
  result.outcome.both_know = true;
  return result;
}

std::unique_ptr<Listener> CreateListener(std::shared_ptr<Fabrics> fabrics, const StreamOptions& options,
                                         progress::Waiter* waiter) {
  return std::make_unique<LinkListener>(std::move(fabrics), options, waiter);
}

}  // namespace skein::stream
