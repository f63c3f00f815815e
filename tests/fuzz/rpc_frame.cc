// What comes by the connection that a negotiation of calls travels by, in any pieces, and what clients ask about
// memory.
//
//   input = u8 where it is cut, in eighths | bytes
#include "core/channel/ring/ring_group.h"
#include "core/connect/tcp.h"
#include "core/fabric/sim/simulation.h"
#include "core/rpc/options.h"
#include "core/rpc/regions.h"
#include "core/wire/bytes.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/pieces.h"
#include "tests/support/ring_link.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  const SocketPair pair = MakeSocketPair();
  Require(connect::SendFrame(pair.peers.get(), rpc::kFrameLetters, "an offer").ok(), "a frame is sent");
  std::string frame(100, '\0');
  frame.resize(static_cast<size_t>(recv(pair.own.get(), frame.data(), frame.size(), 0)));
  std::string attach;
  wire::Put(attach, uint32_t{1});
  std::string atomic;
  wire::Put(atomic, rpc::AtomicRequest{1, rpc::AtomicKind::kCompareSwap, 8, 0, 5});
  return {"\4" + frame, "\2" + frame + "more", "\1" + attach, "\1" + atomic};
}

namespace {

constexpr size_t kMaxPayload = 256;

void Receive(absl::string_view bytes, size_t cut) {
  const SocketPair pair = MakeSocketPair();
  connect::FrameReader reader(rpc::kFrameLetters, kMaxPayload);
  absl::StatusOr<std::optional<std::string>> frame;
  for (const absl::string_view piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
    SendPiece(pair.peers.get(), piece);
    frame = reader.Read(pair.own.get());
    if (!frame.ok() || frame->has_value()) break;
  }
  if (frame.ok() && frame->has_value()) Require((*frame)->size() <= kMaxPayload, "no more than was to come");
}

void Question(absl::string_view bytes) {
  fabric::Simulation simulation(1);
  channel::RingTransport own(simulation.CreateDevice("own"));
  const auto link = link::LinkOn(simulation.CreateDevice("another"), {.ring_bytes = wire::kRingGranule});
  rpc::Regions regions;
  Require(regions.Add(1, 4096, rpc::kRemoteRead | rpc::kServerAtomic, &own).ok(), "a region");
  const auto attached = regions.Attach(bytes, *link);
  if (attached.ok()) Require(attached->size() == sizeof(rpc::RemoteRegion), "what a client is told");
  regions.Execute(bytes).IgnoreError();
}

}  // namespace
}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const absl::string_view bytes = skein::fuzz::Text(data + 1, size - 1);
  skein::fuzz::Receive(bytes, bytes.size() * (data[0] % 8) / 8);
  if (bytes.size() < 64) skein::fuzz::Question(bytes);
  return 0;
}
