#include <skein/rpc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/tcp_address.h"
#include "core/connect/negotiation.h"
#include "core/connect/route.h"
#include "core/connect/tcp.h"
#include "core/link/link.h"
#include "core/rpc/options.h"
#include "core/rpc/regions.h"
#include "core/rpc/server_port.h"
#include "core/rpc/server_service.h"
#include "core/wait/poll_loop.h"

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
    absl::StatusOr<std::unique_ptr<wait::PollLoop>> loop = wait::PollLoop::Create(SpinPolicyOf(options_));
    if (!loop.ok()) return loop.status();
    absl::StatusOr<UniqueFd> listener = connect::ListenTcp(address);
    if (!listener.ok()) return listener.status();
    if (absl::Status status = (*loop)->WatchFd(listener->get()); !status.ok()) return status;
    loop_ = *std::move(loop);
    listener_ = *std::move(listener);
    return AddressOf(listener_.get());
  }

  absl::Status Serve() {
    if (!listener_.valid()) return absl::FailedPreconditionError("Listen comes before Serve");
    const auto readable = [this](int fd) { OnReadable(fd); };
    while (!stopped()) {
      const absl::Duration budget = loop_->BeginSpin();
      if (budget > absl::ZeroDuration()) Tell(channel::Presence::kAwake);
      if (!loop_->Spin(budget, next_, readable)) {
        Tell(channel::Presence::kMaySleep);
        loop_->Sleep(next_, readable);
      }
      if (loop_->TakeFinished()) LetGo();
      if (next_ != Deadline::max()) DoWhatIsDue(Clock::now());
    }
    End();
    return absl::OkStatus();
  }

  void Stop() {
    stopped_.store(true, std::memory_order_release);
    if (loop_ != nullptr) loop_->Wake();
  }

  // By the negotiation, which runs in Serve.
  void Watch(std::shared_ptr<wait::Source> source) override {
    if (auto link = std::dynamic_pointer_cast<link::Link>(source); link != nullptr) {
      link->Tell(presence_);
      links_.push_back(std::move(link));
    }
    loop_->Watch(std::move(source));
  }

  void End() {
    for (auto& [fd, peer] : peers_) {
      if (peer.port != nullptr) peer.port->Close("the server ends");
    }
    // Only what has been sent is waited for by nobody: a peer that lives sees the TCP connections' end. A Reply in a
    // handler's hands keeps a link, but no client goes on in memory that goes with the server.
    if (loop_ != nullptr) loop_->CloseAll();
    peers_.clear();
    links_.clear();
  }

 private:
  // A client's TCP connection: a negotiation at first, then the sign that its process lives.
  struct Peer {
    explicit Peer(UniqueFd socket) : tcp(std::move(socket)) {}
    UniqueFd tcp;
    connect::FrameReader reader{kFrameLetters, connect::kMaxOfferBytes};
    Deadline deadline = Deadline::max();
    std::shared_ptr<ServerPort> port;
  };

  static void Answer(const absl::StatusOr<std::string>& answer, Reply& reply) {
    answer.ok() ? reply.Send(*answer) : reply.Fail(answer.status());
  }

  bool stopped() const { return stopped_.load(std::memory_order_acquire); }

  void Tell(channel::Presence presence) {
    if (presence_ == presence || presence_ == channel::Presence::kSleepless) return;
    presence_ = presence;
    for (const auto& link : links_) link->Tell(presence);
  }

  // Of clients whose link is lost: where the fabric does not tell them, the end of their connection does.
  void LetGo() {
    std::erase_if(links_, [](const auto& link) { return link->finished(); });
    absl::erase_if(peers_, [](const auto& entry) {
      const auto& port = entry.second.port;
      return port != nullptr && port->link().finished();
    });
  }

  void OnReadable(int fd) {
    if (fd == listener_.get()) return Accept();
    const auto found = peers_.find(fd);
    if (found != peers_.end() && !Hear(found->second)) peers_.erase(found);
  }

  void DoWhatIsDue(Deadline now) {
    if (now < next_) return;
    if (accepts_again_ <= now)
      accepts_again_ = loop_->WatchFd(listener_.get()).ok() ? Deadline::max() : now + kAcceptRetryDelay;
    next_ = accepts_again_;
    absl::erase_if(peers_, [this, now](const auto& entry) {
      if (entry.second.deadline <= now) return true;
      next_ = std::min(next_, entry.second.deadline);
      return false;
    });
  }

  void Accept() {
    absl::StatusOr<std::optional<UniqueFd>> accepted = connect::AcceptTcp(listener_.get());
    if (accepted.ok() && !accepted->has_value()) return;
    const int fd = accepted.ok() ? (*accepted)->get() : -1;
    if (!accepted.ok() || !loop_->WatchFd(fd).ok()) {
      // The process is out of descriptors or memory. Waiting clients would wake this thread for ever.
      loop_->ForgetFd(listener_.get());
      accepts_again_ = Clock::now() + kAcceptRetryDelay;
      next_ = std::min(next_, accepts_again_);
      return;
    }
    Peer& peer = peers_.try_emplace(fd, **std::move(accepted)).first->second;
    peer.deadline = After(options_.negotiation_timeout);
    next_ = std::min(next_, peer.deadline);
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
    const bool sent = connect::SendFrame(peer.tcp.get(), kFrameLetters, result.answer).ok();
    if (peer.port != nullptr && !sent) peer.port->Close("the connection has ended");
    return sent && peer.port != nullptr;
  }

  const Options options_;
  const std::shared_ptr<ServerService> service_;
  std::unique_ptr<wait::PollLoop> loop_;  // by Listen
  UniqueFd listener_;
  std::atomic<bool> stopped_ = false;  // release by Stop, acquire by Serve
  // Serve's.
  channel::Presence presence_;  // to its links
  std::vector<std::shared_ptr<link::Link>> links_;
  Deadline accepts_again_ = Deadline::max();  // max(): it accepts
  absl::flat_hash_map<int, Peer> peers_;
  Deadline next_ = Deadline::max();  // when a peer, or whether it accepts, may be due
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
