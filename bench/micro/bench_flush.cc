// The cost of knowing that a WRITE is at the peer: by a READ of its last byte behind it, which is how wflush is done
// everywhere, or by FLUSH, on a device that has it. Both ends are in this process, on the default RDMA device; ways
// take turns in shuffled order, and what is printed is a line of JSON for each, ratios taken within a round.
//   bench_flush --bytes=1024 --rounds=1000 --dax=/dev/dax0.0
// Exit status: 0; 1 failed; 77 there is no RDMA device, or none with FLUSH.
#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/durable/storage/pmem_storage.h"
#include "tests/support/fabric_end.h"
#include "tests/support/rdma_device.h"

ABSL_FLAG(uint64_t, bytes, 1024, "of a WRITE");
ABSL_FLAG(uint64_t, rounds, 1000, "in each of which every way has its turn");
ABSL_FLAG(uint64_t, seed, 1, "of the order");
ABSL_FLAG(std::string, dax, "", "a DAX device to write to, which FLUSHes to persistence need; else plain memory");

namespace skein::bench {
namespace {

using fabric::End;
using fabric::Opcode;
using fabric::Placement;
using fabric::SendRequest;

constexpr uint64_t kTargetBytes = uint64_t{2} << 20;

struct Way {
  std::string name;
  Opcode behind = Opcode::kWrite;  // kWrite: nothing
  Placement placement = Placement::kVisible;
  std::vector<double> microseconds = {};
  std::vector<double> of_read = {};  // how many times as long as the READ of its round
};

double MedianOf(std::vector<double> values, double at = 0.5) {
  const auto nth = values.begin() + static_cast<ptrdiff_t>(at * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

std::unique_ptr<fabric::QueuePair> NewQueuePair(const End& end) {
  fabric::QueuePairOptions options;
  options.send_queue = options.receive_queue = end.queue.get();
  options.flushes = true;
  return end.device->CreateQueuePair(options).value();
}

// Microseconds from the post to the completion.
double Once(const Way& way, const End& from, fabric::QueuePair& queue_pair, const fabric::RemoteAddress& to) {
  const uint64_t bytes = absl::GetFlag(FLAGS_bytes);
  const fabric::Segment source = from.Local(0, bytes);
  const fabric::Segment landing = from.Local(bytes, 1);
  std::vector<SendRequest> batch = {fabric::Request(Opcode::kWrite, {&source, 1}, to, 1, way.behind == Opcode::kWrite)};
  if (way.behind == Opcode::kRead) {
    batch.push_back(fabric::Request(Opcode::kRead, {&landing, 1}, {to.address + bytes - 1, to.rkey}));
  } else if (way.behind == Opcode::kFlush) {
    batch.push_back(fabric::Request(Opcode::kFlush, {}, to));
    batch.back().operand = bytes;
    batch.back().placement = way.placement;
  }
  const absl::Time began = absl::Now();
  if (!queue_pair.PostSend(batch).ok()) return -1;
  for (;;) {
    const std::vector<fabric::Completion> done = from.Poll();
    if (done.empty()) continue;
    if (done[0].status != fabric::CompletionStatus::kSuccess) return -1;
    return absl::ToDoubleMicroseconds(absl::Now() - began);
  }
}

std::vector<Way> Ways(const fabric::DeviceCapabilities& device, bool persistent) {
  std::vector<Way> ways = {{"write", Opcode::kWrite}, {"write+read", Opcode::kRead}};
  if (device.flush) ways.push_back({"write+flush", Opcode::kFlush});
  if (device.flush_persistent && persistent) {
    ways.push_back({"write+flush to persistence", Opcode::kFlush, Placement::kPersistent});
  }
  return ways;
}

void Report(const Way& way) {
  absl::PrintF(
      "{\"way\": \"%s\", \"bytes\": %d, \"rounds\": %d, \"us\": %.1f, \"us_quartiles\": [%.1f, %.1f], \"of_read\": "
      "%.3f, "
      "\"of_read_quartiles\": [%.3f, %.3f]}\n",
      way.name, absl::GetFlag(FLAGS_bytes), way.of_read.size(), MedianOf(way.microseconds),
      MedianOf(way.microseconds, 0.25), MedianOf(way.microseconds, 0.75), MedianOf(way.of_read),
      MedianOf(way.of_read, 0.25), MedianOf(way.of_read, 0.75));
}

int Main() {
  const auto device = fabric::OpenRdmaDevice();
  if (!device.ok() || !(*device)->capabilities().flush) {
    std::cerr << "bench_flush: " << (device.ok() ? "the RDMA device has no FLUSH" : device.status().message())
              << std::endl;
    return 77;
  }
  const std::string dax = absl::GetFlag(FLAGS_dax);
  const End from(*device, size_t{1} << 18);
  const End to(fabric::OpenRdmaDevice().value());
  std::unique_ptr<durable::PmemStorage> memory;
  if (!dax.empty()) memory = durable::PmemStorage::Open(dax, kTargetBytes).value();
  const uint32_t access = fabric::kRemoteWrite | fabric::kRemoteRead | fabric::kRemoteFlush;
  const auto target = memory == nullptr
                          ? to.device->Allocate(kTargetBytes, access).value()
                          : to.device->Register(memory->mapped(), access | fabric::kRemoteFlushPersistent).value();
  const auto active = NewQueuePair(from);
  const auto passive = NewQueuePair(to);
  if (!fabric::Connect(*active, *passive).ok()) return 1;
  std::vector<Way> ways = Ways((*device)->capabilities(), memory != nullptr);
  std::mt19937_64 chance(absl::GetFlag(FLAGS_seed));
  for (uint64_t round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
    std::vector<size_t> order(ways.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), chance);
    for (const size_t way : order) {
      const double took = Once(ways[way], from, *active, target->remote());
      if (took < 0) return 1;
      ways[way].microseconds.push_back(took);
    }
    for (Way& way : ways) way.of_read.push_back(way.microseconds.back() / ways[1].microseconds.back());
  }
  for (const Way& way : ways) Report(way);
  return 0;
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("bench_flush [--bytes=N] [--rounds=N] [--dax=/dev/dax0.0]");
  absl::ParseCommandLine(argc, argv);
  return skein::bench::Main();
}
