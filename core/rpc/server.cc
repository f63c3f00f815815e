#include <skein/rpc.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/tcp_address.h"
#include "core/connect/negotiation.h"
#include "core/connect/route.h"
#include "core/link/link.h"
#include "core/rpc/options.h"
#include "core/rpc/regions.h"
#include "core/rpc/server_port.h"
#include "core/rpc/server_service.h"
#include "core/rpc/tcp.h"
#include "core/wait/spin.h"

namespace skein::rpc {
namespace {

// A server without descriptors tries to accept again after so long: nothing tells it when descriptors are free again.
constexpr std::chrono::milliseconds kAcceptRetryDelay{100};

}  // namespace

class Server::Impl final : public wait::Watcher {
 public:
  Impl(const Options& options, const OnFabrics& on)
      : options_(options),
        service_(std::make_shared<ServerService>(options)),
        budget_(SpinPolicyOf(options)),
        presence_(options.wait_mode == WaitMode::kPoll ? channel::Presence::kSleepless : channel::Presence::kMaySleep),
        fabrics_(FabricsOf(options, on)),
        negotiator_(connect::CreateListener(fabrics_, ConnectOptionsOf(options), this, service_)) {
    service_->handlers()[kAttachHandler] = [this](absl::string_view request, Reply reply) {
      Answer(regions_.Attach(request, ServerPort::Of(reply).link()), reply);
    };
    service_->handlers()[kAtomicHandler] = [this](absl::string_view request, Reply reply) {
      Answer(regions_.Execute(request), reply);
    };
  }

  absl::Status Handle(uint32_t number, const Handler& handler) {
    if (listener_.valid()) return absl::FailedPreconditionError("handlers come before Listen");
    if (number >= kFirstOwnHandler) return absl::InvalidArgumentError("handlers from there on are Skein's own");
    if (service_->handlers().try_emplace(number, handler).second) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat("a handler ", number));
  }

  absl::StatusOr<absl::Span<std::byte>> Attach(uint32_t number, size_t bytes, uint32_t access) {
    // Of a peer of which nothing is known, the first fabric is the one for this host: the others register its memory.
    std::shared_ptr<channel::Transport> transport;
    for (const connect::Candidate& candidate : fabrics_->For({})) {
      if (transport == nullptr) transport = candidate.transport;
    }
    return regions_.Add(number, bytes, access, transport.get());
  }

  absl::StatusOr<std::string> Listen(absl::string_view address) {
    if (listener_.valid()) return absl::FailedPreconditionError("it listens already");
    UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
    UniqueFd stop(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll.valid() || !stop.valid()) return ErrnoStatus(errno, "make the descriptors a server waits with");
    absl::StatusOr<UniqueFd> listener = ListenTcp(address);
    if (!listener.ok()) return listener.status();
    epoll_ = std::move(epoll);
    stop_ = std::move(stop);
    listener_ = *std::move(listener);
    if (absl::Status status = WatchFd(stop_.get()); !status.ok()) return status;
    if (absl::Status status = WatchFd(listener_.get()); !status.ok()) return status;
    return AddressOf(listener_.get());
  }

  absl::Status Serve() {
    if (!listener_.valid()) return absl::FailedPreconditionError("Listen comes before Serve");
    while (!stopped()) {
      absl::Duration budget = wait::BeginSpin(budget_);
      if (SimulatedTime()) budget = absl::InfiniteDuration();
      if (budget > absl::ZeroDuration()) Tell(channel::Presence::kAwake);
      const bool came = SpinUntilWork(budget);
      // Asked again: the spin may have accepted a link that nobody can sleep for.
      if (!came && !stopped() && !SimulatedTime()) Sleep();
    }
    End();
    return absl::OkStatus();
  }

  void Stop() {
    stopped_.store(true, std::memory_order_release);
    if (stop_.valid()) eventfd_write(stop_.get(), 1);
  }

  // By the negotiation, which runs in Serve.
  void Watch(std::shared_ptr<wait::Source> source) override {
    if (!WatchFd(source->fd()).ok()) unwatched_.push_back(source);
    std::shared_ptr<link::Link> link = std::dynamic_pointer_cast<link::Link>(source);
    if (link == nullptr) return others_.push_back(std::move(source));
    link->Tell(presence_);
    links_.push_back(std::move(link));
  }

  void End() {
    for (auto& [fd, peer] : peers_) {
      if (peer.port != nullptr) peer.port->Close("the server ends");
    }
    // Only what has been sent is waited for by nobody: a peer that lives sees the TCP connections' end.
    for (const auto& link : links_) {
      link->Poll();
      link->Close();  // a Reply in a handler's hands keeps it: no client goes on in memory that goes with the server
    }
    peers_.clear();
    links_.clear();
    others_.clear();
  }

 private:
  // A client's TCP connection: a negotiation at first, then the sign that its process lives.
  struct Peer {
    explicit Peer(UniqueFd socket) : tcp(std::move(socket)) {}
    UniqueFd tcp;
    FrameReader reader{connect::kMaxOfferBytes};
    Deadline deadline = Deadline::max();
    std::shared_ptr<ServerPort> port;
  };

  static void Answer(const absl::StatusOr<std::string>& answer, Reply& reply) {
    answer.ok() ? reply.Send(*answer) : reply.Fail(answer.status());
  }

  bool stopped() const { return stopped_.load(std::memory_order_acquire); }

  absl::Status WatchFd(int fd) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (fd < 0 || epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return absl::OkStatus();
    return ErrnoStatus(errno, "watch a descriptor");
  }
  void Unwatch(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  void Tell(channel::Presence presence) {
    if (presence_ == presence || presence_ == channel::Presence::kSleepless) return;
    presence_ = presence;
    for (const auto& link : links_) link->Tell(presence);
  }

  bool SimulatedTime() const {
    return std::any_of(links_.begin(), links_.end(), [](const auto& link) { return link->fd() < 0; });
  }

  bool PollLinks(bool thoroughly) {
    bool any = false;
    for (size_t i = 0; i < links_.size(); ++i) any |= (thoroughly || links_[i]->Glance()) && links_[i]->Poll();
    for (size_t i = 0; thoroughly && i < others_.size(); ++i) any |= others_[i]->Poll();
    // Also of links that somebody else has found lost.
    if ((any || thoroughly) && std::erase_if(links_, [this](const auto& link) { return Ended(*link); }) > 0) LetGo();
    return any;
  }

  // The descriptor of a finished link stays readable, and a Reply in a handler's hands keeps it open: epoll would wake
  // this thread for ever.
  bool Ended(const link::Link& link) {
    if (!link.finished()) return false;
    Unwatch(link.fd());
    return true;
  }

  // Of clients whose link is lost: where the fabric does not tell them, the end of their connection does.
  void LetGo() {
    absl::erase_if(peers_, [](const auto& entry) {
      const auto& port = entry.second.port;
      return port != nullptr && port->link().finished();
    });
  }

  // Polls once at least. False: nothing has come for `budget`.
  bool SpinUntilWork(absl::Duration budget) {
    if (budget == absl::ZeroDuration()) {
      const bool any = PollLinks(/*thoroughly=*/true);
      if (any) LookNowAndThen(Clock::now());
      return any || stopped();
    }
    wait::Spin spin(budget_, budget, wait::Manner::kPolls);
    const auto found = [&](bool thoroughly) { return PollLinks(thoroughly) || stopped(); };
    const wait::Spun spun = spin.Until(found, [&] {
      LookNowAndThen(spin.now());
      return wait::Spun::kGoesOn;
    });
    LookNowAndThen(spin.now());
    return spun == wait::Spun::kFound || stopped();
  }

  // At the descriptors, however many messages come.
  void LookNowAndThen(Deadline now) {
    if (now < next_look_) return;
    LookAtDescriptors(0);
    next_look_ = now + wait::kLook;
  }

  void Sleep() {
    Tell(channel::Presence::kMaySleep);
    for (const auto& link : links_) {
      if (!link->Arm()) return;
    }
    for (const auto& other : others_) {
      if (!other->Arm()) return;
    }
    Deadline first = unwatched_.empty() ? accepts_again_ : std::min(accepts_again_, Clock::now() + wait::kUnwatched);
    for (const auto& [fd, peer] : peers_) first = std::min(first, peer.deadline);
    LookAtDescriptors(TimeoutOf(first));
  }

  // Asks the kernel again to watch what it has refused: nothing tells when it would agree.
  void WatchAgain(Deadline now) {
    std::erase_if(unwatched_, [this](const std::weak_ptr<wait::Source>& each) {
      const std::shared_ptr<wait::Source> source = each.lock();
      return source == nullptr || source->finished() || WatchFd(source->fd()).ok();
    });
    if (accepts_again_ <= now)
      accepts_again_ = WatchFd(listener_.get()).ok() ? Deadline::max() : now + kAcceptRetryDelay;
  }

  void LookAtDescriptors(int timeout_ms) {
    epoll_event events[64];
    const int count = epoll_wait(epoll_.get(), events, std::size(events), timeout_ms);
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener_.get()) {
        Accept();
      } else if (const auto found = peers_.find(fd); found != peers_.end()) {
        if (!Hear(found->second)) peers_.erase(found);
      }
    }
    const Deadline now = Clock::now();
    absl::erase_if(peers_, [now](const auto& entry) { return entry.second.deadline <= now; });
    WatchAgain(now);
  }

  void Accept() {
    absl::StatusOr<std::optional<UniqueFd>> accepted = AcceptTcp(listener_.get());
    if (accepted.ok() && !accepted->has_value()) return;
    const int fd = accepted.ok() ? (*accepted)->get() : -1;
    if (!accepted.ok() || !WatchFd(fd).ok()) {
      // The process is out of descriptors or memory. Waiting clients would wake this thread for ever.
      Unwatch(listener_.get());
      accepts_again_ = Clock::now() + kAcceptRetryDelay;
      return;
    }
    Peer& peer = peers_.try_emplace(fd, **std::move(accepted)).first->second;
    peer.deadline = After(options_.negotiation_timeout);
  }

  // False: it is over.
  bool Hear(Peer& peer) {
    if (peer.port != nullptr) {
      // Whatever it is, the client's process has ended, or has nothing to do with us any more.
      peer.port->Close("the connection has ended");
      return false;
    }
    const absl::StatusOr<std::optional<std::string>> offer = peer.reader.Read(peer.tcp.get());
    if (!offer.ok()) return false;
    if (!offer->has_value()) return true;
    connect::Listener::Result result = negotiator_->Accept(**offer, connect::RouteOf(peer.tcp.get()));
    peer.deadline = Deadline::max();
    peer.port = std::static_pointer_cast<ServerPort>(std::move(result.placement.port));
    const bool sent = SendFrame(peer.tcp.get(), result.answer).ok();
    if (peer.port != nullptr && !sent) peer.port->Close("the connection has ended");
    return sent && peer.port != nullptr;
  }

  const Options options_;
  const std::shared_ptr<ServerService> service_;
  UniqueFd epoll_;
  UniqueFd stop_;
  UniqueFd listener_;
  std::atomic<bool> stopped_ = false;  // release by Stop, acquire by Serve
  // Serve's.
  wait::SpinBudget budget_;
  channel::Presence presence_;  // to its links
  std::vector<std::shared_ptr<link::Link>> links_;
  std::vector<std::shared_ptr<wait::Source>> others_;   // the turns of links
  std::vector<std::weak_ptr<wait::Source>> unwatched_;  // of these, the ones that the kernel refuses to watch
  Deadline accepts_again_ = Deadline::max();            // max(): it accepts
  absl::flat_hash_map<int, Peer> peers_;
  Deadline next_look_ = Deadline::min();
  Regions regions_;
  const std::shared_ptr<connect::Fabrics> fabrics_;
  const std::unique_ptr<connect::Listener> negotiator_;
};

Server::Server(const Options& options) : Server(options, OnFabrics()) {}
Server::Server(const Options& options, const OnFabrics& on) : impl_(std::make_shared<Impl>(options, on)) {}
Server::~Server() { impl_->End(); }

absl::Status Server::Handle(uint32_t number, const Handler& handler) { return impl_->Handle(number, handler); }
absl::StatusOr<absl::Span<std::byte>> Server::Attach(uint32_t number, size_t bytes, uint32_t access) {
  return impl_->Attach(number, bytes, access);
}
absl::StatusOr<std::string> Server::Listen(absl::string_view address) { return impl_->Listen(address); }
absl::Status Server::Serve() { return impl_->Serve(); }
void Server::Stop() { impl_->Stop(); }

}  // namespace skein::rpc
