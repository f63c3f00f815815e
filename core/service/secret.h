// The secret that the skeinds of a cluster share: by it each shows in the greeting that it is one of them. It keeps out
// whoever does not know it, and not whoever can change packets on their way: what follows the greeting is not signed.
#ifndef SKEIN_CORE_SERVICE_SECRET_H_
#define SKEIN_CORE_SERVICE_SECRET_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace skein::service {

using Proof = std::array<uint8_t, 32>;

// Of a file that others may not read, without the line's end.
absl::StatusOr<std::string> ReadSecret(const std::string& path);

// That `who` knows the secret, of all that the two have said in this greeting: HMAC-SHA256.
Proof Prove(const std::string& secret, absl::string_view who, absl::string_view said);
bool IsProven(const std::string& secret, absl::string_view who, absl::string_view said, const Proof& proof);

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_SECRET_H_
