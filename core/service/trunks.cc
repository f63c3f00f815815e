#include "core/service/trunks.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/base/tcp_address.h"
#include "core/service/service.h"
#include "core/service/session.h"

namespace skein::service {
namespace {

// Connections with other hosts, in both directions: each takes a queue pair.
constexpr size_t kMostTrunks = 4096;
// Of them, those from other hosts that have not greeted: a skeind greets at once, so more are of nobody's.
constexpr ptrdiff_t kMostUngreeted = 256;

absl::StatusOr<UniqueFd> ConnectByTcp(const addrinfo& address) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return ErrnoStatus(errno, "create a TCP socket");
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0 && errno != EINPROGRESS) {
    return ErrnoStatus(errno, "connect to the other host's skeind");
  }
  return fd;
}

// A skeind whose host is silent is given up after that.
void WatchForDeath(int socket) {
  const int on = 1;
  const int idle = 5;
  const int interval = 2;
  const int count = 3;
  const unsigned patience_ms = 10'000;
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof(patience_ms));
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

}  // namespace

void Trunks::Add(UniqueFd socket) {
  if (trunks_.size() >= kMostTrunks) return;
  WatchForDeath(socket.get());
  trunks_.push_back(std::make_shared<Trunk>(owner_, std::move(socket), nullptr, options_.patience, options_.secret));
  CrowdOutUngreeted();
}

// The oldest goes: one that will greet does so before hundreds have come behind it.
void Trunks::CrowdOutUngreeted() {
  const auto greets_late = [](const auto& trunk) { return trunk->awaits_greeting(); };
  if (std::count_if(trunks_.begin(), trunks_.end(), greets_late) <= kMostUngreeted) return;
  (*std::find_if(trunks_.begin(), trunks_.end(), greets_late))->Fail("too many others came before it greeted");
}

absl::StatusOr<std::shared_ptr<Trunk>> Trunks::To(absl::string_view host, uint16_t port, Session& session) {
  if (port != listeners_.trunk_port && !options_.any_trunk_port) {
    return FallbackError(FallbackCode::kProtocol,
                         absl::StrCat("the other host's skeind has port ", port, ", and this one ",
                                      listeners_.trunk_port, ": start both with one"));
  }
  const std::shared_ptr<fabric::Device>& device = session.device();
  const std::string peer = absl::StrCat(device->name(), " ", host, " ", port);
  if (const auto known = by_peer_.find(peer); known != by_peer_.end()) {
    std::shared_ptr<Trunk> trunk = known->second.lock();
    if (trunk != nullptr) trunk->OnSocket();  // it may have ended
    if (trunk != nullptr && !trunk->ended() && trunk->device() == device) return trunk;
  }
  if (trunks_.size() >= kMostTrunks) {
    return absl::ResourceExhaustedError(absl::StrCat("skeind has connections with ", kMostTrunks, " hosts"));
  }
  absl::StatusOr<UserBudget::Share> share = session.TakeHost();
  if (!share.ok()) return share.status();
  absl::StatusOr<UniqueFd> socket =
      OpenFirst(std::string(host), absl::StrCat(port), AI_NUMERICHOST | AI_NUMERICSERV, ConnectByTcp);
  if (!socket.ok()) return absl::UnavailableError(socket.status().message());
  WatchForDeath(socket->get());
  auto trunk = std::make_shared<Trunk>(owner_, *std::move(socket), device, options_.patience, options_.secret);
  trunk->Begin(host, *std::move(share));
  trunks_.push_back(trunk);
  by_peer_[peer] = trunk;
  return trunk;
}

bool Trunks::Arm() {
  bool all = true;
  for (size_t i = 0; i < trunks_.size(); ++i) all &= trunks_[i]->line().Arm();
  return all;
}

absl::Time Trunks::Tend() {
  const absl::Time now = SteadyNow();
  absl::Time next = absl::InfiniteFuture();
  for (size_t i = 0; i < trunks_.size(); ++i) next = std::min(next, trunks_[i]->Tend(now));
  return next;
}

void Trunks::Revoke(const Region& region) {
  for (size_t i = 0; i < trunks_.size(); ++i) trunks_[i]->Revoke(region);
}

void Trunks::DropEnded() {
  if (std::erase_if(trunks_, [](const auto& trunk) { return trunk->ended(); }) == 0) return;
  absl::erase_if(by_peer_, [](const auto& known) { return known.second.expired(); });
}

}  // namespace skein::service
