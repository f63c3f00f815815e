#include "bench/sim/service/skeind.h"

#include <algorithm>
#include <utility>

namespace skein::bench {
namespace {

// core/service's.
constexpr size_t kRequestsATurn = 16;
constexpr uint64_t kBytesATurn = 256 << 10;
constexpr size_t kTurnsARound = 64;
constexpr uint64_t kRoundsBetweenSockets = 32;
constexpr size_t kSends = 512;
constexpr size_t kSignalEvery = 16;
constexpr size_t kReceivesAtOnce = 256;

}  // namespace

Skeind::Skeind(Cluster& cluster, HostNic& nic, size_t sessions, size_t trunks, const Threads& threads)
    : cluster_(cluster),
      costs_(cluster.costs.service),
      cpu_(cluster.costs.cpu),
      nic_(nic),
      sessions_(sessions),
      options_(threads),
      trunks_(trunks),
      threads_(threads.workers + (threads.poller ? 1 : 0) + (threads.refill ? 1 : 0)) {
  for (size_t i = 0; i < threads_.size(); ++i) {
    Thread& thread = threads_[i];
    thread.serves = i < threads.workers;
    thread.polls = threads.poller ? i == threads.workers : thread.serves;
    const bool refills = !thread.serves && !thread.polls;
    thread.trunks = thread.serves ? trunks / threads.workers + (i < trunks % threads.workers ? 1 : 0) : trunks;
    thread.thread = std::make_unique<PollThread>(
        cluster.events, cluster.random,
        PollThread::Habits{costs_.spin, costs_.wake_up, refills ? absl::ZeroDuration() : Look(thread)},
        [this, &thread, refills] { return refills ? Refill() : Round(thread); });
  }
}

// Sessions have one, trunks two. The workers share them out.
absl::Duration Skeind::LookAtSockets() const {
  const size_t looked_at = options_.epoll ? 0 : (sessions_ + 2 * trunks_.size()) / options_.workers;
  return costs_.sockets + costs_.socket * looked_at;
}

// At everything, once, without finding anything.
absl::Duration Skeind::Look(const Thread& of) const {
  absl::Duration cost;
  if (of.serves) cost += costs_.session * sessions_ + LookAtSockets();
  if (of.polls) cost += costs_.queue * (options_.one_queue ? 1 : of.trunks);
  return cost;
}

absl::Duration Skeind::Submit(uint64_t connection, Request request, absl::Duration after) {
  Thread& worker = WorkerOf(request.trunk);
  cluster_.events.After(after, [this, connection, &worker, request = std::move(request)]() mutable {
    Connection& on = connections_[connection];
    on.requests.push_back(std::move(request));
    if (!std::exchange(on.queued, true)) worker.turns.push_back(connection);
    worker.thread->Notice();
  });
  return worker.thread->blocked() ? costs_.wake : absl::ZeroDuration();
}

absl::Duration Skeind::Round(Thread& by) {
  if (by.turns.empty() && by.completions.empty()) return absl::ZeroDuration();
  absl::Duration cost = Look(by);
  // Not in every round.
  if (by.serves && by.rounds++ % kRoundsBetweenSockets != 0) cost -= LookAtSockets();
  cost += Serve(by, cost);
  cost += Poll(by, cost);
  return cost;
}

absl::Duration Skeind::Serve(Thread& by, absl::Duration begun) {
  absl::Duration cost;
  const size_t turns = std::min(by.turns.size(), kTurnsARound);
  for (size_t i = 0; i < turns; ++i) {
    const uint64_t connection = by.turns.front();
    by.turns.pop_front();
    cost += Turn(connection, by, begun + cost);
  }
  if (!options_.one_doorbell) return cost;
  for (size_t i = 0; i < trunks_.size(); ++i) cost += Flush(trunks_[i], i, begun + cost);
  return cost;
}

absl::Duration Skeind::Turn(uint64_t connection, Thread& by, absl::Duration begun) {
  Connection& served = connections_[connection];
  served.queued = false;
  const size_t number = served.requests.front().trunk;
  Trunk& trunk = trunks_[number];
  // The bit, and how many there are; a poller that is another thread has written what there is space for.
  absl::Duration cost = costs_.turn + cpu_.shared_line * (options_.poller ? 3 : 2);
  uint64_t bytes = 0;
  for (size_t i = 0; i < kRequestsATurn && bytes < kBytesATurn && !served.requests.empty(); ++i) {
    if (trunk.under_way == kSends) {
      trunk.waiting.push_back(connection);
      served.queued = true;
      break;
    }
    cost += costs_.request + cpu_.shared_line;
    bytes += served.requests.front().wire.bytes;
    Add(trunk, number, std::move(served.requests.front()));
    served.requests.pop_front();
  }
  if (served.requests.empty()) {
    connections_.erase(connection);  // there may be many
  } else if (!std::exchange(served.queued, true)) {
    by.turns.push_back(connection);
  }
  return options_.one_doorbell ? cost : cost + Flush(trunk, number, begun + cost);
}

void Skeind::Add(Trunk& trunk, size_t number, Request request) {
  ++trunk.under_way;
  ++trunk.unsignaled;
  if (request.completed.process != nullptr || trunk.unsignaled == kSignalEvery) {
    const size_t ended = std::exchange(trunk.unsignaled, 0);
    request.wire.completed = [this, number, ended, news = std::move(request.completed)]() mutable {
      Completed(number, ended, std::move(news));
    };
  }
  trunk.batch.push_back(std::move(request.wire));
}

absl::Duration Skeind::Flush(Trunk& trunk, size_t number, absl::Duration begun) {
  if (trunk.batch.empty()) return absl::ZeroDuration();
  const absl::Duration cost = costs_.work_request * trunk.batch.size() + cpu_.doorbell;
  cluster_.events.After(begun + cost, [this, number, batch = std::exchange(trunk.batch, {})]() mutable {
    for (HostNic::Request& request : batch) nic_.Post(number, std::move(request));
  });
  return cost;
}

void Skeind::Completed(size_t trunk, size_t ended, News news) {
  Thread& poller = PollerOf(trunk);
  poller.completions.push_back({trunk, ended, std::move(news)});
  poller.thread->Notice();  // the NIC wakes it
}

void Skeind::Arrived(size_t trunk, News news) { Completed(trunk, 0, std::move(news)); }

// All that is there, queue by queue. Of entries that lie one behind the other the first one's line is waited for.
absl::Duration Skeind::Poll(Thread& by, absl::Duration begun) {
  absl::Duration cost;
  std::vector<Completion> polled = std::exchange(by.completions, {});
  if (!options_.one_queue) {
    std::stable_sort(polled.begin(), polled.end(),
                     [](const Completion& a, const Completion& b) { return a.trunk < b.trunk; });
  }
  for (size_t i = 0; i < polled.size(); ++i) {
    Completion& next = polled[i];
    if (i == 0 || (!options_.one_queue && next.trunk != polled[i - 1].trunk)) cost += cpu_.dma_line;
    cost += cpu_.item;
    if (next.ended == 0) {
      ++receives_used_;
      cost += costs_.arrival + Tell(std::move(next.news), begun + cost);
      continue;
    }
    Trunk& trunk = trunks_[next.trunk];
    trunk.under_way -= next.ended;
    cost += costs_.completion * next.ended;
    if (options_.poller) cost += cpu_.shared_line * next.ended;  // of each, a line that the worker has written
    if (next.news.process != nullptr) cost += costs_.tell + Tell(std::move(next.news), begun + cost);
    cost += MayGoOn(trunk, next.trunk, by);
  }
  if (receives_used_ < kReceivesAtOnce) return cost;
  if (!options_.refill) return cost + Refill();
  return cost + (threads_.back().thread->Notice() ? costs_.wake : absl::ZeroDuration());
}

// The entry, and how many there are: lines that the process has looked at.
absl::Duration Skeind::Tell(News news, absl::Duration when) {
  absl::Duration cost = 2 * cpu_.shared_line;
  if (news.process->blocked()) cost += costs_.wake;
  cluster_.events.After(when + cost, [news = std::move(news)]() mutable {
    news.what();
    news.process->Notice();
  });
  return cost;
}

absl::Duration Skeind::MayGoOn(Trunk& trunk, size_t number, const Thread& says) {
  if (trunk.waiting.empty()) return absl::ZeroDuration();
  Thread& worker = WorkerOf(number);
  worker.turns.insert(worker.turns.end(), trunk.waiting.begin(), trunk.waiting.end());
  trunk.waiting.clear();
  return &worker != &says && worker.thread->Notice() ? costs_.wake : absl::ZeroDuration();
}

absl::Duration Skeind::Refill() {
  const size_t used = std::exchange(receives_used_, 0);
  return used == 0 ? absl::ZeroDuration() : costs_.receive * used + cpu_.doorbell;
}

void Skeind::StartMeasuring() {
  for (Thread& each : threads_) each.thread->StartMeasuring();
}

absl::Duration Skeind::on_processor() const {
  absl::Duration sum;
  for (const Thread& each : threads_) sum += each.thread->on_processor();
  return sum;
}

absl::Duration Skeind::busy() const {
  absl::Duration sum;
  for (const Thread& each : threads_) sum += each.thread->busy();
  return sum;
}

}  // namespace skein::bench
