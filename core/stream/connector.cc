#include "core/stream/connector.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/link/link.h"
#include "core/stream/fabric_kind.h"
#include "core/stream/process_identity.h"
#include "core/stream/stream_port.h"
#include "core/wire/bytes.h"
#include "core/wire/negotiation.h"

namespace skein::stream {
namespace {

using link::Link;

// Links to server processes, by what those call them. A link is closed when its last stream has ended, but not while a
// negotiation is under way, whose answer might put another stream on it.
class LinkPool {
 public:
  void AttemptBegins() {
    absl::MutexLock lock(&mu_);
    ++attempts_;
  }
  void AttemptEnds() {
    absl::MutexLock lock(&mu_);
    --attempts_;
    CloseIdle();
  }
  // Also when the last words of a link have reached its peer.
  void StreamEnded() {
    absl::MutexLock lock(&mu_);
    CloseIdle();
  }
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
  void CloseIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (attempts_ > 0) return;
    absl::erase_if(links_, [](const auto& entry) {
      const std::shared_ptr<Link> link = entry.second.lock();
      if (link == nullptr || link->finished()) return true;
      if (!link->idle()) return false;
      link->Close();
      return true;
    });
  }

  absl::Mutex mu_;
  int attempts_ ABSL_GUARDED_BY(mu_) = 0;
  // Owned by the waiter that watches them, and by their streams.
  absl::flat_hash_map<std::pair<wire::ProcessId, uint64_t>, std::weak_ptr<Link>> links_ ABSL_GUARDED_BY(mu_);
};

Outcome No(const absl::Status& status) { return {nullptr, FallbackOf(status), /*both_know=*/false}; }

class LinkAttempt final : public Connector::Attempt {
 public:
  LinkAttempt(std::shared_ptr<LinkPool> pool, const StreamOptions& options, progress::Waiter* waiter,
              std::shared_ptr<Link> link, std::string offer)
      : pool_(std::move(pool)), options_(options), waiter_(waiter), link_(std::move(link)), offer_(std::move(offer)) {}
  ~LinkAttempt() override { pool_->AttemptEnds(); }

  absl::string_view offer() const override { return offer_; }

  Outcome Complete(absl::string_view bytes) override {
    const absl::StatusOr<wire::Answer> answer = wire::DecodeAnswer(bytes);
    if (!answer.ok()) return No(answer.status());
    if (const auto* no = std::get_if<Fallback>(&*answer)) return {nullptr, *no, /*both_know=*/true};
    const auto& yes = std::get<wire::Yes>(*answer);
    std::shared_ptr<Link> link = yes.is_new ? std::move(link_) : pool_->Find(yes);
    if (link == nullptr) return No(FallbackError(FallbackCode::kResources, "the link to the peer was lost meanwhile"));
    if (yes.is_new) {
      const absl::Status status = link->Complete(yes.new_link.queue_pair, yes.new_link.ring);
      if (!status.ok()) return No(status);
      link->set_on_flushed([pool = pool_] { pool->StreamEnded(); });
      pool_->Add(yes, link);
    }
    auto port = std::make_shared<StreamPort>(yes.stream, link, options_.window_bytes, yes.window,
                                             [pool = pool_] { pool->StreamEnded(); });
    if (absl::Status status = link->AddPort(port); !status.ok()) return No(status);
    std::string window;
    wire::Put(window, uint64_t{options_.window_bytes});
    link->SendControl(port, wire::ItemKind::kOpen, std::move(window));
    if (yes.is_new) waiter_->Watch(link);
    return {std::make_shared<LinkStream>(std::move(port)), {}, /*both_know=*/true};
  }

 private:
  const std::shared_ptr<LinkPool> pool_;
  const StreamOptions options_;
  progress::Waiter* const waiter_;
  std::shared_ptr<Link> link_;
  const std::string offer_;
};

class LinkConnector final : public Connector {
 public:
  LinkConnector(std::shared_ptr<fabric::Device> device, const StreamOptions& options, progress::Waiter* waiter)
      : device_(std::move(device)), options_(options), waiter_(waiter) {}

  absl::StatusOr<std::unique_ptr<Attempt>> Begin() override {
    if (absl::Status status = process_.CheckNotForked(); !status.ok()) return status;
    absl::StatusOr<std::shared_ptr<Link>> link = Link::Create(device_, options_.ring_bytes);
    if (!link.ok()) return link.status();
    absl::StatusOr<std::string> queue_pair_offer = (*link)->Offer();
    if (!queue_pair_offer.ok()) return queue_pair_offer.status();
    wire::Offer offer;
    offer.process = process_.id();
    offer.fabric = FabricKind(device_->name());
    offer.queue_pair = *std::move(queue_pair_offer);
    std::string bytes = wire::EncodeOffer(offer);
    if (bytes.size() > kMaxOfferBytes) return absl::InternalError("an offer that is too long");
    pool_->AttemptBegins();
    return std::make_unique<LinkAttempt>(pool_, options_, waiter_, *std::move(link), std::move(bytes));
  }

 private:
  const std::shared_ptr<fabric::Device> device_;
  const StreamOptions options_;
  progress::Waiter* const waiter_;
  const ProcessIdentity process_;
  const std::shared_ptr<LinkPool> pool_ = std::make_shared<LinkPool>();
};

}  // namespace

std::unique_ptr<Connector> CreateConnector(std::shared_ptr<fabric::Device> device, const StreamOptions& options,
                                           progress::Waiter* waiter) {
  return std::make_unique<LinkConnector>(std::move(device), options, waiter);
}

}  // namespace skein::stream
