// The parts of a run share this: simulated time, chance, the way of a message from NIC to NIC, counters.
#ifndef SKEIN_BENCH_SIM_CLUSTER_H_
#define SKEIN_BENCH_SIM_CLUSTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "bench/sim/scenario.h"
#include "core/fabric/sim/event_queue.h"
#include "core/fabric/sim/nic.h"
#include "core/fabric/sim/random.h"

namespace skein::bench {

class Port;

struct Host {
  explicit Host(const fabric::SimConfig& config) : nic(config) {}
  fabric::sim::Nic nic;
};

struct Request {
  size_t thread = 0;  // of its process
  size_t bytes = 0;
  absl::Time submitted = {};
  size_t answer_bytes = 0;
  absl::Duration work = {};  // of the server, beyond a handler's
  size_t coroutine = 0;      // of the thread, where threads have such
};

struct Message {
  uint64_t queue_pair = 0;                   // over all processes: the number of its rings, too
  absl::InlinedVector<Request, 4> requests;  // or the responses to them
  // With requests: more credits are asked for. With the responses to them: the answer is `granted`.
  bool renewal = false;
  uint16_t degree = 0;
  bool granted = false;
  bool activation = false;
  uint64_t consumed = 0;  // messages, by the server
  // Of a READ: its sender.
  Host* host = nullptr;
  Port* port = nullptr;
};

// Messages arrive at one.
class Port {
 public:
  virtual ~Port() = default;
  virtual void OnMessage(std::unique_ptr<Message> message) = 0;
};

class Cluster {
 public:
  Cluster(const Scenario& run, const Costs& all) : scenario(run), costs(all), random(run.seed) {}

  const Scenario scenario;
  const Costs costs;
  fabric::sim::EventQueue events;
  fabric::sim::Random random;

  absl::Time now() const { return events.now(); }

  // The NIC of `from` sends `bytes` now; `port` gets the message when the NIC of `to` has received it.
  // A WRITE is acknowledged, a READ is answered.
  void Carry(Host& from, Host& to, Port& port, std::unique_ptr<Message> message, size_t bytes, bool acknowledged) {
    from.nic.Doorbell(now());
    const absl::Time arrival = from.nic.Send(now(), message->queue_pair, bytes).end + costs.nic.latency;
    events.At(arrival, [this, &from, &to, &port, bytes, acknowledged, message = std::move(message)]() mutable {
      const absl::Time received = to.nic.Receive(now(), message->queue_pair, bytes);
      if (acknowledged) {
        events.At(received,
                  [this, &from, &to, queue_pair = message->queue_pair] { Acknowledge(to, from, queue_pair); });
      }
      events.At(received, [&port, message = std::move(message)]() mutable { port.OnMessage(std::move(message)); });
    });
  }
  absl::Duration Copy(size_t bytes) const {
    return absl::Nanoseconds(static_cast<double>(bytes) / costs.cpu.bytes_per_nanosecond);
  }
  // Of a client thread, between a response and the next request.
  absl::Duration Application() { return costs.cpu.application + random.Exponential(costs.cpu.noise); }
  // Of the server's, for one request.
  absl::Duration Handler() {
    const bool scans = scenario.scan_percent > 0 && random.Below(uint64_t{100}) < scenario.scan_percent;
    return costs.cpu.handler + (scans ? costs.index.scan : absl::ZeroDuration());
  }

  // Of what happens from now on.
  void StartMeasuring() { measuring_ = true; }
  void CountResponse(absl::Time submitted) {
    if (measuring_) latencies_us.push_back(absl::ToDoubleMicroseconds(now() - submitted));
  }
  void CountReceived(size_t requests) {
    if (measuring_) ++messages_received, requests_received += requests;
  }
  void CountSent(size_t responses) {
    if (measuring_) ++messages_sent, responses_sent += responses;
  }
  void CountWork(absl::Duration work) {
    if (measuring_) server_work += work;
  }

  // The run is worth nothing if it is not OK.
  void Check(const absl::Status& what) { status.Update(what); }

  absl::Status status;
  std::vector<double> latencies_us;
  uint64_t messages_received = 0;
  uint64_t requests_received = 0;
  uint64_t messages_sent = 0;
  uint64_t responses_sent = 0;
  absl::Duration server_work;

 private:
  void Acknowledge(Host& from, Host& to, uint64_t queue_pair) {
    const absl::Time arrival = from.nic.Send(now(), queue_pair, 0).end + costs.nic.latency;
    events.At(arrival, [this, &to, queue_pair] { to.nic.Receive(now(), queue_pair, 0); });
  }

  bool measuring_ = false;
};

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_CLUSTER_H_
