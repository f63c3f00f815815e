#include "core/channel/shm/rendezvous.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/closer.h"
#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/base/random_value.h"

namespace skein::channel::shm {
namespace {

absl::string_view View(const Token& token) { return {token.data(), token.size()}; }

absl::Status Unusable(absl::string_view whose, const absl::Status& why) {
  return FallbackError(FallbackCode::kRendezvous, absl::StrCat("the ", whose, "'s skein.rendezvous: ", why.message()));
}

absl::StatusOr<UniqueFd> Reach(const std::string& name, const MeetingDirectory& directory) {
  absl::StatusOr<UniqueFd> socket = ConnectAbstract(name);
  if (absl::IsNotFound(socket.status()) && directory.named()) {
    socket = directory.Connect(name);
    if (!socket.ok() && !absl::IsNotFound(socket.status())) return Unusable("server", socket.status());
  }
  if (socket.ok()) return socket;
  if (!absl::IsNotFound(socket.status())) return FallbackError(FallbackCode::kRendezvous, socket.status().message());
  return FallbackError(FallbackCode::kDifferentNetworkNamespace,
                       absl::StrCat("the client's socket is not in the server's",
                                    directory.named() ? ", nor in the directory of the server's skein.rendezvous"
                                                      : "; skein.rendezvous at both ends may name a common directory"));
}

}  // namespace

Meeting::~Meeting() {
  Closer::Get().Close(std::move(memory));
  if (socket.valid()) Closer::Get().CloseSocket(std::move(socket));
}

Rendezvous::Door::~Door() { Closer::Get().CloseSocket(std::move(listening)); }

absl::StatusOr<std::shared_ptr<Rendezvous::Door>> Rendezvous::Open() const {
  auto door = std::make_shared<Door>();
  door->meeting_point = RandomValue<MeetingPoint>();
  door->user = geteuid();
  absl::StatusOr<UniqueFd> listening = ListenAbstract(SocketName(door->meeting_point));
  if (!listening.ok()) return listening.status();
  door->listening = *std::move(listening);
  if (directory_.named()) directory_.RemoveStale();
  return door;
}

absl::StatusOr<Offer> Rendezvous::Announce() {
  MutexLock lock(&mu_);
  if (door_ == nullptr || door_->user != geteuid()) {
    absl::StatusOr<std::shared_ptr<Door>> door = Open();
    if (!door.ok()) return door.status();
    door_ = *std::move(door);
  }
  if (directory_.named() && door_->file == nullptr) {
    absl::StatusOr<std::unique_ptr<MeetingFile>> file = directory_.Listen(SocketName(door_->meeting_point));
    if (!file.ok()) return Unusable("client", file.status());
    door_->file = *std::move(file);
  }
  // Whoever has filled the queue keeps nobody out for good: what cannot come there is never collected.
  AcceptAll(*door_);
  const Offer offer = {door_->meeting_point, RandomValue<Token>()};
  expected_.emplace(View(offer.token), door_);
  ++door_->offers;
  return offer;
}

void Rendezvous::Withdraw(const Token& token) {
  MutexLock lock(&mu_);
  Forget(token);
  parked_.remove_if([&](const Parked& parked) { return SameToken(parked.token, View(token)); });
}

void Rendezvous::Forget(const Token& token) {
  const auto expected = expected_.find(View(token));
  if (expected == expected_.end()) return;
  if (Door& door = *expected->second; --door.offers == 0) door.file = nullptr;
  expected_.erase(expected);
}

void Rendezvous::ParkOrClose(UniqueFd socket) {
  UniqueFd passed;
  if (Park(socket, passed)) return;
  Closer::Get().Close(std::move(passed));
  Closer::Get().CloseSocket(std::move(socket));
}

bool Rendezvous::Park(UniqueFd& socket, UniqueFd& passed) {
  absl::StatusOr<PeerCredentials> peer = CredentialsOf(socket.get());
  if (!peer.ok()) {
    refused_ = peer.status();
    return false;
  }
  if (absl::Status allowed = users_.Check(peer->uid); !allowed.ok()) {
    refused_ = std::move(allowed);
    return false;
  }
  SocketMessage hello;
  const ReceiveResult received = ReceiveMessage(socket.get(), hello);
  if (received == ReceiveResult::kEmpty) {
    // Connected, and about to say who it is: for one that is collected later.
    silent_.push_back(std::move(socket));
    if (silent_.size() <= kMaxSilent) return true;
    socket = std::move(silent_.front());
    silent_.pop_front();
    return false;
  }
  if (received == ReceiveResult::kRefused) refused_ = ErrnoStatus(errno, "receive from the peer's UNIX socket");
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

void Rendezvous::AcceptAll(const Door& door) {
  AcceptAll(door.listening.get());
  if (door.file != nullptr) AcceptAll(door.file->listening());
}

void Rendezvous::AcceptAll(int listening) {
  std::deque<UniqueFd> silent;
  silent.swap(silent_);
  for (UniqueFd& socket : silent) ParkOrClose(std::move(socket));
  for (int i = 0; i < kMaxAcceptsAtOnce && Closer::Get().HasSpace(); ++i) {
    UniqueFd socket = AcceptQueued(listening);
    if (!socket.valid()) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) refused_ = ErrnoStatus(errno, "accept at a UNIX socket");
      return;
    }
    ParkOrClose(std::move(socket));
  }
}

absl::StatusOr<Meeting> Rendezvous::Collect(const Token& token) {
  MutexLock lock(&mu_);
  if (const auto expected = expected_.find(View(token)); expected != expected_.end()) {
    AcceptAll(*expected->second);
  }
  Forget(token);
  const auto found = std::find_if(parked_.begin(), parked_.end(),
                                  [&](const Parked& parked) { return SameToken(parked.token, View(token)); });
  if (found == parked_.end()) {
    absl::Status refused = std::exchange(refused_, absl::OkStatus());
    if (!refused.ok()) return refused;  // most likely the peer
    return FallbackError(FallbackCode::kRendezvous, "the peer's connection is not there");
  }
  // A refused connection may have been the peer of another offer that is out. With none, it was nobody's.
  if (expected_.empty()) refused_ = absl::OkStatus();
  Meeting meeting = std::move(found->meeting);
  parked_.erase(found);
  return meeting;
}

absl::StatusOr<Meeting> Meet(const Offer& offer, const PeerUsers& users, const MeetingDirectory& directory,
                             UniqueFd memory) {
  absl::StatusOr<UniqueFd> socket = Reach(SocketName(offer.meeting_point), directory);
  if (!socket.ok()) return socket.status();
  const absl::StatusOr<PeerCredentials> peer = CredentialsOf(socket->get());
  Meeting meeting(*std::move(socket), {}, peer.value_or(PeerCredentials()));
  if (!peer.ok()) return FallbackError(FallbackCode::kRendezvous, peer.status().message());
  if (absl::Status allowed = users.Check(peer->uid); !allowed.ok()) return allowed;
  const SendResult sent = SendMessage(meeting.socket.get(), View(offer.token), memory.get());
  if (sent == SendResult::kRefused || sent == SendResult::kNoMemory)
    return ErrnoStatus(errno, "send to the peer's UNIX socket");
  if (sent != SendResult::kSent) {
    return FallbackError(FallbackCode::kRendezvous, "the peer's socket takes no message");
  }
  return meeting;
}

}  // namespace skein::channel::shm
