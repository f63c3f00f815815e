#include "core/link/link_statistics.h"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/link/link.h"

namespace skein::link {
namespace {

// "rdma:mlx5_0" is of RDMA.
trace::Path PathOf(absl::string_view device) {
  const absl::string_view kind = device.substr(0, device.find(':'));
  for (size_t path = 0; path < trace::kPaths; ++path) {
    if (kind == trace::PathName(static_cast<trace::Path>(path))) return static_cast<trace::Path>(path);
  }
  return trace::Path::kSim;
}

size_t IndexOf(const Link& link) { return static_cast<size_t>(PathOf(link.transport().name())); }

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  messages_sent += other.messages_sent;
  messages_received += other.messages_received;
  bytes_sent += other.bytes_sent;
  bytes_received += other.bytes_received;
  coalesced += other.coalesced;
  return *this;
}

LinkStatistics& LinkStatistics::Get() {
  static auto* const statistics = [] {
    trace::AddCounterSource([](trace::CounterSnapshot& counters) { Get().AddTo(counters); });
    return new LinkStatistics;
  }();
  return *statistics;
}

void LinkStatistics::Add(const Link* link) {
  MutexLock lock(&mu_);
  links_.insert(link);
}

void LinkStatistics::Remove(const Link* link) {
  MutexLock lock(&mu_);
  if (links_.erase(link) > 0) ended_[IndexOf(*link)] += link->traffic();
}

void LinkStatistics::AddTo(trace::CounterSnapshot& counters) {
  using trace::Counter;
  std::array<Traffic, trace::kPaths> all;
  uint64_t queue_pairs = 0;
  const auto add_link = [&](const Link& link) {
    all[IndexOf(link)] += link.traffic();
    if (!link.finished() && link.device() != nullptr) ++queue_pairs;
  };
  std::vector<std::shared_ptr<const Link>> links;
  {
    MutexLock lock(&mu_);
    all = ended_;
    for (const Link* link : links_) {
      std::shared_ptr<const Link> held = link->weak_from_this().lock();
      if (held == nullptr) {
        add_link(*link);  // its destructor waits for this lock, and nobody sends there any more
      } else {
        links.push_back(std::move(held));
      }
    }
  }
  // Without the lock: a visitor of the sender's place may have to send what others have left, and to drop the link's
  // last user.
  for (const std::shared_ptr<const Link>& link : links) add_link(*link);
  const auto add = [&](Counter counter, size_t label, uint64_t value) {
    counters.values[trace::SlotOf(counter) + label] += value;
  };
  for (size_t path = 0; path < all.size(); ++path) {
    add(Counter::kMessagesSent, path, all[path].messages_sent);
    add(Counter::kMessagesReceived, path, all[path].messages_received);
    add(Counter::kBytesSent, path, all[path].bytes_sent);
    add(Counter::kBytesReceived, path, all[path].bytes_received);
    add(Counter::kCoalescedMessages, 0, all[path].coalesced);
  }
  add(Counter::kQueuePairsActive, 0, queue_pairs);
}

}  // namespace skein::link
