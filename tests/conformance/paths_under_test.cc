#include "tests/conformance/paths_under_test.h"

#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

#include "core/replicate/stream_path.h"
#include "core/replicate/tcp_path.h"
#include "tests/support/loopback_pair.h"
#include "tests/support/memory_path.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::replicate {
namespace {

std::vector<PathsFactory>& Paths() {
  static std::vector<PathsFactory> paths;
  return paths;
}

class MemoryUnderTest final : public PathsUnderTest {
 public:
  Pair MakePair() override { return MemoryPath::MakePair(network_, 1000); }
  bool Pump() override { return network_.Run(); }

 private:
  MemoryNetwork network_;
};

// Between two processes' ends, whatever members there are: all streams share a link.
class StreamsUnderTest final : public PathsUnderTest {
 public:
  explicit StreamsUnderTest(stream::FabricKindUnderTest kind) : ends_(kind) {}
  Pair MakePair() override {
    stream::TwoEnds::Pair pair = ends_.Connect();
    return {std::make_unique<StreamPath>(pair.client), std::make_unique<StreamPath>(pair.server)};
  }
  bool Pump() override {
    // Packets of a device take time, and what two ends say of their link takes a few looks.
    absl::SleepFor(ends_.patience);
    bool moved = false;
    for (int look = 0; look < 4; ++look) {
      if (ends_.simulation != nullptr) ends_.simulation->RunUntilIdle();
      moved |= ends_.client_waiter.PollAll();
      moved |= ends_.server_waiter.PollAll();
    }
    return moved;
  }

 private:
  stream::TwoEnds ends_;
};

class TcpUnderTest final : public PathsUnderTest {
 public:
  Pair MakePair() override {
    auto [a, b] = LoopbackPair();
    return {CreateTcpPath(std::move(a), waiter_).value(), CreateTcpPath(std::move(b), waiter_).value()};
  }
  bool Pump() override { return waiter_.PollAll(); }

 private:
  stream::ManualWaiter waiter_;
};

[[maybe_unused]] const bool kMemoryRegistered =
    RegisterPaths({"memory", [] { return std::make_unique<MemoryUnderTest>(); }});
[[maybe_unused]] const bool kTcpRegistered = RegisterPaths({"tcp", [] { return std::make_unique<TcpUnderTest>(); }});
[[maybe_unused]] const bool kStreamsRegistered = [] {
  for (const stream::FabricKindUnderTest kind : stream::FabricsUnderTest()) {
    RegisterPaths({stream::NameOf(kind), [kind] { return std::make_unique<StreamsUnderTest>(kind); }});
  }
  return true;
}();

}  // namespace

bool RegisterPaths(PathsFactory factory) {
  Paths().push_back(std::move(factory));
  return true;
}
const std::vector<PathsFactory>& RegisteredPaths() { return Paths(); }

}  // namespace skein::replicate
