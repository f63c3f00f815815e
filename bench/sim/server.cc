#include "bench/sim/server.h"

#include <algorithm>
#include <utility>

#include "bench/sim/client.h"
#include "core/wire/message.h"

namespace skein::bench {

size_t Server::Add(Host& host, size_t queue_pairs) {
  Peer& peer = peers_.emplace_back();
  peer.host = &host;
  peer.first_ring = rings_.size();
  for (size_t i = 0; i < queue_pairs; ++i) {
    Ring& ring = rings_.emplace_back();
    ring.client = peers_.size() - 1;
    ring.queue_pair = static_cast<uint16_t>(i);
  }
  if (!Scheduled()) return queue_pairs;
  size_t open = 1;
  if (InTurns()) {
    peer.sender = turns_.Add();
  } else {
    const QueuePairShares::Added added = shares_.Add(static_cast<uint16_t>(queue_pairs));
    peer.sender = added.sender;
    open = added.open;
  }
  peer_of_sender_[peer.sender] = peers_.size() - 1;
  return open;
}

void Server::Start(const std::vector<std::unique_ptr<Client>>& clients) {
  for (size_t i = 0; i < peers_.size(); ++i) peers_[i].client = clients[i].get();
  cores_.resize(cluster_.costs.server_cores);
  // By number within their clients: the first ones are those that are active, and each core is to have its part of
  // them.
  std::vector<Ring*> rings;
  for (Ring& ring : rings_) rings.push_back(&ring);
  std::stable_sort(rings.begin(), rings.end(),
                   [](const Ring* a, const Ring* b) { return a->queue_pair < b->queue_pair; });
  for (size_t i = 0; i < rings.size(); ++i) {
    rings[i]->core = (cluster_.scenario.one_poller ? rings[i]->client : i) % cores_.size();
    rings[i]->place = cores_[rings[i]->core].rings.size();
    cores_[rings[i]->core].rings.push_back(rings[i]);
  }
  for (Core& core : cores_) core.since = cluster_.now();
  if (Scheduled()) cluster_.events.After(cluster_.costs.scheduling_interval, [this] { EndInterval(); });
}

bool Server::Coalesces() const {
  return cluster_.scenario.sharing == Sharing::kCombining && cluster_.scenario.coalescing;
}

void Server::OnMessage(std::unique_ptr<Message> message) {
  cluster_.CountReceived(message->requests.size());
  Ring& ring = rings_[message->queue_pair];
  ring.messages.push_back(std::move(message));
  Core& core = cores_[ring.core];
  if (core.working) return;
  // By now it polls further on: at a ring that it reaches from here on.
  const absl::Duration poll = cluster_.costs.cpu.empty_poll;
  const int64_t polled = (cluster_.now() - core.since + poll - absl::Nanoseconds(1)) / poll;
  if (polled > 0 && core.ahead == SIZE_MAX) {
    core.at = (core.at + static_cast<uint64_t>(polled)) % core.rings.size();
    core.since += poll * polled;
  }
  const size_t ahead = (ring.place + core.rings.size() - core.at) % core.rings.size();
  if (core.ahead != SIZE_MAX && static_cast<int64_t>(ahead) < polled) return;  // it has passed; ahead is another
  if (ahead < core.ahead) Head(ring.core, ahead);
}

// The next ring the core finds something in is `ahead` of where it is.
void Server::Head(size_t core_number, size_t ahead) {
  Core& core = cores_[core_number];
  core.ahead = ahead;
  const absl::Time found = core.since + cluster_.costs.cpu.empty_poll * ahead;
  cluster_.events.At(found, [this, core_number, visit = ++core.visit] { Visit(core_number, visit); });
}

void Server::Walk(size_t core_number) {
  Core& core = cores_[core_number];
  core.working = false;
  core.since = cluster_.now();
  core.ahead = SIZE_MAX;
  for (size_t ahead = 0; ahead < core.rings.size(); ++ahead) {
    if (!core.rings[(core.at + ahead) % core.rings.size()]->messages.empty()) return Head(core_number, ahead);
  }
}

void Server::Visit(size_t core_number, uint64_t visit) {
  Core& core = cores_[core_number];
  if (visit != core.visit) return;
  core.working = true;
  const size_t place = (core.at + core.ahead) % core.rings.size();
  core.at = (place + 1) % core.rings.size();
  Ring& ring = *core.rings[place];
  const uint64_t before = ring.consumed;
  auto response = Consume(ring);
  const absl::Duration work = WorkOf(*response, ring.consumed - before);
  cluster_.CountWork(work);
  cluster_.events.After(work, [this, core_number, &ring, response = std::move(response)]() mutable {
    Respond(ring, std::move(response));
    Walk(core_number);
  });
}

// The first message, or all there are that fit in one response.
std::unique_ptr<Message> Server::Consume(Ring& ring) {
  std::unique_ptr<Message> response;
  while (!ring.messages.empty()) {
    Message& next = *ring.messages.front();
    if (response == nullptr) {
      response = std::move(ring.messages.front());
    } else {
      if (response->requests.size() + next.requests.size() > cluster_.costs.max_batch) break;
      response->requests.insert(response->requests.end(), next.requests.begin(), next.requests.end());
      if (next.renewal) response->renewal = true, response->degree = next.degree;  // only one is under way
    }
    ring.messages.pop_front();
    ++ring.consumed;
    if (!Coalesces()) break;
  }
  response->consumed = ring.consumed;
  return response;
}

absl::Duration Server::WorkOf(const Message& response, size_t messages) const {
  const CpuCosts& cpu = cluster_.costs.cpu;
  size_t bytes = 0;
  absl::Duration handlers;
  for (const Request& request : response.requests) {
    bytes += request.bytes;
    handlers += cluster_.Handler() + request.work;
  }
  // Each message is read, each request executed and answered; then the response's header and its doorbell.
  return (cpu.dma_line + cpu.header) * messages + cpu.item * 2 * response.requests.size() + handlers +
         cluster_.Copy(bytes) + cpu.header + cpu.doorbell;
}

void Server::Respond(Ring& ring, std::unique_ptr<Message> response) {
  const Peer& peer = peers_[ring.client];
  cluster_.CountSent(response->requests.size());
  // Decided when it is sent: an activation must not overtake it.
  if (response->renewal) response->granted = Grant(ring, response->degree);
  size_t items = 0;
  for (const Request& request : response->requests) items += wire::ItemBytes(request.answer_bytes);
  cluster_.Carry(host_, *peer.host, *peer.client, std::move(response), wire::MessageBytes(items),
                 /*acknowledged=*/true);
}

bool Server::Grant(const Ring& ring, uint16_t degree) {
  const uint64_t sender = peers_[ring.client].sender;
  if (!InTurns()) return shares_.OnRenewal(sender, ring.queue_pair, degree);
  const schedule::Turns::Answer answer = turns_.OnRenewal(sender);
  if (answer.next.has_value()) Activate(*answer.next, 0);
  return answer.granted;
}

void Server::Activate(uint64_t sender, uint16_t queue_pair) {
  const Peer& peer = peers_[peer_of_sender_[sender]];
  auto message = std::make_unique<Message>();
  message->queue_pair = peer.first_ring + queue_pair;
  message->activation = true;
  cluster_.Carry(host_, *peer.host, *peer.client, std::move(message), wire::MessageBytes(0), /*acknowledged=*/true);
}

void Server::EndInterval() {
  if (InTurns()) {
    for (const uint64_t sender : turns_.Redistribute()) Activate(sender, 0);
  } else {
    for (const auto& activation : shares_.Redistribute()) Activate(activation.sender, activation.queue_pair);
  }
  cluster_.events.After(cluster_.costs.scheduling_interval, [this] { EndInterval(); });
}

size_t Server::active_queue_pairs() const {
  if (!Scheduled()) return rings_.size();
  if (InTurns()) return turns_.Active().size();
  size_t sum = 0;
  for (const Peer& peer : peers_) sum += shares_.active(peer.sender);
  return sum;
}

}  // namespace skein::bench
