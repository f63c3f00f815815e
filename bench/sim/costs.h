// The calibration of all experiments: the costs of FLOCK's machines (thesis, 4.1: EPYC 7452 with 32 cores, ConnectX-5,
// 100 Gb/s), of RaaS's NICs, of skeind and of UD. README.md says where FLOCK's and UD's numbers are from.
#ifndef SKEIN_BENCH_SIM_COSTS_H_
#define SKEIN_BENCH_SIM_COSTS_H_

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "core/fabric/sim/sim_config.h"

namespace skein::bench {

struct CpuCosts {
  absl::Duration shared_line = absl::Nanoseconds(80);   // a cache line that another core has written
  absl::Duration dma_line = absl::Nanoseconds(300);     // one that the NIC has written, from memory
  absl::Duration doorbell = absl::Nanoseconds(350);     // MMIO, until the write buffer is free again
  absl::Duration swap = absl::Nanoseconds(20);          // an atomic operation, uncontended
  absl::Duration header = absl::Nanoseconds(20);        // of a message: to write or to check
  absl::Duration item = absl::Nanoseconds(20);          // of a message: to write, or to read and hand over
  absl::Duration handler = absl::Nanoseconds(180);      // of one request
  absl::Duration empty_poll = absl::Nanoseconds(8);     // of a ring without anything new: its line is in the cache
  absl::Duration application = absl::Nanoseconds(150);  // a client thread's, between a response and the next request
  absl::Duration noise = absl::Nanoseconds(60);         // on top of it: exponentially distributed, with this mean
  double bytes_per_nanosecond = 10;                     // copied
};

// skeind's (core/service), and its processes'. Callgrind counted the instructions in a release build, without those of
// the simulated device. A nanosecond is taken for three: here, with all of them in the cache, a processor ran six.
// README.md says how. Lines of other cores, the NIC's and the NIC's price come on top, from above.
struct ServiceCosts {
  absl::Duration turn = absl::Nanoseconds(880);  // of a connection: 1,250 instructions queue it, 1,390 are its turn's
  absl::Duration request = absl::Nanoseconds(190);      // 560: checked, translated, laid into the batch
  absl::Duration work_request = absl::Nanoseconds(40);  // assumed: the driver writes it for the NIC; as header and item
  absl::Duration completion = absl::Nanoseconds(30);    // 94: one request of the shared queue pair has ended
  absl::Duration tell = absl::Nanoseconds(55);          // 160: an entry for the process that waits for it
  absl::Duration arrival = absl::Nanoseconds(75);       // 220: an immediate, with the entry for its process
  absl::Duration receive = absl::Nanoseconds(10);       // 16, and the driver's: another one is posted
  absl::Duration session = absl::Nanoseconds(3);        // assumed: a look at a page that has nothing, in the cache
  absl::Duration queue = absl::Nanoseconds(25);         // assumed: a look at a completion queue that has nothing
  absl::Duration sockets = absl::Nanoseconds(250);      // poll(2), measured here,
  absl::Duration socket = absl::Nanoseconds(50);        // and for each descriptor: 47 measured, 10 to 500 of them
  absl::Duration wake = absl::Nanoseconds(950);         // a message on a local socket, measured here
  absl::Duration wake_up = absl::Microseconds(5);       // assumed: until a blocked thread runs
  absl::Duration spin = absl::Microseconds(50);         // ServiceOptions::spin, and the processes'
};

// UD as eRPC uses it: its sizes (its source, 2024), and what they cost a core besides CpuCosts. README.md says more.
struct UdCosts {
  size_t slots = 8;             // requests of a session that are under way
  size_t credits = 32;          // datagrams of a session that are
  size_t poll_batch = 16;       // completions that a core takes before it answers
  size_t send_batch = 16;       // datagrams of a doorbell, at most
  size_t receive_batch = 32;    // receives that are posted together
  size_t receives = 4096;       // of a queue pair
  size_t header_bytes = 16;     // eRPC's, in each datagram
  size_t packet_overhead = 90;  // on the wire: RoCE v2's with UD's 8 bytes for RETH's 16

  absl::Duration retransmission = absl::Milliseconds(5);
  bool congestion_control = true;
  bool bypass = true;                                      // of it, by uncongested sessions
  absl::Duration sample = absl::Nanoseconds(18);           // of a round trip time, bypassing the rest
  absl::Duration update = absl::Nanoseconds(15);           // of the rate
  absl::Duration pace = absl::Nanoseconds(11);             // of a datagram: it goes through the timing wheel
  absl::Duration send_request = absl::Nanoseconds(40);     // assumed, as ServiceCosts::work_request
  absl::Duration receive_request = absl::Nanoseconds(20);  // assumed: half of that
  double lines = 2;  // that the NIC has written, for each datagram received: its completion and the datagram; swept
  double loss = 0;   // the part of datagrams that is lost on the way; swept
};

// An ordered index of 32 million keys: Abseil's B-tree, with keys asked for at random (bench/apps/index_costs.cc).
struct IndexCosts {
  absl::Duration get = absl::Nanoseconds(1290);
  absl::Duration scan = absl::Nanoseconds(210);  // of 64 keys, beyond a get
};

struct Costs {
  fabric::SimConfig nic;
  // Of NICs with many queue pairs at once (service/host_nic.h).
  uint64_t burst_bytes = 1024;     // unknown, swept: a queue pair sends so much in its turn; here a packet
  size_t reads_a_queue_pair = 16;  // under way: ConnectX NICs allow so many, and core/fabric/verbs asks for them
  uint64_t switch_bytes =
      100'000;  // assumed: waiting for a host's wire, before the switch pauses those that send there
  ServiceCosts service;
  UdCosts ud;
  IndexCosts index;
  CpuCosts cpu;
  size_t server_cores = 32;
  size_t max_batch = 16;  // requests in a message
  absl::Duration scheduling_interval = absl::Microseconds(500);
};

// A ConnectX-5 and the network of the thesis.
inline fabric::SimConfig ConnectX5() {
  fabric::SimConfig config;
  config.latency = absl::Microseconds(1);
  config.jitter = absl::ZeroDuration();
  config.bytes_per_second = 12'500'000'000;
  config.doorbell_cost = absl::ZeroDuration();
  config.completion_cost = absl::Nanoseconds(10);
  config.packet_cost = absl::Nanoseconds(15);
  config.packet_bytes = 1024;
  config.packet_header_bytes = 98;
  config.queue_pair_cache = 960;
  config.queue_pair_miss_cost = absl::Nanoseconds(40);
  return config;
}

// RaaS's ConnectX-3 Pro: 40 Gb/s (VI). A ConnectX-3 receives 35 million WRITEs a second and answers 26 million READs
// (Kalia, Kaminsky, Andersen, SIGCOMM 2014): 30 ns a packet. The paper's figure 6 begins to fall at 400 queue pairs.
// Nobody has published how long the NIC then waits for the state of one, so that is swept; this is a read over PCIe 3
// that overlaps with nothing.
inline fabric::SimConfig ConnectX3Pro() {
  fabric::SimConfig config = ConnectX5();
  config.bytes_per_second = 5'000'000'000;
  config.packet_cost = absl::Nanoseconds(30);
  config.queue_pair_cache = 400;
  config.queue_pair_miss_cost = absl::Nanoseconds(400);
  return config;
}

inline Costs Calibrated() {
  Costs costs;
  costs.nic = ConnectX5();
  return costs;
}

// Four of RaaS's machines. Its processors (24 cores of 2.1 GHz) are taken to be FLOCK's.
inline Costs OfRaas() {
  Costs costs;
  costs.nic = ConnectX3Pro();
  return costs;
}

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_COSTS_H_
