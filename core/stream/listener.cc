#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "core/link/link.h"
#include "core/stream/connector.h"
#include "core/stream/fabric_kind.h"
#include "core/stream/process_identity.h"
#include "core/stream/stream_port.h"
#include "core/wire/negotiation.h"

namespace skein::stream {
namespace {

using link::Link;

class LinkListener final : public Listener {
 public:
  LinkListener(std::shared_ptr<fabric::Device> device, const StreamOptions& options, progress::Waiter* waiter)
      : device_(std::move(device)), options_(options), waiter_(waiter) {}

  Result Accept(absl::string_view bytes) override {
    absl::StatusOr<Result> result = TryAccept(bytes);
    return result.ok() ? *std::move(result) : Decline(FallbackOf(result.status()));
  }

 private:
  struct Client {
    uint64_t number = 0;       // of the link
    std::weak_ptr<Link> link;  // owned by the waiter that watches it, and by its streams
  };

  absl::StatusOr<Result> TryAccept(absl::string_view bytes) {
    if (absl::Status status = process_.CheckNotForked(); !status.ok()) return status;
    const absl::StatusOr<wire::Offer> offer = wire::DecodeOffer(bytes);
    if (!offer.ok()) return offer.status();
    if (offer->fabric != FabricKind(device_->name())) {
      return FallbackError(FallbackCode::kVersion, absl::StrCat("no common fabric: the peer has ", offer->fabric));
    }
    wire::Yes yes;
    yes.process = process_.id();
    yes.window = options_.window_bytes;
    std::shared_ptr<Link> new_link;
    absl::StatusOr<std::shared_ptr<StreamPort>> port = OnExistingLink(*offer, yes);
    if (!port.ok()) port = OnNewLink(*offer, yes, new_link);
    if (!port.ok()) return port.status();
    Result result;
    result.answer = wire::EncodeAnswer(yes);
    if (result.answer.size() > kMaxAnswerBytes) return absl::InternalError("an answer that is too long");
    result.outcome.stream = std::make_shared<LinkStream>(*std::move(port));
    if (new_link != nullptr) waiter_->Watch(std::move(new_link));
    return result;
  }

  // The client's word on which process it is decides at most which of its own user's links it shares.
  absl::StatusOr<std::shared_ptr<StreamPort>> OnExistingLink(const wire::Offer& offer, wire::Yes& yes) {
    absl::MutexLock lock(&mu_);
    const auto found = clients_.find(offer.process);
    if (found == clients_.end()) return absl::NotFoundError("");
    const std::shared_ptr<Link> link = found->second.link.lock();
    // Attached: the client has heard of it, so that it can be told "that one".
    if (link == nullptr || !link->attached() || !link->StillConnected()) return absl::NotFoundError("");
    yes.link = found->second.number;
    return NewPort(link, yes);
  }

  absl::StatusOr<std::shared_ptr<StreamPort>> OnNewLink(const wire::Offer& offer, wire::Yes& yes,
                                                        std::shared_ptr<Link>& new_link) {
    absl::StatusOr<std::shared_ptr<Link>> link = Link::Create(device_, options_.ring_bytes);
    if (!link.ok()) return link.status();
    absl::StatusOr<Link::Accepted> accepted = (*link)->Accept(offer.queue_pair);
    if (!accepted.ok()) return accepted.status();
    absl::MutexLock lock(&mu_);
    absl::erase_if(clients_, [](const auto& entry) { return entry.second.link.expired(); });
    yes.link = ++links_made_;
    yes.is_new = true;
    yes.new_link = {accepted->ring, std::move(accepted->queue_pair_answer)};
    clients_[offer.process] = {yes.link, *link};
    new_link = *link;
    return NewPort(*link, yes);
  }

  absl::StatusOr<std::shared_ptr<StreamPort>> NewPort(const std::shared_ptr<Link>& link, wire::Yes& yes) {
    yes.stream = link->NewStreamNumber();
    if (yes.stream == 0) return absl::UnavailableError("the link is lost or has no more stream numbers");
    // Nothing may be sent before the peer has attached: its open item gives the window.
    auto port = std::make_shared<StreamPort>(yes.stream, link, options_.window_bytes, /*send_window=*/0,
                                             [link = std::weak_ptr<Link>(link)] { CloseIfUnused(link.lock()); });
    if (absl::Status status = link->AddPort(port); !status.ok()) return status;
    return port;
  }

  // Closing idle links is the client's business, but for those it never came to.
  static void CloseIfUnused(const std::shared_ptr<Link>& link) {
    if (link != nullptr && !link->attached() && link->idle()) link->Close();
  }

  const std::shared_ptr<fabric::Device> device_;
  const StreamOptions options_;
  progress::Waiter* const waiter_;
  const ProcessIdentity process_;
  absl::Mutex mu_;
  uint64_t links_made_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<wire::ProcessId, Client> clients_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

Listener::Result Decline(Fallback why) {
  Listener::Result result;
  result.answer = wire::EncodeAnswer(why);
  result.outcome = {nullptr, std::move(why), /*both_know=*/true};
  return result;
}

std::unique_ptr<Listener> CreateListener(std::shared_ptr<fabric::Device> device, const StreamOptions& options,
                                         progress::Waiter* waiter) {
  return std::make_unique<LinkListener>(std::move(device), options, waiter);
}

}  // namespace skein::stream
