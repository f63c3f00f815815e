#include "core/stream/connector.h"

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/link/link.h"
#include "core/stream/process_identity.h"
#include "core/stream/stream_port.h"
#include "core/wire/bytes.h"
#include "core/wire/negotiation.h"

namespace skein::stream {
namespace {

using link::Link;

// Links to server processes, by what those call them. A link is left when its last stream has ended, but not while a
// negotiation is under way, whose answer might put another stream on it.
class LinkPool : public std::enable_shared_from_this<LinkPool> {
 public:
  // Whether a peer might not know yet that this end is leaving the link that they share.
  bool AttemptBegins() {
    absl::MutexLock lock(&mu_);
    ++attempts_;
    return leaving_ > 0;
  }
  void AttemptEnds() {
    {
      absl::MutexLock lock(&mu_);
      --attempts_;
    }
    LeaveIdle();
  }
  // Also when the last words of a link have reached its peer.
  void StreamEnded() { LeaveIdle(); }
  void Add(const wire::Yes& yes, const std::shared_ptr<Link>& link) {
    absl::MutexLock lock(&mu_);
    links_[{yes.process, yes.link}] = link;
  }
  std::shared_ptr<Link> Find(const wire::Yes& yes) {
    absl::MutexLock lock(&mu_);
    const auto found = links_.find({yes.process, yes.link});
    return found == links_.end() ? nullptr : found->second.lock();
  }

 private:
  void LeaveIdle() {
    for (const std::shared_ptr<Link>& link : TakeIdle()) {
      link->Leave([pool = shared_from_this()] {
        absl::MutexLock lock(&pool->mu_);
        --pool->leaving_;
      });
    }
  }

  std::vector<std::shared_ptr<Link>> TakeIdle() {
    std::vector<std::shared_ptr<Link>> idle;
    absl::MutexLock lock(&mu_);
    if (attempts_ > 0) return idle;
    absl::erase_if(links_, [&idle](const auto& entry) {
      std::shared_ptr<Link> link = entry.second.lock();
      if (link == nullptr || link->finished()) return true;
      if (!link->idle()) return false;
      idle.push_back(std::move(link));
      return true;
    });
    leaving_ += static_cast<int>(idle.size());
    return idle;
  }

  absl::Mutex mu_;
  int attempts_ ABSL_GUARDED_BY(mu_) = 0;
  int leaving_ ABSL_GUARDED_BY(mu_) = 0;  // links whose peers have not been told yet
  // Owned by the waiter that watches them, and by their streams.
  absl::flat_hash_map<std::pair<wire::ProcessId, uint64_t>, std::weak_ptr<Link>> links_ ABSL_GUARDED_BY(mu_);
};

Outcome No(const absl::Status& status) {
  Outcome outcome;
  outcome.why = FallbackOf(status);
  return outcome;
}

// What is offered of one fabric.
struct Way {
  std::shared_ptr<fabric::Device> device;
  std::shared_ptr<Link> link;
  Fallback worse_than;  // why no better fabric was offered
};

class LinkAttempt final : public Connector::Attempt {
 public:
  LinkAttempt(std::shared_ptr<LinkPool> pool, const StreamOptions& options, progress::Waiter* waiter,
              std::vector<Way> ways, std::string offer)
      : pool_(std::move(pool)), options_(options), waiter_(waiter), ways_(std::move(ways)), offer_(std::move(offer)) {}
  ~LinkAttempt() override { pool_->AttemptEnds(); }

  absl::string_view offer() const override { return offer_; }

  Outcome Complete(absl::string_view bytes) override {
    const absl::StatusOr<wire::Answer> answer = wire::DecodeAnswer(bytes);
    if (!answer.ok()) return No(answer.status());
    if (const auto* no = std::get_if<Fallback>(&*answer)) return Declined(*no);
    const auto& yes = std::get<wire::Yes>(*answer);
    if (yes.fabric >= ways_.size()) return No(FallbackError(FallbackCode::kProtocol, "a fabric that was not offered"));
    const Way& way = ways_[yes.fabric];
    const std::shared_ptr<Link> link = yes.is_new ? way.link : pool_->Find(yes);
    if (link == nullptr || (!yes.is_new && !link->attached())) {
      return No(FallbackError(FallbackCode::kResources, "the link to the peer was lost meanwhile"));
    }
    if (const absl::Status status = yes.is_new ? Attach(link, yes) : absl::OkStatus(); !status.ok()) return No(status);
    auto port = std::make_shared<StreamPort>(yes.stream, link, options_.window_bytes, yes.window,
                                             [pool = pool_] { pool->StreamEnded(); });
    if (absl::Status status = link->AddPort(port); !status.ok()) return No(status);
    std::string window;
    wire::Put(window, uint64_t{options_.window_bytes});
    link->SendControl(port, wire::ItemKind::kOpen, std::move(window));
    if (yes.is_new) waiter_->Watch(link);
    Outcome outcome;
    outcome.stream = std::make_shared<LinkStream>(std::move(port));
    outcome.why = Join({way.worse_than, yes.passed_over});
    outcome.both_know = true;
    outcome.reached = !yes.is_new || way.device->capabilities().meets_on_connect;
    return outcome;
  }

 private:
  Outcome Declined(const Fallback& why) const {
    Outcome outcome;
    outcome.why = Join({ways_[0].worse_than, why});
    outcome.both_know = true;
    return outcome;
  }

  absl::Status Attach(const std::shared_ptr<Link>& link, const wire::Yes& yes) {
    if (absl::Status status = link->Complete(yes.new_link.queue_pair, yes.new_link.ring); !status.ok()) return status;
    link->set_on_flushed([pool = pool_] { pool->StreamEnded(); });
    pool_->Add(yes, link);
    return absl::OkStatus();
  }

  const std::shared_ptr<LinkPool> pool_;
  const StreamOptions options_;
  progress::Waiter* const waiter_;
  const std::vector<Way> ways_;  // as offered
  const std::string offer_;
};

class LinkConnector final : public Connector {
 public:
  LinkConnector(std::shared_ptr<Fabrics> fabrics, const StreamOptions& options, progress::Waiter* waiter)
      : fabrics_(std::move(fabrics)), options_(options), waiter_(waiter) {}

  absl::StatusOr<std::unique_ptr<Attempt>> Begin(const Route& route) override {
    if (absl::Status status = process_.CheckNotForked(); !status.ok()) return status;
    wire::Offer offer;
    offer.process = process_.id();
    std::vector<Way> ways;
    std::vector<Fallback> reasons;
    for (Candidate& candidate : fabrics_->For(route)) {
      if (candidate.device == nullptr) {
        reasons.push_back(std::move(candidate.why_not));
        continue;
      }
      const absl::Status status = AddWay(candidate, Join(reasons), offer, ways);
      if (!status.ok()) reasons.push_back(FallbackOf(status));
    }
    if (ways.empty()) {
      const Fallback why = Join(reasons);
      return FallbackError(why.code, why.detail);
    }
    offer.new_link_only = pool_->AttemptBegins();
    return std::make_unique<LinkAttempt>(pool_, options_, waiter_, std::move(ways), wire::EncodeOffer(offer));
  }

 private:
  absl::Status AddWay(const Candidate& candidate, Fallback worse_than, wire::Offer& offer, std::vector<Way>& ways) {
    absl::StatusOr<std::shared_ptr<Link>> link =
        Link::Create(candidate.device, options_.ring_bytes, options_.max_mirror_bytes);
    if (!link.ok()) return link.status();
    absl::StatusOr<std::string> queue_pair = (*link)->Offer();
    if (!queue_pair.ok()) return queue_pair.status();
    offer.fabrics.push_back({candidate.kind, *std::move(queue_pair)});
    if (wire::EncodeOffer(offer).size() > kMaxOfferBytes) {
      offer.fabrics.pop_back();
      return absl::InternalError("an offer that is too long");
    }
    ways.push_back({candidate.device, *std::move(link), std::move(worse_than)});
    return absl::OkStatus();
  }

  const std::shared_ptr<Fabrics> fabrics_;
  const StreamOptions options_;
  progress::Waiter* const waiter_;
  const ProcessIdentity process_;
  const std::shared_ptr<LinkPool> pool_ = std::make_shared<LinkPool>();
};

}  // namespace

std::unique_ptr<Connector> CreateConnector(std::shared_ptr<Fabrics> fabrics, const StreamOptions& options,
                                           progress::Waiter* waiter) {
  return std::make_unique<LinkConnector>(std::move(fabrics), options, waiter);
}

}  // namespace skein::stream
