// A connector and a listener over one fabric, in one process and on one thread: nothing moves but by Pump().
#ifndef SKEIN_TESTS_UNIT_STREAM_TWO_ENDS_H_
#define SKEIN_TESTS_UNIT_STREAM_TWO_ENDS_H_

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/channel/ring/ring_group.h"
#include "core/channel/shm/shm_transport.h"
#include "core/fabric/sim/simulation.h"
#include "core/link/link.h"
#include "core/stream/connector.h"
#include "core/wire/negotiation.h"
#include "tests/support/rdma_device.h"

namespace skein::stream {

inline std::string RandomText(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

// Polls what it was given until none of it has work.
class ManualWaiter final : public wait::Watcher {
 public:
  // A link and the streams that are on it keep each other until it is finished.
  ~ManualWaiter() override {
    for (const auto& source : sources_) {
      if (auto* link = dynamic_cast<link::Link*>(source.get())) link->Close();  // or a server's shares
    }
    PollAll();
  }
  void Watch(std::shared_ptr<wait::Source> source) override { sources_.push_back(std::move(source)); }
  bool PollAll() {
    bool any = false;
    for (size_t i = 0; i < sources_.size(); ++i) {
      const std::shared_ptr<wait::Source> source = sources_[i];
      // Arm, then Poll, as before a sleep; the Arm also makes shared memory look at its sockets.
      if (!source->Arm()) any = true;
      while (source->Poll()) any = true;
    }
    std::erase_if(sources_, [](const auto& source) { return source->finished(); });
    return any;
  }
  size_t watched() const { return sources_.size(); }

 private:
  std::vector<std::shared_ptr<wait::Source>> sources_;
};

class CountingObserver final : public StreamObserver {
 public:
  void OnReadable() override { ++readable; }
  void OnWritable() override { ++writable; }
  int readable = 0;
  int writable = 0;
};

// kSilentSim: whose closes nobody notices, as with RDMA.
enum class FabricKindUnderTest { kShm, kSim, kSilentSim, kRdma };

inline std::vector<FabricKindUnderTest> FabricsUnderTest() {
  std::vector<FabricKindUnderTest> kinds = {FabricKindUnderTest::kShm, FabricKindUnderTest::kSim,
                                            FabricKindUnderTest::kSilentSim};
  if (fabric::OpenRdmaDevice().ok()) kinds.push_back(FabricKindUnderTest::kRdma);
  return kinds;
}

inline std::string NameOf(FabricKindUnderTest kind) {
  switch (kind) {
    case FabricKindUnderTest::kShm:
      return "shm";
    case FabricKindUnderTest::kSim:
      return "sim";
    case FabricKindUnderTest::kSilentSim:
      return "silent_sim";
    case FabricKindUnderTest::kRdma:
      return "rdma";
  }
  return "unknown";
}

class TwoEnds {
 public:
  // `config`: of simulated devices.
  explicit TwoEnds(FabricKindUnderTest kind, StreamOptions options = {}, fabric::SimConfig config = {}) {
    if (kind == FabricKindUnderTest::kShm) {
      client_transport = channel::OpenShm();
      server_transport = channel::OpenShm();
    } else if (kind == FabricKindUnderTest::kRdma) {
      client_device = fabric::OpenRdmaDevice().value();
      server_device = fabric::OpenRdmaDevice().value();
      patience = absl::Milliseconds(5);
    } else {
      config.announce_close = kind == FabricKindUnderTest::kSim;
      simulation = std::make_unique<fabric::Simulation>(20261121, config);
      client_device = simulation->CreateDevice("client");
      server_device = simulation->CreateDevice("server");
    }
    if (client_device != nullptr) {
      client_transport = std::make_shared<channel::RingTransport>(client_device);
      server_transport = std::make_shared<channel::RingTransport>(server_device);
    }
    connector = CreateConnector(std::make_shared<connect::OneFabric>(client_transport), options, &client_waiter);
    listener = CreateListener(std::make_shared<connect::OneFabric>(server_transport), options, &server_waiter);
  }

  // Until nothing moves any more.
  void Pump() {
    // What the two ends say of the link itself takes a few looks by either end that bring no stream anything.
    for (int idle_rounds = 0; idle_rounds < 4;) {
      absl::SleepFor(patience);
      if (simulation != nullptr) simulation->RunUntilIdle();
      const bool client = client_waiter.PollAll();
      const bool server = server_waiter.PollAll();
      idle_rounds = client || server ? 0 : idle_rounds + 1;
    }
  }

  struct Pair {
    std::shared_ptr<Stream> client;
    std::shared_ptr<Stream> server;
    Fallback client_why;
    Fallback server_why;
    std::shared_ptr<CountingObserver> client_sees = std::make_shared<CountingObserver>();
    std::shared_ptr<CountingObserver> server_sees = std::make_shared<CountingObserver>();
  };
  Pair Connect() {
    Pair pair;
    auto attempt = connector->Begin({}).value();
    Listener::Result result = listener->Accept(attempt->offer(), {});
    Outcome outcome = attempt->Complete(result.answer);
    pair.client = outcome.stream;
    pair.client_why = outcome.why;
    pair.server = result.outcome.stream;
    pair.server_why = result.outcome.why;
    if (pair.client != nullptr) pair.client->SetObserver(pair.client_sees);
    if (pair.server != nullptr) pair.server->SetObserver(pair.server_sees);
    Pump();
    return pair;
  }

  std::unique_ptr<fabric::Simulation> simulation;
  absl::Duration patience = absl::ZeroDuration();  // packets take time, and nothing says when the last has come
  std::shared_ptr<fabric::Device> client_device;   // null: shared memory
  std::shared_ptr<fabric::Device> server_device;
  std::shared_ptr<channel::Transport> client_transport;
  std::shared_ptr<channel::Transport> server_transport;
  ManualWaiter client_waiter;
  ManualWaiter server_waiter;
  std::unique_ptr<Connector> connector;
  std::unique_ptr<Listener> listener;
};

// The offer of a client that asks for a link of its own, as one that has left or lost another; or of one that does not.
inline std::string AskingForANewLink(absl::string_view bytes, bool asking = true) {
  wire::Offer offer = wire::DecodeOffer(bytes).value();
  offer.new_link_only = asking;
  return wire::EncodeOffer(offer);
}

inline absl::StatusOr<size_t> WriteText(Stream& stream, absl::string_view text) {
  const ConstBytes bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
  return stream.Write({&bytes, 1});
}

// Reads until there are `size` bytes, the stream ends, or it has taken too long. `pump` lets the ends go on meanwhile.
template <class Pump>
absl::Status ReadUntil(Stream& stream, size_t at_once, std::string& bytes, size_t size, absl::Duration patience,
                       Pump pump) {
  for (const absl::Time end = absl::Now() + patience; bytes.size() < size && absl::Now() < end;) {
    pump();
    std::vector<Buffer> buffers;
    if (absl::Status status = stream.Read(at_once, buffers); !status.ok()) return status;
    for (const Buffer& buffer : buffers) bytes.append(reinterpret_cast<const char*>(buffer.data.get()), buffer.size);
  }
  return absl::OkStatus();
}

// Everything that is there now; the status that ended it, OK if there may be more later.
inline std::pair<std::string, absl::Status> ReadAll(Stream& stream) {
  std::string text;
  for (;;) {
    std::vector<Buffer> buffers;
    const absl::Status status = stream.Read(1 << 20, buffers);
    if (!status.ok() || buffers.empty()) return {text, status};
    for (const Buffer& buffer : buffers) text.append(reinterpret_cast<const char*>(buffer.data.get()), buffer.size);
  }
}

}  // namespace skein::stream

#endif  // SKEIN_TESTS_UNIT_STREAM_TWO_ENDS_H_
