#include "core/channel/shm/offer.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/fallback.h"
#include "core/wire/bytes.h"

namespace skein::channel::shm {
namespace {

constexpr absl::string_view kPrefix = "skein-";

}  // namespace

std::string SocketName(const MeetingPoint& meeting_point) {
  return absl::StrCat(kPrefix, absl::BytesToHexString({meeting_point.data(), meeting_point.size()}));
}

bool IsSocketName(absl::string_view name) {
  return absl::ConsumePrefix(&name, kPrefix) && name.size() == 2 * sizeof(MeetingPoint) &&
         absl::c_all_of(name, [](unsigned char c) { return absl::ascii_isxdigit(c); });
}

bool SameToken(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

std::string EncodeOffer(const Offer& offer) {
  std::string out;
  wire::Put(out, kOfferVersion);
  wire::Put(out, offer.meeting_point);
  wire::Put(out, offer.token);
  return out;
}

absl::StatusOr<Offer> DecodeOffer(absl::string_view bytes) {
  wire::FieldReader reader(bytes);
  if (const auto version = reader.Take<uint8_t>(); reader.ok() && version != kOfferVersion) {
    return FallbackError(FallbackCode::kVersion, absl::StrCat("shm offer of version ", version));
  }
  Offer offer;
  offer.meeting_point = reader.Take<MeetingPoint>();
  offer.token = reader.Take<Token>();
  if (!reader.done()) {
    return FallbackError(FallbackCode::kProtocol, absl::StrCat("shm offer of ", bytes.size(), " bytes"));
  }
  return offer;
}

}  // namespace skein::channel::shm
