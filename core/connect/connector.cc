// The asking end of a negotiation.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/connect/link_pool.h"
#include "core/connect/negotiation.h"
#include "core/connect/own_process.h"
#include "core/link/link.h"
#include "core/wire/bytes.h"
#include "core/wire/negotiation.h"

namespace skein::connect {
namespace {

using link::Link;

Placement No(const absl::Status& status) {
  Placement none;
  none.why = FallbackOf(status);
  return none;
}

// What is offered of one fabric.
struct Way {
  std::string kind;  // of the fabric
  std::shared_ptr<Link> link;
  Fallback worse_than;  // why no better fabric was offered
};

class LinkAttempt final : public Connector::Attempt {
 public:
  LinkAttempt(std::shared_ptr<LinkPool> pool, std::shared_ptr<Fabrics> fabrics, std::shared_ptr<Service> service,
              wait::Watcher* waiter, const Route& route, std::vector<Way> ways, const wire::Offer& offer)
      : pool_(std::move(pool)),
        fabrics_(std::move(fabrics)),
        service_(std::move(service)),
        waiter_(waiter),
        route_(route),
        ways_(std::move(ways)),
        asks_for_new_(offer.new_link_only),
        features_(offer.features),
        offer_(wire::EncodeOffer(offer)) {}
  ~LinkAttempt() override { pool_->AttemptEnds(); }

  absl::string_view offer() const override { return offer_; }

  Placement Complete(absl::string_view bytes) override {
    const absl::StatusOr<wire::Answer> answer = wire::DecodeAnswer(bytes);
    if (!answer.ok()) return No(answer.status());
    if (const auto* no = std::get_if<Fallback>(&*answer)) return Declined(*no);
    const auto& yes = std::get<wire::Yes>(*answer);
    if (yes.fabric >= ways_.size()) return No(FallbackError(FallbackCode::kProtocol, "a fabric that was not offered"));
    if ((yes.features & ~features_) != 0) {
      return No(FallbackError(FallbackCode::kProtocol, "a feature that was not offered"));
    }
    const Way& way = ways_[yes.fabric];
    const std::shared_ptr<Link> link = yes.is_new ? way.link : pool_->Find(yes, route_);
    if (link == nullptr || (!yes.is_new && !link->TakesStreams())) {
      pool_->NamedInVain(route_);
      return No(FallbackError(FallbackCode::kResources, "the link to the peer was lost meanwhile"));
    }
    if (const absl::Status status = yes.is_new ? Attach(way, yes) : absl::OkStatus(); !status.ok()) return No(status);
    std::shared_ptr<link::Port> port =
        service_->MakePort({link, yes.stream, yes.window, [pool = pool_] { pool->PortEnded(); }});
    if (absl::Status status = link->ports().Add(port); !status.ok()) return No(status);
    std::string window;
    wire::Put(window, service_->window());
    link->SendControl(port, wire::ItemKind::kOpen, std::move(window));
    if (yes.is_new) waiter_->Watch(link);
    Placement placement;
    placement.port = std::move(port);
    placement.why = Join({way.worse_than, yes.passed_over});
    placement.both_know = true;
    placement.features = yes.features;
    placement.reached = !yes.is_new || link->transport().traits().meets_on_connect;
    return placement;
  }

 private:
  Placement Declined(const Fallback& why) const {
    Placement none;
    none.why = Join({ways_[0].worse_than, why});
    none.both_know = true;
    return none;
  }

  absl::Status Attach(const Way& way, const wire::Yes& yes) {
    const std::string& queue_pair = yes.new_link.queue_pair;
    absl::Status status = fabrics_->CheckPeer(route_, way.kind, queue_pair);
    if (status.ok()) status = way.link->Complete({queue_pair, yes.new_link.ring});
    if (!status.ok()) return status;
    way.link->flushing().set_on_flushed([pool = pool_] { pool->PortEnded(); });
    return pool_->Add(yes, route_, asks_for_new_, way.link);
  }

  const std::shared_ptr<LinkPool> pool_;
  const std::shared_ptr<Fabrics> fabrics_;
  const std::shared_ptr<Service> service_;
  wait::Watcher* const waiter_;
  const Route route_;
  const std::vector<Way> ways_;  // as offered
  const bool asks_for_new_;
  const uint8_t features_;
  const std::string offer_;
};

class PoolingConnector final : public Connector {
 public:
  PoolingConnector(std::shared_ptr<Fabrics> fabrics, const Options& options, wait::Watcher* waiter,
                   std::shared_ptr<Service> service)
      : fabrics_(std::move(fabrics)), options_(options), waiter_(waiter), service_(std::move(service)) {}

  absl::StatusOr<std::unique_ptr<Attempt>> Begin(const Route& route, uint8_t features) override {
    if (absl::Status status = process_.CheckNotForked(); !status.ok()) return status;
    wire::Offer offer;
    offer.service = service_->name();
    offer.from = EndOf(route.local);
    offer.features = features;
    if (features != 0) offer.highest_version = wire::kVersionWithFeatures;
    std::vector<Way> ways;
    std::vector<Fallback> reasons;
    for (Candidate& candidate : fabrics_->For(route)) {
      if (candidate.transport == nullptr) {
        reasons.push_back(std::move(candidate.why_not));
        continue;
      }
      const absl::Status status = AddWay(candidate, Join(reasons), offer, ways);
      if (!status.ok()) reasons.push_back(FallbackOf(status));
    }
    if (ways.empty()) return FallbackError(Join(reasons));
    const LinkPool::Introduction introduction = pool_->AttemptBegins(route);
    offer.process = introduction.process;
    offer.new_link_only = introduction.new_link_only;
    return std::make_unique<LinkAttempt>(pool_, fabrics_, service_, waiter_, route, std::move(ways), offer);
  }

 private:
  absl::Status AddWay(const Candidate& candidate, Fallback worse_than, wire::Offer& offer, std::vector<Way>& ways) {
    absl::StatusOr<std::shared_ptr<Link>> link =
        Link::Create(candidate.transport, {.ring_bytes = options_.ring_bytes,
                                           .max_staging_bytes = options_.max_staging_bytes,
                                           .takes_blocks = service_->takes_blocks(),
                                           .combines = options_.combines});
    if (!link.ok()) return link.status();
    absl::StatusOr<std::string> queue_pair = (*link)->Offer();
    if (!queue_pair.ok()) return queue_pair.status();
    offer.fabrics.push_back({candidate.kind, *std::move(queue_pair)});
    if (wire::EncodeOffer(offer).size() > kMaxOfferBytes) {
      offer.fabrics.pop_back();
      return absl::InternalError("an offer that is too long");
    }
    ways.push_back({candidate.kind, *std::move(link), std::move(worse_than)});
    return absl::OkStatus();
  }

  const std::shared_ptr<Fabrics> fabrics_;
  const Options options_;
  wait::Watcher* const waiter_;
  const std::shared_ptr<Service> service_;
  const OwnProcess process_;
  const std::shared_ptr<LinkPool> pool_ = std::make_shared<LinkPool>();
};

}  // namespace

std::unique_ptr<Connector> CreateConnector(std::shared_ptr<Fabrics> fabrics, const Options& options,
                                           wait::Watcher* waiter, std::shared_ptr<Service> service) {
  return std::make_unique<PoolingConnector>(std::move(fabrics), options, waiter, std::move(service));
}

}  // namespace skein::connect
