#include "core/fabric/shm/offer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/wire/bytes.h"

namespace skein::fabric::shm {
namespace {

constexpr uint8_t kVersion = 2;

absl::StatusOr<uint64_t> NamespaceNumber(const char* path) {
  struct stat status = {};
  if (stat(path, &status) != 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
  return status.st_ino;
}

absl::StatusOr<std::array<char, 16>> BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  const std::string bytes = absl::HexStringToBytes(absl::StrReplaceAll(text, {{"-", ""}}));
  std::array<char, 16> id;
  if (bytes.size() != id.size()) return absl::UnavailableError("cannot read the kernel's boot id from /proc");
  std::copy(bytes.begin(), bytes.end(), id.begin());
  return id;
}

}  // namespace

absl::StatusOr<Place> PlaceOfThisProcess() {
  const absl::StatusOr<std::array<char, 16>> boot_id = BootId();
  if (!boot_id.ok()) return boot_id.status();
  const absl::StatusOr<uint64_t> network = NamespaceNumber("/proc/self/ns/net");
  if (!network.ok()) return network.status();
  const absl::StatusOr<uint64_t> pid = NamespaceNumber("/proc/self/ns/pid");
  if (!pid.ok()) return pid.status();
  return Place{*boot_id, *network, *pid, geteuid()};
}

absl::Status CheckSamePlace(const Place& mine, const Place& theirs) {
  if (mine.boot_id != theirs.boot_id) return FallbackError(FallbackCode::kDifferentHost, "");
  if (mine.network_namespace != theirs.network_namespace) {
    return FallbackError(FallbackCode::kDifferentNetworkNamespace, "");
  }
  if (mine.pid_namespace != theirs.pid_namespace) return FallbackError(FallbackCode::kDifferentPidNamespace, "");
  if (mine.uid != theirs.uid) {
    return FallbackError(FallbackCode::kDifferentUser, absl::StrCat("client ", theirs.uid, ", server ", mine.uid));
  }
  return absl::OkStatus();
}

bool SameToken(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::string EncodeOffer(const Offer& offer) {
  std::string out;
  wire::Put(out, kVersion);
  wire::Put(out, offer.place.boot_id);
  wire::Put(out, offer.place.network_namespace);
  wire::Put(out, offer.place.pid_namespace);
  wire::Put(out, offer.place.uid);
  wire::Put(out, offer.meeting_point);
  wire::Put(out, offer.token);
  return out;
}

absl::StatusOr<Offer> DecodeOffer(absl::string_view bytes) {
  wire::FieldReader reader(bytes);
  if (const auto version = reader.Take<uint8_t>(); reader.ok() && version != kVersion) {
    return FallbackError(FallbackCode::kVersion, absl::StrCat("shm offer of version ", version));
  }
  Offer offer;
  offer.place.boot_id = reader.Take<decltype(Place::boot_id)>();
  offer.place.network_namespace = reader.Take<uint64_t>();
  offer.place.pid_namespace = reader.Take<uint64_t>();
  offer.place.uid = reader.Take<uint32_t>();
  offer.meeting_point = reader.Take<decltype(Offer::meeting_point)>();
  offer.token = reader.Take<Token>();
  if (!reader.done()) {
    return FallbackError(FallbackCode::kProtocol, absl::StrCat("shm offer of ", bytes.size(), " bytes"));
  }
  const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  if (!std::all_of(offer.meeting_point.begin(), offer.meeting_point.end(), is_hex)) {
    return FallbackError(FallbackCode::kProtocol, "shm offer with a malformed meeting point");
  }
  return offer;
}

}  // namespace skein::fabric::shm
