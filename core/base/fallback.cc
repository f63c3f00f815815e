#include "core/base/fallback.h"

#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"

namespace skein {
namespace {

constexpr absl::string_view kPayload = "skein/fallback";

absl::string_view KnownName(FallbackCode code) {
  switch (code) {
    case FallbackCode::kNone:
      return "none";
    case FallbackCode::kModeOff:
      return "mode is off";
    case FallbackCode::kPeerNotSkein:
      return "peer does not speak Skein";
    case FallbackCode::kPeerModeOff:
      return "peer's mode is off";
    case FallbackCode::kVersion:
      return "no common protocol version";
    case FallbackCode::kDifferentHost:
      return "different host";
    case FallbackCode::kDifferentNetworkNamespace:
      return "different network namespace or host";
    case FallbackCode::kDifferentPidNamespace:
      return "different pid namespace";
    case FallbackCode::kDifferentUser:
      return "different user";
    case FallbackCode::kRendezvous:
      return "rendezvous failed";
    case FallbackCode::kResources:
      return "out of resources";
    case FallbackCode::kProxy:
      return "behind a proxy";
    case FallbackCode::kNegativeCache:
      return "peer lately did not speak Skein";
    case FallbackCode::kTimeout:
      return "no answer in time";
    case FallbackCode::kPollingEngine:
      return "unknown polling engine";
    case FallbackCode::kProtocol:
      return "malformed negotiation";
    case FallbackCode::kRemotePeer:
      return "peer's address is not of this host";
    case FallbackCode::kNoRdma:
      return "no RDMA here";
    case FallbackCode::kNoRoute:
      return "no RDMA route to the peer";
    case FallbackCode::kSettling:
      return "RDMA to the peer lately failed";
    case FallbackCode::kFabricOff:
      return "switched off";
    case FallbackCode::kNotPermitted:
      return "not permitted";
    case FallbackCode::kNoOffer:
      return "peer made no offer";
  }
  return "";
}

}  // namespace

std::string FallbackCodeName(FallbackCode code) {
  absl::string_view name = KnownName(code);
  if (name.empty()) return absl::StrCat("unknown reason ", static_cast<int>(code));
  return std::string(name);
}

std::string ToString(const Fallback& fallback) {
  std::string text = FallbackCodeName(fallback.code);
  if (!fallback.detail.empty()) absl::StrAppend(&text, " (", fallback.detail, ")");
  return text;
}

Fallback Join(absl::Span<const Fallback> reasons) {
  Fallback last;
  std::vector<std::string> words;
  for (const Fallback& reason : reasons) {
    if (reason.code == FallbackCode::kNone) continue;
    if (last.code != FallbackCode::kNone) words.push_back(ToString(last));
    last = reason;
  }
  if (!last.detail.empty()) words.push_back(last.detail);
  last.detail = absl::StrJoin(words, "; ");
  return last;
}

absl::Status FallbackError(FallbackCode code, absl::string_view detail) {
  absl::Status status = absl::FailedPreconditionError(detail);
  status.SetPayload(kPayload, absl::Cord(absl::StrCat(static_cast<int>(code))));
  return status;
}

absl::Status FallbackError(const Fallback& why) { return FallbackError(why.code, why.detail); }

Fallback FallbackOf(const absl::Status& status) {
  const bool refused = absl::IsPermissionDenied(status) || absl::IsUnimplemented(status);
  Fallback fallback{refused ? FallbackCode::kNotPermitted : FallbackCode::kResources, std::string(status.message())};
  if (absl::optional<absl::Cord> payload = status.GetPayload(kPayload)) {
    int code = 0;
    if (absl::SimpleAtoi(std::string(*payload), &code)) fallback.code = static_cast<FallbackCode>(code);
  }
  return fallback;
}

}  // namespace skein
