// Making and ending a link.
#include "core/link/link.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/random/random.h"

namespace skein::link {
namespace {

// Messages a peer may have under way before this end looks at its queue; the ring holds more, and waits.
constexpr uint32_t kReceives = 256;
constexpr uint32_t kRepostAt = kReceives / 4;
constexpr uint32_t kSends = 128;

}  // namespace

Link::Link(std::shared_ptr<fabric::Device> device, size_t ring_bytes, uint64_t max_mirror_bytes)
    : device_(std::move(device)), ring_bytes_(ring_bytes), max_mirror_bytes_(max_mirror_bytes) {}

Link::~Link() {
  // Before its ring: nothing may arrive in memory that is gone.
  queue_pair_.reset();
}

absl::StatusOr<std::shared_ptr<Link>> Link::Create(std::shared_ptr<fabric::Device> device, size_t ring_bytes,
                                                   uint64_t max_mirror_bytes) {
  std::shared_ptr<Link> link(new Link(std::move(device), ring_bytes, max_mirror_bytes));
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> queue =
      link->device_->CreateCompletionQueue(kSends + kReceives);
  if (!queue.ok()) return queue.status();
  link->queue_ = *std::move(queue);
  fabric::QueuePairOptions options;
  options.send_queue = link->queue_.get();
  options.receive_queue = link->queue_.get();
  options.max_send_requests = kSends;
  options.max_receive_requests = kReceives;
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> queue_pair = link->device_->CreateQueuePair(options);
  if (!queue_pair.ok()) return queue_pair.status();
  link->queue_pair_ = *std::move(queue_pair);
  return link;
}

absl::Status Link::AllocateRing() {
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> ring = device_->Allocate(ring_bytes_, fabric::kRemoteWrite);
  if (!ring.ok()) return ring.status();
  ring_ = *std::move(ring);
  absl::BitGen random;
  const auto secret = absl::Uniform<uint64_t>(random);
  reader_ = std::make_unique<ring::RingReader>(ring_->bytes(), secret);
  ring_secret_ = secret;
  return absl::OkStatus();
}

wire::RingDescriptor Link::OwnRing() const {
  return {ring_->remote().address, ring_->bytes().size(), ring_secret_, ring_->remote().rkey};
}

absl::Status Link::Complete(absl::string_view queue_pair_answer, const wire::RingDescriptor& peer_ring) {
  if (absl::Status status = queue_pair_->Complete(queue_pair_answer); !status.ok()) return status;
  if (absl::Status status = AllocateRing(); !status.ok()) return status;
  if (absl::Status status = PostReceives(kReceives); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<ring::RingWriter>> writer =
      ring::RingWriter::Create(*device_, *queue_pair_, peer_ring, max_mirror_bytes_);
  if (!writer.ok()) return writer.status();
  absl::MutexLock lock(&tx_mu_);
  writer_ = *std::move(writer);
  control_.push_back({nullptr, 0, wire::ItemKind::kHello, wire::EncodeRingDescriptor(OwnRing())});
  return absl::OkStatus();
}

absl::StatusOr<Link::Accepted> Link::Accept(absl::string_view queue_pair_offer) {
  passive_ = true;
  absl::StatusOr<std::string> answer = queue_pair_->Accept(queue_pair_offer);
  if (!answer.ok()) return answer.status();
  // After the peer has been judged, and before it hears "yes": then everything is there.
  if (absl::Status status = AllocateRing(); !status.ok()) return status;
  if (absl::Status status = PostReceives(kReceives); !status.ok()) return status;
  return Accepted{*std::move(answer), OwnRing()};
}

absl::Status Link::PostReceives(size_t count) {
  const std::vector<fabric::ReceiveRequest> batch(count);
  return queue_pair_->PostReceive(batch);
}

bool Link::PollQueue() {
  absl::MutexLock lock(&queue_mu_);
  fabric::Completion completions[32];
  for (size_t count; (count = queue_->Poll(absl::MakeSpan(completions))) > 0;) {
    for (const fabric::Completion& completion : absl::MakeSpan(completions, count)) {
      if (completion.status != fabric::CompletionStatus::kSuccess) queue_pair_failed_ = true;
      if (completion.opcode == fabric::Opcode::kReceiveWithImmediate) ++receives_to_post_;
      if (completion.opcode == fabric::Opcode::kWriteWithImmediate) {
        if (completion.status == fabric::CompletionStatus::kSuccess) {
          reached_.store(completion.id, std::memory_order_relaxed);
        }
        sends_completed_ = true;
      }
      // Nothing here sends messages of this kind.
      if (completion.opcode == fabric::Opcode::kReceive) queue_pair_failed_ = true;
    }
  }
  if (receives_to_post_ >= kRepostAt && !queue_pair_failed_) {
    if (!PostReceives(std::exchange(receives_to_post_, 0)).ok()) queue_pair_failed_ = true;
  }
  return !queue_pair_failed_;
}

uint32_t Link::NewStreamNumber() {
  absl::MutexLock lock(&ports_mu_);
  if (finished() || highest_stream_ == UINT32_MAX) return 0;
  return ++highest_stream_;
}

absl::Status Link::AddPort(const std::shared_ptr<Port>& port) {
  absl::MutexLock lock(&ports_mu_);
  if (finished()) return absl::UnavailableError("the link to the peer is lost");
  const uint32_t stream = port->stream();
  if (!ports_.try_emplace(stream, port).second) return absl::DataLossError("the peer gave a stream twice");
  highest_stream_ = std::max(highest_stream_, stream);
  return absl::OkStatus();
}

bool Link::RemovePort(uint32_t stream) {
  absl::MutexLock lock(&ports_mu_);
  ports_.erase(stream);
  return ports_.empty();
}

bool Link::unused() const {
  absl::MutexLock lock(&ports_mu_);
  return absl::c_all_of(ports_, [](const auto& entry) { return entry.second->abandoned(); });
}

bool Link::idle() { return unused() && Flushed(); }

bool Link::Retire() {
  if (!finished() && idle()) {
    Leave([] {});
    while (Poll()) {  // until the ports have been told, and let go of this link
    }
  }
  return finished();
}

void Link::Leave(std::function<void()> left) {
  bool told = device_->capabilities().announces_close;
  {
    absl::MutexLock lock(&tx_mu_);
    told |= writer_ == nullptr;
    if (!told && !std::exchange(leaving_, true)) {
      control_.push_back({nullptr, 0, wire::ItemKind::kBye, {}});
      FlushControl();
    }
  }
  if (told) {
    Close();
    return left();
  }
  WhenFlushed([weak = weak_from_this(), left = std::move(left)](const absl::Status&) {
    if (const std::shared_ptr<Link> link = weak.lock()) link->Close();
    left();
  });
}

bool Link::met() const {
  absl::MutexLock lock(&tx_mu_);
  return writer_ != nullptr;
}

bool Link::attached() const {
  absl::MutexLock lock(&tx_mu_);
  return writer_ != nullptr && !leaving_;
}

bool Link::StillConnected() { return !finished() && queue_pair_->RefreshState() == fabric::QueuePairState::kReady; }

void Link::Close() { queue_pair_->Close(); }

}  // namespace skein::link
