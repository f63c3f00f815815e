// What the active side says to the passive one, over whatever channel they negotiate on: where to meet. Fixed size:
//
//   u8 version | meeting point (16) | token (16)
//
// The version tells, too, what is to be connected there: a process that knows queue pairs alone answers a channel's
// offer with kVersion.
//
// It tells nothing of the host and the user: that both ends reach one socket, and what the kernel says of who is at its
// other end, is the proof.
#ifndef SKEIN_CORE_FABRIC_SHM_OFFER_H_
#define SKEIN_CORE_FABRIC_SHM_OFFER_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::fabric::shm {

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
// What is offered, by its version: a change of what two ends share makes a new one.
enum class OfferOf : uint8_t { kQueuePair = 3, kChannel = 4 };
std::string EncodeOffer(const Offer& offer, OfferOf what = OfferOf::kQueuePair);
// FallbackError: kVersion, also where something else is offered; kProtocol.
absl::StatusOr<Offer> DecodeOffer(absl::string_view bytes, OfferOf what = OfferOf::kQueuePair);

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_OFFER_H_
