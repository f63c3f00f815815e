// The exchanges of exchange.h over the fabric: slots of messages at both ends, used in turn.
#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "bench/durable/ends.h"
#include "bench/durable/exchange.h"

namespace skein::bench::durable {
namespace {

using fabric::Opcode;

// Behind a message's bytes: the last word is the last to land.
struct Trailer {
  uint64_t bytes = 0;
  uint64_t number = 0;
};
constexpr size_t Padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

// One side's memory, queue pair and slots.
class Side {
 public:
  Side(fabric::Device& device, const ConnectionOptions& options)
      : slots_(std::max<size_t>(2 * options.batch, 4)),
        slot_bytes_((Padded(options.object_bytes) + sizeof(Operation) + sizeof(Trailer) + 63) / 64 * 64),
        memory_(device.Allocate(2 * slots_ * slot_bytes_, fabric::kRemoteWrite | fabric::kRemoteRead).value()),
        queue_(device.CreateCompletionQueue(8192).value()),
        queue_pair_(device
                        .CreateQueuePair({.send_queue = queue_.get(),
                                          .receive_queue = queue_.get(),
                                          .max_send_requests = 4096,
                                          .max_receive_requests = static_cast<uint32_t>(slots_)})
                        .value()) {}

  fabric::QueuePair& queue_pair() { return *queue_pair_; }
  size_t slots() const { return slots_; }
  size_t slot_bytes() const { return slot_bytes_; }
  void SetPeer(fabric::RemoteAddress peer) { peer_ = peer; }
  fabric::RemoteAddress remote() const { return memory_->remote(); }
  uint32_t lkey() const { return memory_->lkey(); }

  std::byte* Inbox(uint64_t number) { return memory_->bytes().data() + number % slots_ * slot_bytes_; }
  std::byte* Outbox(uint64_t number) { return Inbox(number) + slots_ * slot_bytes_; }
  Trailer TrailerIn(const std::byte* slot) const {
    Trailer trailer;
    std::memcpy(&trailer, slot + slot_bytes_ - sizeof(trailer), sizeof(trailer));
    return trailer;
  }
  // Of a SEND, which lies at its receive's beginning.
  uint64_t NumberOf(const fabric::Completion& completion) {
    Trailer trailer;
    std::memcpy(&trailer, Inbox(completion.id) + completion.bytes - sizeof(trailer), sizeof(trailer));
    return trailer.number;
  }
  // The message ends where the slot does.
  std::byte* DataIn(std::byte* slot, size_t bytes) const {
    return slot + slot_bytes_ - sizeof(Trailer) - Padded(bytes);
  }

  fabric::Segment Put(uint64_t number, absl::string_view bytes) {
    std::byte* const slot = Outbox(number);
    std::byte* const data = DataIn(slot, bytes.size());
    if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
    const Trailer trailer{.bytes = bytes.size(), .number = number};
    std::memcpy(slot + slot_bytes_ - sizeof(trailer), &trailer, sizeof(trailer));
    return {data, Padded(bytes.size()) + sizeof(trailer), memory_->lkey()};
  }
  // Where in the peer's inbox (or outbox) the last `bytes` of that slot are.
  fabric::RemoteAddress PeerEnd(uint64_t number, size_t bytes, bool outbox = false) const {
    fabric::RemoteAddress at = peer_;
    at.address += (number % slots_ + (outbox ? slots_ : 0) + 1) * slot_bytes_ - bytes;
    return at;
  }
  void Add(Opcode opcode, const fabric::Segment& local, fabric::RemoteAddress remote, uint64_t number) {
    segments_.push_back(local);
    fabric::SendRequest& request = batch_.emplace_back();
    request.id = number;
    request.opcode = opcode;
    request.remote = remote;
    request.immediate = static_cast<uint32_t>(number);
  }
  void AddMessage(Way way, uint64_t number, absl::string_view bytes) {
    const fabric::Segment local = Put(number, bytes);
    constexpr size_t kWord = sizeof(uint64_t);
    switch (way) {
      case Way::kSend:
        return Add(Opcode::kSend, local, {}, number);
      case Way::kWrite:
        return Add(Opcode::kWrite, local, PeerEnd(number, local.size), number);
      case Way::kWriteTwice:
        Add(Opcode::kWrite, {local.data, local.size - kWord, local.lkey}, PeerEnd(number, local.size), number);
        return Add(Opcode::kWrite, {local.data + local.size - kWord, kWord, local.lkey}, PeerEnd(number, kWord),
                   number);
      case Way::kWriteNotify:
        return Add(Opcode::kWriteWithImmediate, local, PeerEnd(number, local.size), number);
      case Way::kReadByPeer:
        return;
    }
  }
  // With one doorbell.
  absl::Status Post() {
    for (size_t i = 0; i < batch_.size(); ++i) batch_[i].local = {&segments_[i], 1};
    const absl::Status posted = batch_.empty() ? absl::OkStatus() : queue_pair_->PostSend(batch_);
    batch_.clear();
    segments_.clear();
    return posted;
  }
  absl::Status PostReceive(uint64_t number) {
    const fabric::ReceiveRequest receive{.id = number, .buffer = {Inbox(number), slot_bytes_, memory_->lkey()}};
    return queue_pair_->PostReceive({&receive, 1});
  }
  template <typename Visit>
  absl::Status PollQueue(Visit visit) {
    fabric::Completion completion;
    while (queue_->Poll({&completion, 1}) == 1) {
      if (completion.status != fabric::CompletionStatus::kSuccess) {
        return absl::UnavailableError(fabric::CompletionStatusName(completion.status));
      }
      visit(completion);
    }
    return absl::OkStatus();
  }

 private:
  const size_t slots_;
  const size_t slot_bytes_;
  const std::unique_ptr<fabric::MemoryRegion> memory_;
  const std::unique_ptr<fabric::CompletionQueue> queue_;
  const std::unique_ptr<fabric::QueuePair> queue_pair_;
  fabric::RemoteAddress peer_;
  std::vector<fabric::SendRequest> batch_;
  std::vector<fabric::Segment> segments_;
};

bool TakesReceives(Way way) { return way == Way::kSend || way == Way::kWriteNotify; }
// To see a message and to have its first line: from memory; or from the queue and from memory, and then a receive is
// posted again, whose doorbell is for many.
absl::Duration ArrivalCost(const Costs& costs, Way way) {
  const int both = TakesReceives(way) ? 2 : 1;
  return both * (costs.cpu.dma_line + costs.cpu.item) + costs.cpu.header;
}

class ExchangeSender final : public SenderEnd {
 public:
  ExchangeSender(const Exchange& exchange, fabric::Device& device, const ConnectionOptions& options, const Costs& costs)
      : exchange_(exchange), costs_(costs), side_(device, options) {}
  Side& side() { return side_; }

  bool early() const override { return false; }
  bool HasRoom(size_t operations) const override { return waiting_.size() + operations <= side_.slots(); }
  absl::Duration SendCost(absl::Span<const Operation> batch) const override {
    absl::Duration cost = costs_.cpu.doorbell;
    for (const Operation& operation : batch) {
      cost += costs_.cpu.header + costs_.cpu.item + costs_.Copy(RequestBytes(operation));
    }
    return cost;
  }
  absl::Status Send(absl::Span<const Operation> batch) override {
    for (const Operation& operation : batch) {
      const uint64_t number = ++sent_;
      waiting_.push_back({number, ReplyBytes(operation)});
      if (TakesReceives(exchange_.reply)) {
        if (absl::Status posted = side_.PostReceive(number); !posted.ok()) return posted;
      }
      const bool announce = exchange_.warm_up_every > 0 && number % exchange_.warm_up_every == 1;
      const fabric::Segment local = side_.Put(number, RequestOf(operation));
      if (announce) {
        // Only the trailer, which says how much there is to be fetched.
        side_.Add(Opcode::kWrite, {local.data + local.size - sizeof(Trailer), sizeof(Trailer), local.lkey},
                  side_.PeerEnd(number, sizeof(Trailer)), number);
      } else {
        side_.AddMessage(exchange_.request, number, RequestOf(operation));
      }
    }
    if (absl::Status posted = side_.Post(); !posted.ok()) return posted;
    return Fetch();
  }

  absl::StatusOr<News> Poll() override {
    News news;
    std::vector<uint64_t> arrived;
    const absl::Status polled = side_.PollQueue([&](const fabric::Completion& completion) {
      if (completion.opcode == Opcode::kReceive) arrived.push_back(side_.NumberOf(completion));
      if (completion.opcode == Opcode::kReceiveWithImmediate) arrived.push_back(completion.immediate);
      if (completion.opcode == Opcode::kRead) {
        fetching_ = false;
        // The completion; and the receiver's memory, which the fabric's times leave out.
        news.cost += 2 * costs_.cpu.dma_line;
      }
    });
    if (!polled.ok()) return polled;
    if (!TakesReceives(exchange_.reply)) {
      for (const Waiting& waiting : waiting_) {
        if (side_.TrailerIn(side_.Inbox(waiting.number)).number == waiting.number) arrived.push_back(waiting.number);
      }
    }
    for (const uint64_t number : arrived) {
      const auto waiting =
          std::find_if(waiting_.begin(), waiting_.end(), [number](const Waiting& one) { return one.number == number; });
      if (waiting == waiting_.end()) return absl::InternalError("a reply to nothing");
      news.cost += ArrivalCost(costs_, exchange_.reply) + costs_.Copy(waiting->reply_bytes);
      news.replies.push_back(number);
      waiting_.erase(waiting);
    }
    if (news.replies.empty() && exchange_.reply == Way::kReadByPeer && !fetching_ && !waiting_.empty()) {
      news.cost += costs_.cpu.doorbell;
      if (absl::Status fetched = Fetch(); !fetched.ok()) return fetched;
    }
    if (!news.replies.empty()) {
      if (absl::Status fetched = Fetch(); !fetched.ok()) return fetched;
    }
    return news;
  }

 private:
  struct Waiting {
    uint64_t number = 0;
    size_t reply_bytes = 0;
  };
  // RFP: READs of all replies that are waited for, one round after the other.
  absl::Status Fetch() {
    if (exchange_.reply != Way::kReadByPeer || fetching_ || waiting_.empty()) return absl::OkStatus();
    for (const Waiting& waiting : waiting_) {
      const size_t bytes = Padded(waiting.reply_bytes) + sizeof(Trailer);
      std::byte* const end = side_.Inbox(waiting.number) + side_.slot_bytes();
      side_.Add(Opcode::kRead, {end - bytes, bytes, side_.lkey()},
                side_.PeerEnd(waiting.number, bytes, /*outbox=*/true), waiting.number);
    }
    fetching_ = true;
    return side_.Post();
  }

  const Exchange& exchange_;
  const Costs& costs_;
  Side side_;
  uint64_t sent_ = 0;
  std::deque<Waiting> waiting_;
  bool fetching_ = false;
};

class ExchangeReceiver final : public ReceiverEnd {
 public:
  ExchangeReceiver(const Exchange& exchange, fabric::Device& device, const ConnectionOptions& options,
                   const Costs& costs)
      : exchange_(exchange), costs_(costs), side_(device, options) {}
  Side& side() { return side_; }
  absl::Status PostReceives() {
    for (; TakesReceives(exchange_.request) && receives_ < finished_ + side_.slots();) {
      if (absl::Status posted = side_.PostReceive(++receives_); !posted.ok()) return posted;
    }
    return absl::OkStatus();
  }

  absl::Duration TakeCost() override {
    Look();
    absl::Duration cost;
    if (fetching_ == next_ && fetched_ < next_) return cost;  // on its way
    for (uint64_t number = next_; number <= arrived_; ++number) cost += ArrivalCost(costs_, exchange_.request);
    return cost;
  }
  absl::Status Take(std::vector<Request>& requests) override {
    Look();
    if (!status_.ok()) return status_;
    for (; next_ <= arrived_; ++next_) {
      std::byte* const slot = side_.Inbox(next_);
      const bool announced = exchange_.warm_up_every > 0 && next_ % exchange_.warm_up_every == 1;
      if (announced && fetched_ < next_) {
        // READ what was announced out of the sender's memory; taken when it is here.
        if (fetching_ == next_) return absl::OkStatus();
        fetching_ = next_;
        const size_t bytes = Padded(side_.TrailerIn(slot).bytes);
        std::byte* const end = slot + side_.slot_bytes() - sizeof(Trailer);
        fabric::RemoteAddress from = side_.PeerEnd(next_, bytes + sizeof(Trailer), /*outbox=*/true);
        side_.Add(Opcode::kRead, {end - bytes, bytes, side_.lkey()}, from, next_);
        return side_.Post();
      }
      // A SEND lies at the slot's beginning.
      const std::byte* const data =
          exchange_.request == Way::kSend ? slot : side_.DataIn(slot, side_.TrailerIn(slot).bytes);
      Request& request = requests.emplace_back(Request{.number = next_});
      std::memcpy(&request.operation, data, sizeof(request.operation));
    }
    return absl::OkStatus();
  }
  absl::Duration ExecuteCost(const Operation& operation) const override {
    const size_t bytes = operation.object_bytes;
    if (operation.is_write == 0) return exchange_.persists ? costs_.ReadPm(bytes) : costs_.Copy(bytes);
    return exchange_.persists ? costs_.WritePm(bytes) : costs_.Copy(bytes);
  }
  absl::Duration FinishCost(absl::Span<const Request> requests) const override {
    absl::Duration cost = exchange_.reply == Way::kReadByPeer ? absl::ZeroDuration() : costs_.cpu.doorbell;
    for (const Request& request : requests) {
      cost += costs_.cpu.header + costs_.cpu.item + costs_.Copy(ReplyBytes(request.operation));
    }
    return cost;
  }
  absl::Status Finish(absl::Span<const Request> requests) override {
    for (const Request& request : requests) {
      reply_.assign(ReplyBytes(request.operation), 'r');
      if (exchange_.reply == Way::kReadByPeer) side_.Put(request.number, reply_);
      side_.AddMessage(exchange_.reply, request.number, reply_);
      ++finished_;
    }
    if (absl::Status posted = side_.Post(); !posted.ok()) return posted;
    return PostReceives();
  }

 private:
  void Look() {
    status_.Update(side_.PollQueue([&](const fabric::Completion& completion) {
      if (completion.opcode == Opcode::kReceive || completion.opcode == Opcode::kReceiveWithImmediate) ++arrived_;
      if (completion.opcode == Opcode::kRead) fetched_ = completion.id;
    }));
    if (TakesReceives(exchange_.request)) return;
    while (side_.TrailerIn(side_.Inbox(arrived_ + 1)).number == arrived_ + 1) ++arrived_;
  }

  const Exchange& exchange_;
  const Costs& costs_;
  Side side_;
  uint64_t next_ = 1;
  uint64_t arrived_ = 0;
  uint64_t receives_ = 0;
  uint64_t finished_ = 0;
  uint64_t fetching_ = 0;
  uint64_t fetched_ = 0;
  absl::Status status_;
  std::string reply_;
};

}  // namespace

std::vector<std::string> PlainExchanges() {
  std::vector<std::string> names;
  for (const Exchange& exchange : kExchanges) names.emplace_back(exchange.name);
  return names;
}

absl::StatusOr<Connection> ConnectExchange(absl::string_view name, fabric::Device& sending, fabric::Device& receiving,
                                           const ConnectionOptions& options, const Costs& costs) {
  const auto* const exchange = std::find_if(std::begin(kExchanges), std::end(kExchanges),
                                            [name](const Exchange& one) { return one.name == name; });
  if (exchange == std::end(kExchanges)) return absl::InvalidArgumentError("no such exchange");
  auto sender = std::make_unique<ExchangeSender>(*exchange, sending, options, costs);
  auto receiver = std::make_unique<ExchangeReceiver>(*exchange, receiving, options, costs);
  const absl::StatusOr<std::string> offer = sender->side().queue_pair().Offer();
  if (!offer.ok()) return offer.status();
  const absl::StatusOr<std::string> answer = receiver->side().queue_pair().Accept(*offer);
  if (!answer.ok()) return answer.status();
  if (absl::Status connected = sender->side().queue_pair().Complete(*answer); !connected.ok()) return connected;
  sender->side().SetPeer(receiver->side().remote());
  receiver->side().SetPeer(sender->side().remote());
  if (absl::Status posted = receiver->PostReceives(); !posted.ok()) return posted;
  return Connection{std::move(receiver), std::move(sender)};
}

}  // namespace skein::bench::durable
