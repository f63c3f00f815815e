#include "bench/sim/replicate/replicate_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "core/fabric/sim/event_queue.h"
#include "core/fabric/sim/nic.h"
#include "core/replicate/frame.h"
#include "core/replicate/progress.h"

namespace skein::bench {
namespace {

using replicate::Begin;
using replicate::Progress;
using replicate::Schedule;
using replicate::Transfer;

struct Member {
  Member(const fabric::SimConfig& nic_of, const Schedule& schedule, replicate::Shape shape, uint32_t number)
      : nic(nic_of), progress(schedule, shape, number) {}

  fabric::sim::Nic nic;
  Progress progress;
  uint32_t sending = 0;                           // blocks under way from here
  absl::Time thread_free = absl::InfinitePast();  // the one that moves the group
};

class Model {
 public:
  Model(const ReplicateRun& run, const Costs& costs)
      : run_(run), costs_(costs), begin_{1, run.bytes, run.block_bytes}, slow_nic_(costs.nic) {
    slow_nic_.bytes_per_second /= 2;
    const Schedule& schedule = *replicate::FindSchedule(run.schedule);
    const replicate::Shape shape{run.receivers + 1, begin_.blocks()};
    for (uint32_t number = 0; number < shape.members; ++number) {
      const fabric::SimConfig& nic = number > 0 && number == run.slow ? slow_nic_ : costs_.nic;
      members_.push_back(std::make_unique<Member>(nic, schedule, shape, number));
    }
    outcome_.steps = schedule.Steps(shape);
  }

  ReplicateOutcome Run() {
    StartSends(0);
    while (events_.size() > 0) events_.PopNext().action();
    return outcome_;
  }

 private:
  absl::Time now() const { return events_.now(); }

  // When the member's thread has done `work`, which it can begin now.
  absl::Time Works(Member& member, absl::Duration work) {
    if (run_.sleeps && member.thread_free < now()) work += costs_.service.wake_up;
    member.thread_free = std::max(member.thread_free, now()) + work;
    return member.thread_free;
  }
  absl::Duration Copy(uint32_t block) const {
    if (!run_.copies) return absl::ZeroDuration();
    return absl::Nanoseconds(static_cast<double>(begin_.SizeOf(block)) / costs_.cpu.bytes_per_nanosecond);
  }

  void StartSends(uint32_t number) {
    Member& member = *members_[number];
    while (member.sending < run_.max_sends) {
      const std::optional<Transfer> send = member.progress.NextSend();
      if (!send.has_value()) return;
      member.progress.BeginSend();
      ++member.sending;
      const absl::Duration work = costs_.cpu.header + costs_.cpu.item + Copy(send->block) + costs_.cpu.doorbell;
      events_.At(Works(member, work), [this, number, send = *send] { Post(number, send.peer, send.block); });
    }
  }

  // A NIC knows its queue pairs by the number of the peer.
  void Post(uint32_t from, uint32_t to, uint32_t block) {
    Member& sender = *members_[from];
    const uint64_t bytes = begin_.SizeOf(block) + replicate::kFrameBytes;
    sender.nic.Doorbell(now());
    const absl::Time arrival = sender.nic.Send(now(), to, bytes).end + costs_.nic.latency;
    events_.At(arrival, [this, from, to, block, bytes] {
      const absl::Time received = members_[to]->nic.Receive(now(), from, bytes);
      events_.At(received, [this, from, to, block] {
        Acknowledge(from, to);
        const absl::Duration work = costs_.cpu.dma_line + costs_.cpu.header + costs_.cpu.item + Copy(block);
        events_.At(Works(*members_[to], work), [this, from, to] { Arrived(from, to); });
      });
    });
  }

  // By the NIC: the send is over.
  void Acknowledge(uint32_t from, uint32_t to) {
    const absl::Time arrival = members_[to]->nic.Send(now(), from, 0).end + costs_.nic.latency;
    events_.At(arrival, [this, from, to] {
      events_.At(members_[from]->nic.Receive(now(), to, 0), [this, from] {
        --members_[from]->sending;
        StartSends(from);
      });
    });
  }

  void Arrived(uint32_t from, uint32_t to) {
    Progress& progress = members_[to]->progress;
    progress.Arrived(from);
    ++outcome_.blocks_received;
    if (progress.complete()) {
      outcome_.all = now() - absl::UnixEpoch();
      if (outcome_.first == absl::ZeroDuration()) outcome_.first = outcome_.all;
    }
    StartSends(to);
  }

  const ReplicateRun run_;
  const Costs costs_;
  const Begin begin_;
  fabric::SimConfig slow_nic_;
  fabric::sim::EventQueue events_;
  std::vector<std::unique_ptr<Member>> members_;
  ReplicateOutcome outcome_;
};

}  // namespace

ReplicateOutcome RunWrite(const ReplicateRun& run, const Costs& costs) { return Model(run, costs).Run(); }

}  // namespace skein::bench
