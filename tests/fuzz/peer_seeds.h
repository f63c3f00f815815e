// What an honest peer does first, for targets with a RingPeer.
#ifndef SKEIN_TESTS_FUZZ_PEER_SEEDS_H_
#define SKEIN_TESTS_FUZZ_PEER_SEEDS_H_

#include <string>

#include "tests/fuzz/ring_peer.h"

namespace skein::fuzz {

inline std::string Number(uint64_t number) {
  std::string bytes;
  wire::Put(bytes, number);
  return bytes;
}
inline std::string ItemStep(wire::ItemKind kind, uint8_t stream, absl::string_view payload = {}) {
  return Say(PeerStep::kItem, kind, stream, uint8_t{0}, Piece(payload));
}
inline std::string OpenSteps(uint64_t window) {
  return Say(PeerStep::kHello) + ItemStep(wire::ItemKind::kOpen, 1, Number(window));
}

}  // namespace skein::fuzz

#endif  // SKEIN_TESTS_FUZZ_PEER_SEEDS_H_
