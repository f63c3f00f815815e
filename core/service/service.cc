#include "core/service/service.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/deadline.h"
#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/base/random_value.h"
#include "core/fabric/service/session.h"
#include "core/service/listeners.h"
#include "core/service/offer.h"
#include "core/service/predecessor.h"

namespace skein::service {
namespace {

using fabric::service::Submission;
using State = VirtualQueuePair::State;

// Of one queue pair, before others have their turn.
constexpr int kRequestsATurn = 16;
constexpr uint64_t kBytesATurn = 256 << 10;
// A look at the sockets costs a system call.
constexpr uint64_t kTurnsBetweenLooks = 32;
constexpr uint32_t kNumbers = 1 << 24;

// Milliseconds for poll(2), rounded up.
int UntilMs(absl::Time time) {
  if (time == absl::InfiniteFuture()) return -1;
  const absl::Duration left = std::max(time - SteadyNow(), absl::ZeroDuration());
  return static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Service>> Service::Create(const ServiceOptions& options, FindPort find_port) {
  std::unique_ptr<Service> service(new Service(options, std::move(find_port)));
  if (absl::Status begun = service->Begin(); !begun.ok()) return begun;
  return service;
}

Service::~Service() {
  if (mailbox_ != nullptr) mailbox_->Close();
  // A successor serves once its session has ended. Other hosts know by then that they have to connect anew.
  for (const auto& trunk : trunks_) shutdown(trunk->socket(), SHUT_RDWR);
  for (const auto& session : sessions_) session->End();
  for (const auto& trunk : trunks_) trunk->Fail("skeind ends");
}

absl::Status Service::Begin() {
  absl::StatusOr<std::optional<Predecessor>> predecessor = std::optional<Predecessor>();
  if (options_.replaces) predecessor = Predecessor::Find(options_.folder);
  if (!predecessor.ok()) return predecessor.status();
  absl::StatusOr<Listeners> listeners = Listen(options_, predecessor->has_value() ? &**predecessor : nullptr);
  if (!listeners.ok()) return listeners.status();
  listeners_ = *std::move(listeners);
  absl::StatusOr<std::shared_ptr<StatisticsMailbox>> mailbox = StatisticsMailbox::Create();
  if (!mailbox.ok()) return mailbox.status();
  mailbox_ = *std::move(mailbox);
  for (std::unique_ptr<Worker>* const one : {&worker_, &connecting_worker_}) {
    absl::StatusOr<std::unique_ptr<Worker>> worker = Worker::Create(options_.workers_threads);
    if (!worker.ok()) return worker.status();
    *one = *std::move(worker);
  }
  stop_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!stop_.valid()) return ErrnoStatus(errno, "create an eventfd");
  // Last: the predecessor serves until nothing can go wrong here any more.
  absl::Status gone = predecessor->has_value() ? (*predecessor)->Stop() : absl::OkStatus();
  if (absl::IsAlreadyExists(gone)) return gone;
  if (!gone.ok()) options_.log(gone.message());
  // Again, where somebody else has: the kernel tells processes that this one listens.
  if (listen(listeners_.processes.get(), kMostQueued) != 0) return ErrnoStatus(errno, "listen for processes");
  return absl::OkStatus();
}

// Nobody who comes from now on is turned away: the successor has both listeners.
void Service::GiveWay() {
  listeners_.processes.Reset();
  listeners_.skeinds.Reset();
  Stop();
}

void Service::Stop() {
  const uint64_t one = 1;
  if (write(stop_.get(), &one, sizeof(one)) < 0) return;  // full: it is stopping
}

void Service::Run() {
  absl::Time idle_since = SteadyNow();
  while (!stopped_) {
    const bool looks = turn_ % kTurnsBetweenLooks == 0;
    bool any = Work();
    if (looks) any |= LookAtSockets(0);
    if (any) {
      idle_since = SteadyNow();
    } else if (looks && SteadyNow() - idle_since > options_.spin) {
      // Behind a look: messages that came while somebody had stopped this thread are not to look like silence.
      Sleep();
      idle_since = SteadyNow();
    }
  }
}

bool Service::Turn() {
  const bool any = Work();
  return LookAtSockets(0) || any;
}

bool Service::Work() {
  bool any = false;
  for (const auto& session : sessions_) any |= session->LookForRequests();
  any |= ServeTurns();
  for (size_t i = 0; i < trunks_.size(); ++i) any |= trunks_[i]->line().Poll();
  WakeThoseUnwoken();
  ++turn_;
  return any;
}

bool Service::ServeTurns() {
  bool any = false;
  // As many as there are now: those that come back to the end of the queue wait until completions were looked at.
  for (int i = 0; i < 64 && !turns_.empty(); ++i, any = true) Serve(turns_.Next());
  // What several processes ask is posted at once: the device hears of it once.
  for (size_t i = 0; any && i < trunks_.size(); ++i) trunks_[i]->line().Flush();
  return any;
}

void Service::Serve(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  VirtualQueuePair& served = *queue_pair;
  if (served.state != State::kConnected || served.waits_to_hear || served.waits_for_space || served.is_refused) return;
  const uint64_t published = served.submissions.header().published.load(std::memory_order_acquire);
  if (published - served.taken > served.depth) return End(queue_pair, fabric::service::End::kRequest);
  const std::shared_ptr<Trunk> trunk = served.trunk;
  Trunk::Posted posted = Trunk::Posted::kYes;
  uint64_t bytes = 0;
  for (int i = 0; i < kRequestsATurn && bytes < kBytesATurn && served.taken != published; ++i) {
    Submission request;
    std::memcpy(&request, &served.submissions.at(served.taken), sizeof(request));
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the process may change it: what was copied is what counts
    posted = trunk->Post(queue_pair, request);
    if (posted != Trunk::Posted::kYes) break;
    ++served.taken;
    bytes += request.length;
  }
  served.traffic.request_bytes += bytes;
  if (posted == Trunk::Posted::kRefused) return Refuse(queue_pair);
  if (posted == Trunk::Posted::kYes && served.taken != published) MayGoOn(queue_pair);
}

// The process hears first how what it had asked before has ended.
void Service::Refuse(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  if (queue_pair->state != State::kConnected) return;  // the requests before it have found the trunk broken
  queue_pair->is_refused = true;
  queue_pair->session->CountRefusal();
  queue_pair->trunk->line().Later([this, queue_pair] {
    if (queue_pair->state != State::kConnected) return;
    fabric::service::CompletionEntry refused;
    refused.position = queue_pair->taken;
    refused.queue_pair = queue_pair->number;
    refused.status = static_cast<uint32_t>(fabric::CompletionStatus::kRemoteAccessError);
    queue_pair->send_queue->Add(refused);  // without space it is flushed like the others
    End(queue_pair, fabric::service::End::kRequest);
  });
}

void Service::MayGoOn(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  turns_.Add(queue_pair->session->user(), queue_pair->session.get(), queue_pair);
}

bool Service::LookAtSockets(int timeout_ms) {
  const bool accepts = SteadyNow() >= accepts_again_;
  std::vector<pollfd> waits = {{accepts ? listeners_.processes.get() : -1, POLLIN, 0},
                               {accepts ? listeners_.skeinds.get() : -1, POLLIN, 0},
                               {stop_.get(), POLLIN, 0},
                               {mailbox_->fd(), POLLIN, 0},
                               {worker_->fd(), POLLIN, 0},
                               {connecting_worker_->fd(), POLLIN, 0}};
  if (!accepts && (timeout_ms < 0 || timeout_ms > kAcceptAgainMs)) timeout_ms = kAcceptAgainMs;
  for (const auto& session : sessions_) waits.push_back({session->socket(), POLLIN, 0});
  for (const auto& trunk : trunks_) {
    waits.push_back({trunk->socket(), static_cast<short>(trunk->wants_to_write() ? POLLIN | POLLOUT : POLLIN), 0});
    waits.push_back({trunk->line().fd(), POLLIN, 0});
  }
  GiveAnswersDue();
  const bool any = poll(waits.data(), waits.size(), timeout_ms) > 0 && HeedSockets(waits);
  if (any && timeout_ms != 0) ++counted_.wakes;
  TendTrunks();
  DropEnded();
  return any;
}

bool Service::HeedSockets(const std::vector<pollfd>& waits) {
  bool any = false;
  // Copies: what is heard may make new ones, or end some.
  const std::vector<std::shared_ptr<Session>> sessions = sessions_;
  const std::vector<std::shared_ptr<Trunk>> trunks = trunks_;
  size_t at = 6;
  for (const auto& session : sessions) {
    if (waits[at++].revents != 0) any |= session->OnSocket();
  }
  for (const auto& trunk : trunks) {
    if (waits[at++].revents != 0) any |= trunk->OnSocket();
    if (waits[at++].revents != 0) trunk->line().AckEvents();
  }
  stopped_ = waits[2].revents != 0;
  if (waits[0].revents != 0) any |= AcceptProcesses();
  if (waits[1].revents != 0) any |= AcceptSkeinds();
  if (waits[4].revents != 0) any |= worker_->Heed();
  if (waits[5].revents != 0) any |= connecting_worker_->Heed();
  if (waits[3].revents != 0) mailbox_->Answer([this] { return Count(); });
  return any;
}

absl::Time Service::TendTrunks() {
  const absl::Time now = SteadyNow();
  absl::Time next = absl::InfiniteFuture();
  for (size_t i = 0; i < trunks_.size(); ++i) next = std::min(next, trunks_[i]->Tend(now));
  return next;
}

void Service::WakeThoseUnwoken() {
  for (const auto& each : std::exchange(unwoken_, {})) {
    if (const std::shared_ptr<Completions> queue = each.lock(); queue != nullptr) queue->WakeIfAsleep();
  }
}

void Service::Sleep() {
  absl::Time next = TendTrunks();  // which may find something: before all is looked at once more
  for (const auto& session : sessions_) session->GoToSleep();
  bool work = !turns_.empty();
  for (const auto& session : sessions_) work |= session->LookForRequests();
  for (size_t i = 0; i < trunks_.size(); ++i) work |= !trunks_[i]->line().Arm();
  if (!unwoken_.empty()) {
    next = std::min(next, SteadyNow() + fabric::service::kUntilWokenAgain);
  } else if (std::any_of(sessions_.begin(), sessions_.end(), [](const auto& each) { return each->owes_answer(); })) {
    next = std::min(next, SteadyNow() + absl::Milliseconds(100));
  }
  if (!work) {
    ++counted_.sleeps;
    LookAtSockets(UntilMs(next));
  }
  for (const auto& session : sessions_) session->Wake();
}

void Service::GiveAnswersDue() {
  const auto owes = [](const auto& session) { return session->owes_answer(); };
  if (std::none_of(sessions_.begin(), sessions_.end(), owes)) return;
  const absl::Time now = SteadyNow();
  for (size_t i = 0; i < sessions_.size(); ++i) sessions_[i]->GiveAnswersDue(now);
}

void Service::DropEnded() {
  std::erase_if(sessions_, [this](const auto& session) {
    if (session->ended()) counted_.ended += session->Statistics();
    return session->ended();
  });
  if (std::erase_if(trunks_, [](const auto& trunk) { return trunk->ended(); }) == 0) return;
  absl::erase_if(trunks_by_peer_, [](const auto& known) { return known.second.expired(); });
}

absl::StatusOr<uint32_t> Service::NewNumber() {
  if (queue_pairs_.size() >= kNumbers - 1)
    return absl::ResourceExhaustedError("skeind has no more numbers for queue pairs");
  do {
    last_number_ = (last_number_ + 1) % kNumbers;
  } while (last_number_ == 0 || queue_pairs_.contains(last_number_));
  return last_number_;
}

void Service::Made(std::shared_ptr<VirtualQueuePair> queue_pair) {
  queue_pairs_[queue_pair->number] = std::move(queue_pair);
}

std::shared_ptr<VirtualQueuePair> Service::Find(uint32_t number) const {
  const auto found = queue_pairs_.find(number);
  return found == queue_pairs_.end() ? nullptr : found->second;
}

absl::StatusOr<std::string> Service::Offer(VirtualQueuePair& queue_pair, const Port& port) {
  if (queue_pair.state != State::kNew)
    return absl::FailedPreconditionError("the queue pair has made an offer, or is connected or closed");
  queue_pair.state = State::kOffered;
  queue_pair.token = RandomValue<uint64_t>();
  return EncodeOffer({queue_pair.number, queue_pair.token, listeners_.trunk_port, port.address});
}

void Service::Accept(const std::shared_ptr<VirtualQueuePair>& queue_pair, absl::string_view bytes) {
  const std::shared_ptr<Session> session = queue_pair->session;
  const absl::StatusOr<service::Offer> offer = DecodeOffer(bytes);
  if (!offer.ok()) return session->AcceptEnded(*queue_pair, offer.status());
  if (offer->host.empty()) {
    return session->AcceptEnded(*queue_pair, FallbackError(FallbackCode::kProtocol, "an answer in place of an offer"));
  }
  if (queue_pair->state != State::kNew) {
    return session->AcceptEnded(
        *queue_pair, absl::FailedPreconditionError("the queue pair has made an offer, or is connected or closed"));
  }
  if (offer->port != listeners_.trunk_port && !options_.any_trunk_port) {
    return session->AcceptEnded(
        *queue_pair, FallbackError(FallbackCode::kProtocol,
                                   absl::StrCat("the other host's skeind has port ", offer->port, ", and this one ",
                                                listeners_.trunk_port, ": start both with one")));
  }
  const absl::StatusOr<std::shared_ptr<Trunk>> trunk = TrunkTo(offer->host, offer->port, *session);
  if (!trunk.ok()) return session->AcceptEnded(*queue_pair, trunk.status());
  queue_pair->state = State::kAccepting;
  queue_pair->token = offer->token;
  (*trunk)->Attach(queue_pair);
  TrunkMessage connect;
  connect.kind = TrunkKind::kConnect;
  connect.number = offer->number;
  connect.from = queue_pair->number;
  connect.token = offer->token;
  (*trunk)->Send(connect);
}

absl::Status Service::Accepted(Trunk& trunk, const TrunkMessage& connect) {
  const std::shared_ptr<VirtualQueuePair> queue_pair = Find(connect.number);
  if (queue_pair == nullptr || queue_pair->state != State::kOffered || queue_pair->token != connect.token) {
    return FallbackError(FallbackCode::kProtocol, "an offer that nobody has out");
  }
  if (queue_pair->session->device() != trunk.device()) {
    return FallbackError(FallbackCode::kProtocol, "an offer of another device");
  }
  queue_pair->state = State::kConnected;
  queue_pair->peer = connect.from;
  trunk.Attach(queue_pair);
  return absl::OkStatus();
}

void Service::Connected(const std::shared_ptr<VirtualQueuePair>& queue_pair, const absl::Status& status) {
  if (queue_pair->state != State::kAccepting) return;
  if (!status.ok()) {
    End(queue_pair, fabric::service::End::kConnection);  // the process sees it once it has the answer
    return queue_pair->session->AcceptEnded(*queue_pair, status);
  }
  queue_pair->state = State::kConnected;
  queue_pair->session->AcceptEnded(*queue_pair,
                                   EncodeOffer({queue_pair->number, queue_pair->token, listeners_.trunk_port, ""}));
}

absl::Status Service::Complete(VirtualQueuePair& queue_pair, absl::string_view bytes) {
  const absl::StatusOr<service::Offer> answer = DecodeOffer(bytes);
  if (!answer.ok()) return answer.status();
  if (queue_pair.state != State::kConnected || answer->number != queue_pair.peer || answer->token != queue_pair.token) {
    return FallbackError(FallbackCode::kProtocol, "an answer to another offer");
  }
  return absl::OkStatus();
}

std::shared_ptr<Region> Service::RegionOf(const VirtualQueuePair& queue_pair, uint32_t rkey) {
  if (queue_pair.state != State::kConnected) return nullptr;
  std::shared_ptr<Region> region = queue_pair.session->RegionByKey(rkey);
  return region != nullptr && region->access() != fabric::kLocalOnly ? region : nullptr;
}

void Service::End(const std::shared_ptr<VirtualQueuePair>& queue_pair, fabric::service::End why) {
  if (queue_pair->state == State::kEnded) return;
  const State before = std::exchange(queue_pair->state, State::kEnded);
  queue_pair->locals.clear();
  // What has completed is there before the process sees the end.
  for (const auto& queue : {queue_pair->send_queue, queue_pair->receive_queue}) {
    if (queue->has_news()) queue->Publish();
  }
  queue_pair->submissions.header().end.store(static_cast<uint32_t>(why), std::memory_order_release);
  queue_pair->send_queue->WakeIfAsleep();
  queue_pair->receive_queue->WakeIfAsleep();
  // Which queue pair the peer's is, kConnected will say.
  if (queue_pair->trunk == nullptr || before == State::kAccepting) return;
  const std::shared_ptr<Trunk> trunk = queue_pair->trunk;  // which may fail over it, and is not the queue pair's then
  trunk->TellClosed(queue_pair);
}

void Service::Destroyed(const std::shared_ptr<VirtualQueuePair>& queue_pair, fabric::service::End why) {
  queue_pair->destroyed = true;
  End(queue_pair, why);
  FreeIfThrough(queue_pair);
}

void Service::Closed(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  queue_pair->trunk = nullptr;
  FreeIfThrough(queue_pair);
}

void Service::FreeIfThrough(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  if (queue_pair->destroyed && queue_pair->trunk == nullptr) queue_pairs_.erase(queue_pair->number);
}

void Service::Forgotten(const Region& region) {
  for (size_t i = 0; i < trunks_.size(); ++i) trunks_[i]->Revoke(region);
}

}  // namespace skein::service
