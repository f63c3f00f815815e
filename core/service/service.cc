#include "core/service/service.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "core/base/abstract_socket.h"
#include "core/base/closer.h"
#include "core/base/deadline.h"
#include "core/base/errno_status.h"
#include "core/fabric/service/session.h"
#include "core/service/listeners.h"
#include "core/service/predecessor.h"

namespace skein::service {
namespace {

// A look at the sockets costs a system call.
constexpr uint64_t kTurnsBetweenLooks = 32;

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
  for (const auto& trunk : trunks_.all()) shutdown(trunk->socket(), SHUT_RDWR);
  for (const auto& session : sessions_) session->End();
  for (const auto& trunk : trunks_.all()) trunk->Fail("skeind ends");
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
  if (absl::IsAlreadyExists(gone) || absl::IsInternal(gone)) return gone;
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
  any |= queue_pairs_.ServeTurns();
  any |= trunks_.Poll();
  WakeThoseUnwoken();
  ++turn_;
  return any;
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
  for (const auto& trunk : trunks_.all()) {
    waits.push_back({trunk->socket(), static_cast<short>(trunk->wants_to_write() ? POLLIN | POLLOUT : POLLIN), 0});
    waits.push_back({trunk->line().fd(), POLLIN, 0});
  }
  GiveAnswersDue();
  const bool any = poll(waits.data(), waits.size(), timeout_ms) > 0 && HeedSockets(waits);
  if (any && timeout_ms != 0) ++counted_.wakes;
  trunks_.Tend();
  DropEnded();
  return any;
}

bool Service::HeedSockets(const std::vector<pollfd>& waits) {
  bool any = false;
  // Copies: what is heard may make new ones, or end some.
  const std::vector<std::shared_ptr<Session>> sessions = sessions_;
  const Trunks::List trunks = trunks_.all();
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

// Without a descriptor the connection stays in the queue, which would keep this thread awake.
UniqueFd Service::AcceptFrom(int listening) {
  UniqueFd socket = AcceptQueued(listening);
  if (!socket.valid() && errno != EAGAIN) accepts_again_ = SteadyNow() + absl::Milliseconds(kAcceptAgainMs);
  return socket;
}

bool Service::AcceptProcesses() {
  bool any = false;
  for (UniqueFd socket; (socket = AcceptFrom(listeners_.processes.get())).valid(); any = true) {
    const absl::StatusOr<PeerCredentials> who = CredentialsOf(socket.get());
    if (!who.ok()) continue;
    std::weak_ptr<UserBudget>& known = budgets_[who->uid];
    std::shared_ptr<UserBudget> budget = known.lock();
    if (budget == nullptr) known = budget = std::make_shared<UserBudget>(options_.limits);
    absl::StatusOr<UserBudget::Share> share = budget->Take(UserBudget::Kind::kSession, 1);
    if (!share.ok()) {
      ++counted_.sessions_refused;
      SendMessage(socket.get(), fabric::service::Reply::Of(share.status()).view());
      Closer::Get().CloseSocket(std::move(socket));  // not before the process has read that
      continue;
    }
    sessions_.push_back(
        std::make_shared<Session>(*this, std::move(socket), *who, std::move(budget), *std::move(share)));
  }
  return any;
}

bool Service::AcceptSkeinds() {
  bool any = false;
  for (UniqueFd socket; (socket = AcceptFrom(listeners_.skeinds.get())).valid(); any = true) {
    trunks_.Add(std::move(socket));
  }
  return any;
}

void Service::WakeThoseUnwoken() {
  for (const auto& each : std::exchange(unwoken_, {})) {
    if (const std::shared_ptr<Completions> queue = each.lock(); queue != nullptr) queue->WakeIfAsleep();
  }
}

void Service::Sleep() {
  absl::Time next = trunks_.Tend();  // which may find something: before all is looked at once more
  for (const auto& session : sessions_) session->GoToSleep();
  bool work = queue_pairs_.some_wait_for_turns();
  for (const auto& session : sessions_) work |= session->LookForRequests();
  work |= !trunks_.Arm();
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
  trunks_.DropEnded();
}

}  // namespace skein::service
