#include "core/durable/replicas/replica_server.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "core/base/forked.h"
#include "core/base/tcp_address.h"
#include "core/connect/route.h"
#include "core/durable/storage/log_file.h"
#include "core/replicate/stream_path.h"
#include "core/replicate/tcp_path.h"

namespace skein::durable {
namespace {

// A process without descriptors tries to accept again after so long: nothing tells it when descriptors are free again.
constexpr std::chrono::milliseconds kAcceptRetryDelay{100};
constexpr std::chrono::seconds kIdle{1};  // slow peers are dropped that late

}  // namespace

absl::StatusOr<std::unique_ptr<ReplicaServer>> ReplicaServer::Open(const std::string& path,
                                                                   const std::string& address) {
  BeginUse();
  // Its log is made later, when nobody looks at what this process says.
  if (absl::Status folder = CheckFolder(path); !folder.ok()) return folder;
  const absl::StatusOr<Options> fabrics = FabricOptions();
  if (!fabrics.ok()) return fabrics.status();
  absl::StatusOr<std::unique_ptr<ReplicaLog>> log = ReplicaLog::Open(std::make_unique<FilePlace>(path));
  if (!log.ok()) return log.status();
  absl::StatusOr<std::unique_ptr<wait::PollLoop>> loop = wait::PollLoop::Create(wait::SpinPolicy());
  if (!loop.ok()) return loop.status();
  absl::StatusOr<UniqueFd> listener = connect::ListenTcp(address);
  if (!listener.ok()) return listener.status();
  if (absl::Status watched = (*loop)->WatchFd(listener->get()); !watched.ok()) return watched;
  absl::StatusOr<std::string> numeric = AddressOf(listener->get());
  if (!numeric.ok()) return numeric.status();
  return absl::WrapUnique(
      new ReplicaServer(*std::move(loop), *std::move(log), *std::move(listener), *std::move(numeric), *fabrics));
}

ReplicaServer::ReplicaServer(std::unique_ptr<wait::PollLoop> loop, std::unique_ptr<ReplicaLog> log, UniqueFd listener,
                             std::string address, const Options& fabrics)
    : loop_(std::move(loop)),
      log_(std::move(log)),
      listener_(std::move(listener)),
      address_(std::move(address)),
      fabrics_(fabrics),
      streams_(loop_.get()) {}

ReplicaServer::~ReplicaServer() { Leave(absl::CancelledError("the replica ends")); }

void ReplicaServer::Stop() {
  stopped_.store(true, std::memory_order_release);
  loop_->Wake();
}

void ReplicaServer::Serve() {
  while (!stopped_.load(std::memory_order_acquire)) {
    loop_->Turn(Clock::now() + kIdle, [this](int fd) { OnReadable(fd); });
    while (primary_.group != nullptr && primary_.session->Work(*primary_.group)) {
    }
    if (primary_.group != nullptr && !primary_.session->status().ok()) Leave(primary_.session->status());
    DropSlowPeers();
  }
}

void ReplicaServer::OnReadable(int fd) {
  if (fd == listener_.get()) return Accept();
  const auto found = peers_.find(fd);
  if (found == peers_.end() || Hear(found->second)) return;
  // By now its socket may be the group's own.
  if (found->second.tcp.valid()) loop_->ForgetFd(fd);
  if (primary_.tcp == fd) Leave(absl::UnavailableError("the primary's process has ended"));
  peers_.erase(fd);
}

void ReplicaServer::Accept() {
  absl::StatusOr<std::optional<UniqueFd>> accepted = connect::AcceptTcp(listener_.get());
  if (accepted.ok() && !accepted->has_value()) return;
  const int fd = accepted.ok() ? (*accepted)->get() : -1;
  if (!accepted.ok() || !loop_->WatchFd(fd).ok()) {
    // Waiting peers would wake this thread for ever.
    loop_->ForgetFd(listener_.get());
    accepts_again_ = Clock::now() + kAcceptRetryDelay;
    return;
  }
  peers_.try_emplace(fd, **std::move(accepted));
}

bool ReplicaServer::Hear(Peer& peer) {
  if (peer.is_liveness) return false;  // whatever it is
  if (peer.group != 0) {
    loop_->ForgetFd(peer.tcp.get());
    absl::StatusOr<std::unique_ptr<replicate::Path>> path = replicate::CreateTcpPath(std::move(peer.tcp), *loop_);
    if (path.ok()) Follow(peer.group, log_bytes_, *std::move(path), -1);
    return false;
  }
  const absl::StatusOr<std::optional<std::string>> bytes = peer.reader.Read(peer.tcp.get());
  if (!bytes.ok()) return false;
  if (!bytes->has_value()) return true;
  const absl::StatusOr<ReplicaRequest> request = DecodeRequest(**bytes);
  return request.ok() && Answer(peer, *request);
}

bool ReplicaServer::Answer(Peer& peer, const ReplicaRequest& request) {
  ReplicaAnswer answer = log_->Answer(request);
  const bool granted = answer.status.ok() && request.verb != ReplicaVerb::kShow;
  if (granted) LeaveAll(peer);
  const bool follows = granted && request.verb == ReplicaVerb::kFollow;
  std::unique_ptr<replicate::Path> path;
  if (follows && !request.offer.empty()) {
    stream::Listener::Result result =
        streams_.For(fabrics_).listener->Accept(request.offer, connect::RouteOf(peer.tcp.get()));
    answer.answer = std::move(result.answer);
    if (result.outcome.stream != nullptr) {
      path = std::make_unique<replicate::StreamPath>(std::move(result.outcome.stream));
    }
  }
  const bool sent = connect::SendFrame(peer.tcp.get(), kReplicaLetters, EncodeAnswer(answer)).ok();
  if (!sent || !follows) return false;
  log_bytes_ = request.bytes;
  if (path == nullptr) {
    peer.group = request.group | uint64_t{request.group == 0};
    peer.deadline = After(kMeetingTimeout);
    return true;
  }
  peer.deadline = Deadline::max();
  peer.is_liveness = true;
  Follow(request.group, request.bytes, std::move(path), peer.tcp.get());
  return true;
}

void ReplicaServer::Follow(uint64_t group, uint64_t log_bytes, std::unique_ptr<replicate::Path> path, int tcp) {
  Leave(absl::AbortedError("the replica follows another connection"));
  auto session = std::make_shared<ReplicaSession>(*log_);
  auto made = CreateGroupOfTwo(group, 1, ReplicaLog::LargestChanges(log_bytes), std::move(path), session);
  if (made.ok()) primary_ = {std::move(session), *std::move(made), tcp};
}

// Leaves the primary, and drops each peer that was to become it: their bytes belong to earlier requests.
void ReplicaServer::LeaveAll(const Peer& but) {
  Leave(absl::AbortedError("the replica follows another connection, or a later term"));
  DropPeers([&but](const Peer& peer) { return peer.group != 0 && &peer != &but; });
}

void ReplicaServer::Leave(const absl::Status& why) {
  Primary former = std::exchange(primary_, {});
  if (former.group != nullptr) former.group->Fail(why);
  if (former.tcp < 0) return;
  loop_->ForgetFd(former.tcp);
  peers_.erase(former.tcp);
}

void ReplicaServer::DropPeers(absl::FunctionRef<bool(const Peer&)> which) {
  absl::erase_if(peers_, [this, which](const auto& entry) {
    if (!which(entry.second)) return false;
    loop_->ForgetFd(entry.first);
    return true;
  });
}

void ReplicaServer::DropSlowPeers() {
  const Deadline now = Clock::now();
  DropPeers([now](const Peer& peer) { return peer.deadline <= now; });
  if (accepts_again_ > now) return;
  accepts_again_ = loop_->WatchFd(listener_.get()).ok() ? Deadline::max() : now + kAcceptRetryDelay;
}

}  // namespace skein::durable
