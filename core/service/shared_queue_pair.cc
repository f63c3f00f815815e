#include "core/service/shared_queue_pair.h"

#include <cstddef>
#include <utility>

namespace skein::service {
namespace {

constexpr size_t kLandingBytes = 64;

}  // namespace

absl::StatusOr<SharedQueuePair> SharedQueuePair::Create(fabric::Device& device, absl::string_view offer) {
  SharedQueuePair made;
  absl::StatusOr<std::shared_ptr<fabric::Device>> domain = device.ForPeer();
  if (!domain.ok()) return domain.status();
  made.domain = *std::move(domain);
  fabric::Device& in = made.domain == nullptr ? device : *made.domain;
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> completions = in.CreateCompletionQueue(kSends + kReceives);
  if (!completions.ok()) return completions.status();
  made.completions = *std::move(completions);
  fabric::QueuePairOptions options;
  options.send_queue = made.completions.get();
  options.receive_queue = made.completions.get();
  options.max_send_requests = kSends;
  options.max_receive_requests = kReceives;
  options.peer_always_receives = true;  // the other skeind does nothing else
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> queue_pair = in.CreateQueuePair(options);
  if (!queue_pair.ok()) return queue_pair.status();
  made.queue_pair = *std::move(queue_pair);
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> landing =
      in.Allocate(kLandingBytes, fabric::kRemoteWrite | fabric::kRemoteRead);
  if (!landing.ok()) return landing.status();
  made.landing = *std::move(landing);
  absl::StatusOr<std::string> says = offer.empty() ? made.queue_pair->Offer() : made.queue_pair->Accept(offer);
  if (!says.ok()) return says.status();
  made.says = *std::move(says);
  return made;
}

}  // namespace skein::service
