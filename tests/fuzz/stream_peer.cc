// A stream whose peer is hostile: it is never given more bytes than its window allows, nor an end before them.
//
//   input = u8 active | steps: those of the peer, or of the victim
#include <memory>
#include <vector>

#include "core/stream/connector.h"
#include "tests/fuzz/one_link.h"
#include "tests/fuzz/peer_seeds.h"

namespace skein::fuzz {
namespace {

using wire::ItemKind;

enum class VictimStep : uint8_t { kPoll = kPeerSteps, kRead, kWrite, kCloseWrite, kAbort, kReached, kDrain };
constexpr size_t kSteps = kPeerSteps + 7;
constexpr int kMostSteps = 200;
constexpr size_t kWindow = 5000;

class Victim {
 public:
  explicit Victim(bool active) {
    const stream::StreamOptions options{
        .link = {.ring_bytes = wire::kRingGranule}, .window_bytes = kWindow, .large_payload = 2000};
    auto fabrics = std::make_shared<connect::OneFabric>(simulation_.CreateDevice("victim"));
    if (active) {
      connector_ = stream::CreateConnector(fabrics, options, &link_);
      const auto attempt = connector_->Begin({}).value();
      stream_ = CompleteWithPeer(*attempt, kWindow, peer_).stream;
      link_.Poll();
      peer_.Attach(wire::DecodeRingDescriptor(peer_.LastReceived(ItemKind::kHello)).value());
    } else {
      listener_ = stream::CreateListener(fabrics, options, &link_);
      stream_ = AcceptPeer(*listener_, wire::Service::kStream, peer_).outcome.stream;
    }
    Require(stream_ != nullptr, "a stream");
    link_.Poll();
  }

  void Do(size_t step, Script& script) {
    if (step < kPeerSteps) return peer_.Do(static_cast<PeerStep>(step), script);
    switch (static_cast<VictimStep>(step)) {
      case VictimStep::kPoll:
        return link_.Poll();
      case VictimStep::kRead:
        return Read(script.Take<uint16_t>());
      case VictimStep::kWrite: {
        const std::string bytes(script.Take<uint16_t>(), 'w');
        const stream::ConstBytes part(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
        const absl::StatusOr<size_t> taken = stream_->Write({&part, 1});
        Require(!taken.ok() || *taken <= bytes.size(), "no more is written than there is");
        return;
      }
      case VictimStep::kCloseWrite:
        return stream_->CloseWrite();
      case VictimStep::kAbort:
        return stream_->Abort(absl::CancelledError("enough"));
      case VictimStep::kReached:
        return stream_->WhenReached([](const absl::Status&) {});
      case VictimStep::kDrain:
        Require(stream_->Drain(), "nobody else polls");
        return;
    }
  }
  void Poll() { link_.Poll(); }
  void Read(size_t most) {
    std::vector<stream::Buffer> buffers;
    const absl::Status status = stream_->Read(most, buffers);
    Require(buffers.empty() || !ended_, "no bytes after the end");
    ended_ |= !status.ok();
    size_t bytes = 0;
    for (const stream::Buffer& buffer : buffers) {
      bytes += buffer.size;
      for (size_t i = 0; i < buffer.size; ++i) sum_ = sum_ + static_cast<uint8_t>(buffer.data[i]);
    }
    Require(bytes <= kWindow, "no more than the window allows");
  }

 private:
  fabric::Simulation simulation_{20261121};
  RingPeer peer_{simulation_};
  OneLink link_{simulation_};
  std::unique_ptr<stream::Connector> connector_;
  std::unique_ptr<stream::Listener> listener_;
  std::shared_ptr<stream::Stream> stream_;
  bool ended_ = false;
  volatile uint64_t sum_ = 0;  // so that every byte given is looked at
};

}  // namespace

std::vector<std::string> Seeds() {
  const std::string passive(1, '\0');
  const std::string active(1, '\1');
  const std::string poll = Say(VictimStep::kPoll);
  const std::string read = poll + Say(VictimStep::kRead, uint16_t{9000});
  const std::string write = Say(VictimStep::kWrite, uint16_t{3000});
  const std::string data = ItemStep(ItemKind::kData, 1, "some bytes");
  return {
      passive + OpenSteps(1000) + data + read + write + ItemStep(ItemKind::kWindow, 1, Number(500)) + poll +
          ItemStep(ItemKind::kCloseWrite, 1) + read,
      passive + OpenSteps(9000) + Say(PeerStep::kBlock, uint8_t{1}, uint8_t{3}, uint16_t{1000}) + data + read + write +
          poll + ItemStep(ItemKind::kPulled, 0, Number(0)) + Say(VictimStep::kReached) + poll,
      passive + OpenSteps(0) + ItemStep(ItemKind::kAbort, 1, "why") + read + Say(VictimStep::kDrain),
      active + ItemStep(ItemKind::kWindow, 1, Number(500)) + data + write + read + Say(VictimStep::kCloseWrite) + poll,
      active + data + write + poll + Say(VictimStep::kAbort) + data + read + ItemStep(ItemKind::kBye, 0) + poll,
  };
}

}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace skein::fuzz;  // NOLINT(google-build-using-namespace): this is of it, but for its C name
  Script script(Text(data, size));
  Victim victim(script.Choice(2) == 1);
  for (int steps = 0; steps < kMostSteps && !script.done(); ++steps) victim.Do(script.Choice(kSteps), script);
  victim.Poll();
  victim.Read(1 << 20);
  return 0;
}
