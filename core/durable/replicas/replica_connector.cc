#include "core/durable/replicas/replica_connector.h"

#include <pthread.h>

#include <utility>

#include "absl/memory/memory.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/forked.h"
#include "core/base/random_value.h"
#include "core/base/signals_blocked.h"
#include "core/connect/route.h"
#include "core/connect/tcp.h"
#include "core/durable/replicas/connection.h"
#include "core/durable/replicas/primary.h"
#include "core/replicate/stream_path.h"
#include "core/replicate/tcp_path.h"

namespace skein::durable {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(100);  // before the next attempt
constexpr absl::Duration kRefusedPause = absl::Seconds(3);  // where that takes somebody who changes something
constexpr absl::Duration kLook = absl::Seconds(1);          // at whether the replica answers
constexpr absl::Duration kPatience = absl::Seconds(10);     // with one write: a disk may be slow

}  // namespace

absl::StatusOr<std::unique_ptr<ReplicaConnector>> ReplicaConnector::Start(std::string address,
                                                                          std::shared_ptr<Follower> follower,
                                                                          Journal& journal, size_t number,
                                                                          const ReplicaRequest& request,
                                                                          Persistence level, const Options& fabrics) {
  BeginUse();
  absl::StatusOr<std::unique_ptr<wait::PollLoop>> loop = wait::PollLoop::Create(wait::SpinPolicy());
  if (!loop.ok()) return loop.status();
  return absl::WrapUnique(new ReplicaConnector(*std::move(loop), std::move(address), std::move(follower), journal,
                                               number, request, level, fabrics));
}

ReplicaConnector::ReplicaConnector(std::unique_ptr<wait::PollLoop> loop, std::string address,
                                   std::shared_ptr<Follower> follower, Journal& journal, size_t number,
                                   const ReplicaRequest& request, Persistence level, const Options& fabrics)
    : loop_(std::move(loop)),
      address_(std::move(address)),
      follower_(std::move(follower)),
      journal_(journal),
      number_(number),
      level_(level),
      fabrics_(fabrics),
      request_(request),
      streams_(loop_.get()) {
  const SignalsBlocked blocked;
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "skein-replica");
    Run();
  });
}

ReplicaConnector::~ReplicaConnector() {
  Stop();
  thread_.join();
}

void ReplicaConnector::Stop() {
  stopped_.store(true, std::memory_order_release);
  loop_->Wake();
}

void ReplicaConnector::Run() {
  while (!stopped_.load(std::memory_order_acquire)) {
    const absl::Status why = Connect();
    journal_.Lack(number_, why);
    if (journal_.ended()) return;
    const Deadline next = After(absl::IsFailedPrecondition(why) ? kRefusedPause : kPause);
    while (!stopped_.load(std::memory_order_acquire) && Clock::now() < next) {
      loop_->Turn(next, [](int) {});
    }
  }
}

absl::StatusOr<ReplicaAnswer> ReplicaConnector::Meet(int tcp, std::unique_ptr<stream::Connector::Attempt>& attempt) {
  request_.group = RandomValue<uint64_t>();
  request_.offer.clear();
  if (by_stream_) {
    auto begun = streams_.For(fabrics_).connector->Begin(connect::RouteOf(tcp));
    if (begun.ok()) attempt = *std::move(begun);
    if (attempt != nullptr) request_.offer = std::string(attempt->offer());
  }
  const absl::Status sent = connect::SendFrame(tcp, kReplicaLetters, EncodeRequest(request_));
  if (!sent.ok()) return sent;
  const absl::StatusOr<std::string> bytes =
      connect::ReceiveFrame(tcp, kReplicaLetters, kMaxReplicaAnswerBytes, After(kMeetingTimeout));
  if (!bytes.ok()) return bytes.status();
  return DecodeAnswer(*bytes);
}

absl::Status ReplicaConnector::Connect() {
  absl::StatusOr<UniqueFd> tcp = connect::ConnectTcp(address_, After(kMeetingTimeout));
  if (!tcp.ok()) return tcp.status();
  std::unique_ptr<stream::Connector::Attempt> attempt;
  const absl::StatusOr<ReplicaAnswer> answer = Meet(tcp->get(), attempt);
  if (!answer.ok()) return answer.status();
  if (IsSuperseded(*answer, request_)) {
    journal_.End(absl::FailedPreconditionError(
        absl::StrCat(address_,
                     " has promised to follow a later log of these calls, one that was promoted: send clients "
                     "to its server, and run `skein durable replica` with this one's file")));
  }
  if (absl::Status why = WhyNot(*answer, request_, level_); !why.ok()) return why;
  std::unique_ptr<replicate::Path> path;
  UniqueFd liveness;
  auto reached = std::make_shared<std::atomic<bool>>(true);  // the replica, by the stream: stored by a poll, relaxed
  if (!answer->answer.empty() && attempt != nullptr) {
    stream::Outcome outcome = attempt->Complete(answer->answer);
    by_stream_ = outcome.stream != nullptr || outcome.both_know;
    if (!by_stream_) return absl::UnavailableError(ToString(outcome.why));  // the replica waits at the stream
    if (outcome.stream != nullptr) {
      reached->store(outcome.reached, std::memory_order_relaxed);
      outcome.stream->WhenReached([reached](const absl::Status& status) {
        if (status.ok()) reached->store(true, std::memory_order_relaxed);
      });
      path = std::make_unique<replicate::StreamPath>(std::move(outcome.stream));
    }
  }
  by_stream_ = true;
  if (path == nullptr) {
    absl::StatusOr<std::unique_ptr<replicate::Path>> on_tcp = replicate::CreateTcpPath(*std::move(tcp), *loop_);
    if (!on_tcp.ok()) return on_tcp.status();
    path = *std::move(on_tcp);
  } else {
    liveness = *std::move(tcp);
  }
  ended_.store(false, std::memory_order_relaxed);
  auto connection = follower_->Observe([this](const absl::Status& why) {
    why_ = why;
    ended_.store(true, std::memory_order_release);
    loop_->Wake();
  });
  auto group = CreateGroupOfTwo(request_.group, 0, 0, std::move(path), connection);
  if (!group.ok()) return group.status();
  follower_->Begin(connection, *std::move(group), answer->has);
  Follow(liveness.get());
  by_stream_ = reached->load(std::memory_order_relaxed);
  return why_;
}

// `tcp`: ends with the replica's process; -1: the group's path is that.
void ReplicaConnector::Follow(int tcp) {
  bool gone = tcp >= 0 && !loop_->WatchFd(tcp).ok();
  while (!ended_.load(std::memory_order_acquire)) {
    if (stopped_.load(std::memory_order_acquire)) follower_->End(absl::CancelledError("the primary closes its log"));
    if (gone) follower_->End(absl::UnavailableError("its process has ended"));
    if (follower_->Silent(kPatience)) follower_->End(absl::UnavailableError("it does not answer"));
    loop_->Turn(After(kLook), [&](int fd) { gone |= fd == tcp; });
  }
  if (tcp >= 0) loop_->ForgetFd(tcp);
}

}  // namespace skein::durable
