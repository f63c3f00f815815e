// What an end of a virtual queue pair says of itself to the other process, which hands it to its skeind. Both are bytes
// of a peer's: hostile until checked.
#ifndef SKEIN_CORE_SERVICE_OFFER_H_
#define SKEIN_CORE_SERVICE_OFFER_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::service {

struct Offer {
  uint32_t number = 0;  // of the virtual queue pair, at its skeind
  uint64_t token = 0;   // nobody foresees it
  uint16_t port = 0;    // where that skeind is reached
  std::string host;     // an address; empty in an answer
};

// Whether it is an IP address as inet_ntop(3) writes it. So one address is one text, and no process can have skeind
// connect to one host under many.
bool IsAddress(const std::string& host);

std::string EncodeOffer(const Offer& offer);
// FallbackError: no offer of a version that this skeind knows.
absl::StatusOr<Offer> DecodeOffer(absl::string_view bytes);

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_OFFER_H_
