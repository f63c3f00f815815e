#include "bench/sim/client.h"

#include <algorithm>
#include <utility>

#include "bench/sim/server.h"
#include "core/wire/message.h"

namespace skein::bench {

Client::Client(Cluster& cluster, Source& source, Host& host, Server& server, uint64_t first_queue_pair,
               size_t queue_pairs, size_t active)
    : cluster_(cluster), source_(source), host_(host), server_(server) {
  const Scenario& scenario = cluster.scenario;
  for (size_t i = 0; i < queue_pairs; ++i) {
    SendQueue::Owner& owner = *this;
    queues_.push_back(std::make_unique<SendQueue>(cluster, owner, first_queue_pair + i, i < active));
  }
  for (size_t i = 0; i < scenario.threads; ++i) {
    const size_t group = scenario.threads_per_queue_pair;
    threads_.emplace_back(static_cast<uint16_t>(group == 0 ? i % std::max<size_t>(active, 1) : i / group));
  }
}

void Client::Start() {
  for (size_t i = 0; i < threads_.size(); ++i) Work(i);
  if (cluster_.scenario.threads_per_queue_pair == 0) {
    // Not all processes at the same time.
    const absl::Duration interval = cluster_.costs.scheduling_interval;
    cluster_.events.After(cluster_.random.Below(interval), [this] { EndInterval(); });
  }
}

void Client::Work(size_t number) {
  Thread& thread = threads_[number];
  if (thread.busy) return;
  if (thread.migration.queue_pair() != thread.target || thread.migration.draining()) {
    thread.migration.MoveTo(thread.target, queues_[thread.migration.queue_pair()]->consumed);
  }
  if (thread.migration.draining()) return;
  const std::optional<Request> request = source_.Next(number);
  if (!request.has_value()) return;
  thread.busy = true;
  cluster_.events.After(cluster_.Application(), [this, request = *request] { Submit(request); });
}

void Client::Submit(Request request) {
  Thread& thread = threads_[request.thread];
  thread.stats.Add(request.bytes);
  request.submitted = cluster_.now();
  queues_[thread.migration.queue_pair()]->Enter(request);
}

uint64_t Client::QueuePairOf(size_t thread) const {
  return queues_[threads_[thread].migration.queue_pair()]->queue_pair();
}

void Client::OnFree(size_t number) {
  threads_[number].busy = false;
  source_.OnFree(number);
  Work(number);
}

void Client::OnTaken(SendQueue& queue, const std::vector<Request>& batch) {
  for (const Request& request : batch) threads_[request.thread].migration.OnPosted(queue.posted());
}

void Client::OnPosted(SendQueue& queue, const std::vector<Request>& batch) {
  auto message = std::make_unique<Message>();
  message->queue_pair = queue.queue_pair();
  message->requests.assign(batch.begin(), batch.end());
  size_t items = 0;
  for (const Request& request : batch) items += wire::ItemBytes(request.bytes);
  if (cluster_.scenario.threads_per_queue_pair == 0) {
    schedule::Credits& credits = queue.credits();
    credits.OnSent();
    queue.degrees().Note(batch.size());
    message->renewal = credits.renewal_due();
    message->degree = message->renewal ? queue.degrees().TakeMedian() : 0;
    if (message->renewal) credits.OnAsked();
  }
  cluster_.Carry(host_, server_.host(), server_, std::move(message), wire::MessageBytes(items), /*acknowledged=*/true);
}

// FLOCK's threads hear from a dispatcher, one for the process; the others poll their rings themselves.
void Client::OnMessage(std::unique_ptr<Message> message) {
  const CpuCosts& cpu = cluster_.costs.cpu;
  if (cluster_.scenario.sharing != Sharing::kCombining) {
    const absl::Duration read = cpu.dma_line + cpu.header + cpu.item;
    cluster_.events.After(read, [this, message = std::move(message)] { Deliver(*message); });
    return;
  }
  dispatcher_free_ =
      std::max(dispatcher_free_, cluster_.now()) + cpu.dma_line + cpu.header + cpu.item * message->requests.size();
  cluster_.events.At(dispatcher_free_ + cpu.shared_line, [this, message = std::move(message)] { Deliver(*message); });
}

void Client::Deliver(const Message& message) {
  SendQueue& queue = QueueOf(message.queue_pair);
  queue.consumed = std::max(queue.consumed, message.consumed);
  if (message.renewal || message.activation) OnCredits(message);
  for (const Request& response : message.requests) {
    threads_[response.thread].migration.OnConsumed(queue.consumed);
    source_.OnResponse(response);
    Work(response.thread);
  }
}

void Client::OnCredits(const Message& message) {
  SendQueue& queue = QueueOf(message.queue_pair);
  const bool was_active = queue.credits().active();
  const absl::Status status =
      message.activation ? queue.credits().OnActivated() : queue.credits().OnAnswer(message.granted);
  cluster_.Check(status);
  queue.Resume();
  if (queue.credits().active() == was_active) return;
  changed_ = true;
  Reassign();
}

void Client::Reassign() {
  std::vector<uint16_t> active;
  for (size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i]->credits().active()) active.push_back(static_cast<uint16_t>(i));
  }
  if (active.empty()) return;
  if (!cluster_.scenario.thread_scheduling) return ReassignByTurn(active);
  std::vector<ThreadLoad> loads;
  for (const Thread& thread : threads_) {
    loads.push_back({thread.target, thread.stats.MedianBytes(), thread.stats.requests(), thread.stats.bytes()});
  }
  const std::vector<uint16_t> assigned = AssignThreads(loads, active);
  for (size_t i = 0; i < threads_.size(); ++i) {
    threads_[i].target = assigned[i];
    Work(i);
  }
}

void Client::ReassignByTurn(const std::vector<uint16_t>& active) {
  for (size_t i = 0; i < threads_.size(); ++i) {
    threads_[i].target = active[i % active.size()];
    Work(i);
  }
}

void Client::EndInterval() {
  if (changed_) Reassign();
  changed_ = false;
  for (Thread& thread : threads_) thread.stats = {};
  cluster_.events.After(cluster_.costs.scheduling_interval, [this] { EndInterval(); });
}

}  // namespace skein::bench
