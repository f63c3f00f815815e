// What the active side says to the passive one, over whatever channel they negotiate on: where it is, and where to
// meet. Little-endian, fixed size:
//
//   u8 version | boot id (16) | u64 network namespace | u64 pid namespace | u32 uid | meeting point (32) | token (16)
#ifndef SKEIN_CORE_FABRIC_SHM_OFFER_H_
#define SKEIN_CORE_FABRIC_SHM_OFFER_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::fabric::shm {

// Which processes this one can share memory with.
struct Place {
  std::array<char, 16> boot_id = {};  // of the kernel's present run: tells hosts and virtual machines apart
  uint64_t network_namespace = 0;
  uint64_t pid_namespace = 0;
  uint32_t uid = 0;
};
absl::StatusOr<Place> PlaceOfThisProcess();

// OK, or a FallbackError naming the boundary between the two.
absl::Status CheckSamePlace(const Place& mine, const Place& theirs);

using Token = std::array<char, 16>;  // random, good for one connection
// In time that does not depend on where they differ.
bool SameToken(absl::string_view a, absl::string_view b);

struct Offer {
  Place place;
  std::array<char, 32> meeting_point = {};  // hexadecimal
  Token token = {};
};
std::string EncodeOffer(const Offer& offer);
absl::StatusOr<Offer> DecodeOffer(absl::string_view bytes);  // FallbackError: kVersion, kProtocol

}  // namespace skein::fabric::shm

#endif  // SKEIN_CORE_FABRIC_SHM_OFFER_H_
