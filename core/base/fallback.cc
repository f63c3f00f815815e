#include "core/base/fallback.h"

#include <iterator>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"

namespace skein {
namespace {

constexpr absl::string_view kPayload = "skein/fallback";

// In the order of their codes: each one's place is its code.
constexpr FallbackReason kReasons[] = {
    {FallbackCode::kNone, "none", "", ""},
    {FallbackCode::kModeOff, "mode is off", "This end has not asked for Skein.",
     "Set `skein.mode` to prefer, or start the program by `skein run`."},
    {FallbackCode::kPeerNotSkein, "peer does not speak Skein", "The server answered as one without Skein.",
     "Start the server by `skein run`, or set its `skein.mode`. Exempt the port from a sidecar's proxy."},
    {FallbackCode::kPeerModeOff, "peer's mode is off", "The server has Skein, and has not asked for it.",
     "Set `skein.mode` at the server."},
    {FallbackCode::kVersion, "no common protocol version", "One end's Skein is much older than the other's.",
     "Update the older end."},
    {FallbackCode::kDifferentHost, "different host", "An older peer's word for another host.", "Update the peer."},
    {FallbackCode::kDifferentNetworkNamespace, "different network namespace or host",
     "The two processes cannot meet at a UNIX socket of one network namespace.",
     "Give both containers one network namespace, or mount one directory in both and name it in `skein.rendezvous`."},
    {FallbackCode::kDifferentPidNamespace, "different pid namespace", "An older peer's word for another container.",
     "Update the peer."},
    {FallbackCode::kDifferentUser, "different user", "The processes belong to different users.",
     "Run both as one user, or name the other end's user in `skein.peer_users` at both ends."},
    {FallbackCode::kRendezvous, "rendezvous failed",
     "The processes could not meet at their UNIX socket. The reason says how it failed.",
     "Look at the owner and the mode of the directory that `skein.rendezvous` names, and whether a sandbox forbids "
     "UNIX sockets."},
    {FallbackCode::kResources, "out of resources", "Memory, descriptors or another limit ran out. The reason names it.",
     "Raise that limit: `ulimit -n`, `ulimit -l`, `ulimit -f`, the container's memory, `skein.rdma_memory`."},
    {FallbackCode::kProxy, "behind a proxy",
     "A proxy passes the connection on. It would take a connection without bytes for idle.",
     "Connect without the proxy (`no_proxy`, or a port that the sidecar leaves alone)."},
    {FallbackCode::kNegativeCache, "peer lately did not speak Skein",
     "The client has asked this server before, and found no Skein.",
     "Start the server with Skein; the client asks again after `skein.negative_cache`."},
    {FallbackCode::kTimeout, "no answer in time",
     "The peer, or a rehearsal within this process, gave no answer in time.",
     "See whether the peer is stopped or overloaded. Raise `skein.negotiation_timeout`."},
    {FallbackCode::kPollingEngine, "unknown polling engine", "gRPC polls by another engine than epoll1.",
     "Do not set `GRPC_POLL_STRATEGY`."},
    {FallbackCode::kProtocol, "malformed negotiation", "The peer's part of the negotiation breaks the format.",
     "Look at both ends' logs: something between them changes bytes, or the peer is not Skein."},
    {FallbackCode::kRemotePeer, "peer's address is not of this host",
     "The connection leads to another host, or looks so behind NAT.",
     "Nothing, if the peer is on another host. Else connect to an address of this host."},
    {FallbackCode::kNoRdma, "no RDMA here",
     "This end has no RDMA device, port or address for the peer. The reason says which.",
     "See `skein doctor`; name a device in `skein.rdma_device`."},
    {FallbackCode::kNoRoute, "no RDMA route to the peer", "Both ends have RDMA, and no way to each other.",
     "Both need GIDs of one kind in one network: `skein doctor HOST:PORT`, `skein.rdma_gid_index`."},
    {FallbackCode::kSettling, "RDMA to the peer lately failed", "RDMA to this peer failed while TCP was well.",
     "Look in the log for the failure. Skein tries again after `skein.rdma_retry_delay`."},
    {FallbackCode::kFabricOff, "switched off", "An option forbids this path. The reason names it.",
     "Set that option to auto."},
    {FallbackCode::kNotPermitted, "not permitted",
     "The kernel, or a sandbox's filter, refused a system call. The reason names it.",
     "Allow the call in the filter: [containers.md](containers.md)."},
    {FallbackCode::kNoOffer, "peer made no offer", "The client has no Skein, or nothing to offer.",
     "See the client's own reason: `skein paths` at its host."},
};

constexpr bool InOrder() {
  for (size_t i = 0; i < std::size(kReasons); ++i) {
    if (static_cast<size_t>(kReasons[i].code) != i) return false;
  }
  return true;
}
static_assert(InOrder());

}  // namespace

absl::Span<const FallbackReason> FallbackReasons() { return kReasons; }

std::string FallbackCodeName(FallbackCode code) {
  const auto number = static_cast<size_t>(code);
  if (number >= std::size(kReasons)) return absl::StrCat("unknown reason ", number);
  return std::string(kReasons[number].name);
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

std::string ReasonsMarkdown() {
  std::string page =
      "# Reasons\n\n"
      "Why a connection is not on a better path, and the mend. `skein paths`, the logs and\n"
      "[metrics](metrics.md) give the reason by its name; the code is what peers tell each other. Symptoms\n"
      "without a reason are in [troubleshooting.md](troubleshooting.md). Written from the table in\n"
      "core/base/fallback.cc: change that, then run `skein_write_pages docs` (in the build's core/base).\n\n"
      "| reason | code | meaning | mend |\n"
      "|---|---|---|---|\n";
  for (const FallbackReason& reason : absl::MakeConstSpan(kReasons).subspan(1)) {
    absl::StrAppend(&page, "| ", reason.name, " | ", static_cast<int>(reason.code), " | ", reason.meaning, " | ",
                    reason.mend, " |\n");
  }
  return page;
}

}  // namespace skein
