#include "core/fabric/shm/rendezvous.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/closer.h"
#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/base/random_value.h"

namespace skein::fabric::shm {
namespace {

absl::string_view View(const Token& token) { return {token.data(), token.size()}; }

std::string SocketName(const Offer& offer) {
  return absl::StrCat("skein-", absl::string_view(offer.meeting_point.data(), offer.meeting_point.size()));
}

}  // namespace

Meeting::~Meeting() {
  Closer::Get().Close(std::move(control));
  if (socket.valid()) Closer::Get().CloseSocket(std::move(socket));
}

absl::Status Rendezvous::Open() {
  if (listening_.valid()) return absl::OkStatus();
  absl::StatusOr<Place> place = PlaceOfThisProcess();
  if (!place.ok()) return place.status();
  Offer offer;
  offer.place = *place;
  const std::string name = absl::BytesToHexString(View(RandomValue<Token>()));
  std::copy(name.begin(), name.end(), offer.meeting_point.begin());
  absl::StatusOr<UniqueFd> listening = ListenAbstract(SocketName(offer));
  if (!listening.ok()) return listening.status();
  offer_ = offer;
  listening_ = *std::move(listening);
  return absl::OkStatus();
}

absl::StatusOr<Offer> Rendezvous::Announce() {
  MutexLock lock(&mu_);
  if (absl::Status status = Open(); !status.ok()) return status;
  // Whoever has filled the queue keeps nobody out for good: what cannot come there is never collected.
  AcceptAll();
  Offer offer = offer_;
  offer.token = RandomValue<Token>();
  expected_.insert(std::string(View(offer.token)));
  return offer;
}

void Rendezvous::Withdraw(const Token& token) {
  MutexLock lock(&mu_);
  expected_.erase(View(token));
  parked_.remove_if([&](const Parked& parked) { return SameToken(parked.token, View(token)); });
}

void Rendezvous::ParkOrClose(UniqueFd socket) {
  UniqueFd passed;
  if (Park(socket, passed)) return;
  Closer::Get().Close(std::move(passed));
  Closer::Get().CloseSocket(std::move(socket));
}

bool Rendezvous::Park(UniqueFd& socket, UniqueFd& passed) {
  absl::StatusOr<PeerCredentials> peer = CredentialsOf(socket.get());
  if (!peer.ok() || peer->uid != geteuid()) return false;
  Message hello;
  const ReceiveResult received = ReceiveMessage(socket.get(), hello);
  if (received == ReceiveResult::kEmpty) {
    // Connected, and about to say who it is: for one that is collected later.
    silent_.push_back(std::move(socket));
    if (silent_.size() <= kMaxSilent) return true;
    socket = std::move(silent_.front());
    silent_.pop_front();
    return false;
  }
  passed = std::move(hello.fd);
  if (received != ReceiveResult::kMessage || hello.truncated || !passed.valid()) return false;
  // The set is keyed by tokens that only their owners know; SameToken guards the final choice.
  if (!expected_.contains(hello.view())) return false;
  // One for each offer, the first: so there are no more of them than offers.
  const auto is_parked = [&](const Parked& other) { return other.token == hello.view(); };
  if (std::any_of(parked_.begin(), parked_.end(), is_parked)) return false;
  parked_.push_back({{std::move(socket), std::move(passed), *peer}, std::string(hello.view())});
  return true;
}

void Rendezvous::AcceptAll() {
  std::deque<UniqueFd> silent;
  silent.swap(silent_);
  for (UniqueFd& socket : silent) ParkOrClose(std::move(socket));
  for (int i = 0; i < kMaxAcceptsAtOnce && Closer::Get().HasRoom(); ++i) {
    UniqueFd socket = AcceptQueued(listening_.get());
    if (!socket.valid()) return;
    ParkOrClose(std::move(socket));
  }
}

absl::StatusOr<Meeting> Rendezvous::Collect(const Token& token) {
  MutexLock lock(&mu_);
  if (listening_.valid()) AcceptAll();
  expected_.erase(View(token));
  const auto found = std::find_if(parked_.begin(), parked_.end(),
                                  [&](const Parked& parked) { return SameToken(parked.token, View(token)); });
  if (found == parked_.end()) {
    return FallbackError(FallbackCode::kRendezvous, "the peer's connection is not there");
  }
  Meeting meeting = std::move(found->meeting);
  parked_.erase(found);
  return meeting;
}

absl::StatusOr<Meeting> Meet(const Offer& offer, UniqueFd control) {
  absl::StatusOr<UniqueFd> socket = ConnectAbstract(SocketName(offer));
  if (!socket.ok()) return FallbackError(FallbackCode::kRendezvous, socket.status().message());
  absl::StatusOr<PeerCredentials> peer = CredentialsOf(socket->get());
  if (!peer.ok()) return FallbackError(FallbackCode::kRendezvous, peer.status().message());
  if (peer->uid != geteuid()) {
    Closer::Get().CloseSocket(*std::move(socket));
    return FallbackError(FallbackCode::kDifferentUser, absl::StrCat("the meeting point is of user ", peer->uid));
  }
  const SendResult sent = SendMessage(socket->get(), View(offer.token), control.get());
  if (sent == SendResult::kRefused) return ErrnoStatus(errno, "send to the peer's UNIX socket");
  if (sent != SendResult::kSent) {
    return FallbackError(FallbackCode::kRendezvous, "the peer's socket takes no message");
  }
  return Meeting{*std::move(socket), {}, *peer};
}

}  // namespace skein::fabric::shm
