// What skeind's instructions are counted on (README.md): processes of two hosts, whose skeinds take their turns on one
// thread, over the simulated device. skeind_messages ROUNDS BATCH PAIRS: in each round each of PAIRS processes posts a
// batch of WRITE_WITH_IMM to its peer, and all hear of them.
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "core/fabric/service/service_device.h"
#include "core/fabric/sim/simulation.h"
#include "core/service/service.h"
#include "tests/support/require.h"
#include "tests/support/temporary_folder.h"

namespace skein::bench {
namespace {

struct SkeindOfHost {
  SkeindOfHost(fabric::Simulation& simulation, const std::string& name)
      : port{simulation.CreateDevice(name), "127.0.0.1"} {
    service::ServiceOptions options;
    options.folder = folder.path();
    options.trunk_address = port.address;
    options.any_trunk_port = true;
    skeind = service::Service::Create(options, [this](absl::string_view) { return port; }).value();
  }
  const service::Port port;
  const TemporaryFolder folder{"/tmp"};
  std::unique_ptr<service::Service> skeind;
};

constexpr uint32_t kDepth = 256;

struct PostingProcess {
  explicit PostingProcess(const SkeindOfHost& host)
      : device(fabric::OpenServiceDevice(host.folder.path(), host.port.address).value()),
        completions(device->CreateCompletionQueue(2 * kDepth).value()),
        memory(device->Allocate(4096, fabric::kRemoteWrite).value()) {
    fabric::QueuePairOptions options;
    options.send_queue = options.receive_queue = completions.get();
    options.max_send_requests = options.max_receive_requests = kDepth;
    queue_pair = device->CreateQueuePair(options).value();
    PostReceives(kDepth / 2);
  }
  void PostReceives(size_t count) {
    Require(queue_pair->PostReceive(std::vector<fabric::ReceiveRequest>(count)).ok(), "receives");
  }
  // The last one tells.
  void Post(size_t batch, const PostingProcess& peer) {
    const fabric::Segment segment = {memory->bytes().data(), 64, memory->lkey()};
    std::vector<fabric::SendRequest> requests(batch);
    for (fabric::SendRequest& request : requests) {
      request.opcode = fabric::Opcode::kWriteWithImmediate;
      request.local = absl::MakeConstSpan(&segment, 1);
      request.remote = peer.memory->remote();
      request.signaled = false;
    }
    requests.back().signaled = true;
    Require(queue_pair->PostSend(requests).ok(), "a batch");
  }

  std::shared_ptr<fabric::Device> device;
  std::unique_ptr<fabric::CompletionQueue> completions;
  std::unique_ptr<fabric::MemoryRegion> memory;
  std::unique_ptr<fabric::QueuePair> queue_pair;
};

struct TwoSkeinds {
  // The work of now.
  void Turn() {
    while (one.skeind->Turn()) {
    }
    simulation.RunUntilIdle();
    while (other.skeind->Turn()) {
    }
    simulation.RunUntilIdle();
  }
  // Does what is asked while another thread serves: to connect, a process waits for its skeind.
  template <typename What>
  void WhileServing(What what) {
    std::atomic<bool> stop = false;
    std::thread serving([&] {
      while (!stop) Turn();
    });
    what();
    stop = true;
    serving.join();
  }

  fabric::Simulation simulation{1, {}};
  SkeindOfHost one{simulation, "one"};
  SkeindOfHost other{simulation, "other"};
};

// Not inlined: callgrind collects from here on.
[[gnu::noinline]] void Rounds(int rounds, int batch, TwoSkeinds& skeinds,
                              std::vector<std::unique_ptr<PostingProcess>>& from,
                              std::vector<std::unique_ptr<PostingProcess>>& to) {
  std::vector<fabric::Completion> polled(2 * kDepth);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < from.size(); ++i) from[i]->Post(static_cast<size_t>(batch), *to[i]);
    size_t left = from.size() * static_cast<size_t>(batch + 1);
    while (left > 0) {
      skeinds.Turn();
      for (const auto& process : from) left -= process->completions->Poll(absl::MakeSpan(polled));
      for (const auto& process : to) {
        const size_t arrived = process->completions->Poll(absl::MakeSpan(polled));
        if (arrived > 0) process->PostReceives(arrived);
        left -= arrived;
      }
    }
  }
}

int Main(int rounds, int batch, int pairs) {
  TwoSkeinds skeinds;
  std::vector<std::unique_ptr<PostingProcess>> from;
  std::vector<std::unique_ptr<PostingProcess>> to;
  skeinds.WhileServing([&] {
    for (int i = 0; i < pairs; ++i) {
      from.push_back(std::make_unique<PostingProcess>(skeinds.one));
      to.push_back(std::make_unique<PostingProcess>(skeinds.other));
      const std::string offer = from.back()->queue_pair->Offer().value();
      Require(from.back()->queue_pair->Complete(to.back()->queue_pair->Accept(offer).value()).ok(), "a connection");
    }
  });
  Rounds(rounds, batch, skeinds, from, to);
  std::cout << rounds * batch * pairs << " messages\n";
  skeinds.WhileServing([&] {
    from.clear();
    to.clear();
  });
  return 0;
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  int numbers[3] = {};
  bool ok = argc == 4;
  for (int i = 0; ok && i < 3; ++i) ok = absl::SimpleAtoi(argv[i + 1], &numbers[i]) && numbers[i] > 0;
  if (!ok || numbers[1] > 64) {
    std::cerr << "usage: skeind_messages ROUNDS BATCH PAIRS (a batch: up to 64)\n";
    return 2;
  }
  return skein::bench::Main(numbers[0], numbers[1], numbers[2]);
}
