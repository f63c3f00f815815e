// What the active side says to the passive one, over whatever channel they negotiate on: where to meet. Fixed size:
//
//   u8 version | meeting point (16) | token (16)
//
// A change of what two ends share makes a new version. Version 3 offered a queue pair, emulated in shared memory: an
// end of version 3 answers an offer of version 4 with kVersion, and is answered so.
//
// It tells nothing of the host and the user: that both ends reach one socket, and what the kernel says of who is at its
// other end, is the proof.
#ifndef SKEIN_CORE_CHANNEL_SHM_OFFER_H_
#define SKEIN_CORE_CHANNEL_SHM_OFFER_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::channel::shm {

using MeetingPoint = std::array<char, 16>;  // random: the name of a socket
// Abstract, and therefore of one network namespace.
std::string SocketName(const MeetingPoint& meeting_point);
bool IsSocketName(absl::string_view name);

using Token = std::array<char, 16>;  // random, good for one connection
// In time that does not depend on where they differ.
bool SameToken(absl::string_view a, absl::string_view b);

struct Offer {
  MeetingPoint meeting_point = {};
  Token token = {};
};
inline constexpr uint8_t kOfferVersion = 4;
std::string EncodeOffer(const Offer& offer);
// FallbackError: kVersion, kProtocol.
absl::StatusOr<Offer> DecodeOffer(absl::string_view bytes);

}  // namespace skein::channel::shm

#endif  // SKEIN_CORE_CHANNEL_SHM_OFFER_H_
