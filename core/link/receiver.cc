// Polling: messages out of the channel, and what follows from them; the ports' observers are called at the end.
#include "core/link/receiver.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/trace/counters.h"
#include "core/trace/probes.h"

namespace skein::link {
namespace {

constexpr int kMessagesPerBatch = 64;  // then the ports hear of them
// Turns that find messages, for one that looks at the completion queue. A peer's credits last for four times as many.
constexpr int kLookEvery = 8;
// Of polling until nothing is found, and arming, which then finds something.
constexpr int kMostRounds = 64;

}  // namespace

Receiver::~Receiver() {
  if (shares_ != nullptr) shares_->Leave(sender_);
}

absl::Status Receiver::JoinShares(std::shared_ptr<Shares> shares, Shares::Activate activate) {
  const absl::StatusOr<Shares::Sender> sender = shares->Join(std::move(activate));
  if (!sender.ok()) return sender.status();
  shares_ = std::move(shares);
  sender_ = *sender;
  return absl::OkStatus();
}

bool Receiver::TakePolling() {
  Polling free = Polling::kFree;
  return polling_.compare_exchange_strong(free, Polling::kOwned, std::memory_order_acquire);
}

void Receiver::LeavePolling() {
  Polling owned = Polling::kOwned;
  while (
      !polling_.compare_exchange_strong(owned, Polling::kFree, std::memory_order_release, std::memory_order_relaxed)) {
    // Somebody is going to sleep, trusting that this thread leaves nothing behind. Acquire: of what that thread has
    // said by Woke.
    polling_.exchange(Polling::kOwned, std::memory_order_acquire);
    if (!ArmOwned()) PollUntilArmed();
    owned = Polling::kOwned;
  }
}

bool Receiver::Glance() {
  if (finished() || !TakePolling()) return false;
  const bool readable = channel().Readable();
  LeavePolling();
  return readable;
}

bool Receiver::Poll() {
  if (finished() || !TakePolling()) return false;
  const bool any = PollOwned();
  LeavePolling();
  return any;
}

bool Receiver::Drain() {
  if (finished()) return true;
  if (!TakePolling()) return false;
  PollUntilArmed();
  LeavePolling();
  return true;
}

// Arms because the polls may have acknowledged what another thread sleeps for. Messages that lie there at the call end
// within a ring of bytes, and within a round: a peer that goes on writing, or asking for credits, keeps its sleeper
// busy, not the caller.
void Receiver::PollUntilArmed() {
  const uint64_t end = channel().bytes_read() + channel().capacity();
  for (int round = 0; round < kMostRounds && channel().bytes_read() < end; ++round) {
    while (channel().bytes_read() < end && PollOwned()) {
    }
    if (ArmOwned()) return;
  }
  group_.Wake();
}

bool Receiver::Arm() {
  for (;;) {
    if (finished()) return true;
    if (TakePolling()) {
      const bool armed = ArmOwned();
      LeavePolling();
      return armed;
    }
    Polling owned = Polling::kOwned;
    if (polling_.compare_exchange_strong(owned, Polling::kOwnedAndArmWanted, std::memory_order_release)) return true;
    // Wanted by another already: said once more, so that the owner sees what this thread has done before.
    if (owned == Polling::kOwnedAndArmWanted &&
        polling_.compare_exchange_strong(owned, Polling::kOwnedAndArmWanted, std::memory_order_release)) {
      return true;
    }
  }
}

void Receiver::Disarm() {
  if (finished() || !TakePolling()) return;
  if (armed_ && group_.Disarm()) armed_ = false;
  LeavePolling();
}

bool Receiver::ArmOwned() {
  if (finished()) return true;
  if (!group_.Arm().ok()) {
    // A thread that cannot sleep must not poll for ever: the link is lost by the next poll.
    channel().Close();
    channel().Disconnect();
    return false;
  }
  armed_ = true;
  group_.Look();
  if (!end_.ok() || woken_.load(std::memory_order_acquire)) return false;
  // Completions that another thread, or the look after arming, has taken out of the queue: nothing wakes again the
  // thread that waits for them.
  if (group_.sends_completed() && queue_.awaited()) return false;
  return !bulk_.waits() && !queue_.Settle() && !Ends() && !channel().renewal_waits() && !channel().Readable() &&
         !channel().MoreSpace();
}

void Receiver::Acknowledge() {
  const bool woken = woken_.load(std::memory_order_relaxed) && woken_.exchange(false, std::memory_order_acquire);
  const bool armed = std::exchange(armed_, false);
  if (armed && !woken) group_.AckEvents();
  if (woken) {
    group_.AckAllEvents();
    trace::Count(trace::Counter::kWakeUps);
    trace::probes::Woken(this);
  }
}

bool Receiver::PollOwned() {
  if (finished()) return false;
  if (armed_ || woken_.load(std::memory_order_relaxed)) Acknowledge();
  // While messages come, the queue and the end can wait a little: their notification is known to have rung.
  bool readable = channel().Readable();
  const bool looks = !readable || ++unlooked_ == kLookEvery || bulk_.reads();
  bool sends_completed = false;
  if (looks) {
    unlooked_ = 0;
    const bool news = group_.Look();
    sends_completed = group_.TakeSendsCompleted();
    if (!readable && news) readable = channel().Readable();
  }
  const bool ends = (looks || !end_.ok()) && Ends();
  if (ends) readable = channel().Readable();  // the peer's last words came before its end
  // Most turns of most links find nothing to do.
  if (!readable && !sends_completed && !ends && !bulk_.active() && !IsWanted()) return false;
  int messages = 0;
  bool looked = false;
  absl::Status status = PollChannel(readable, sends_completed, messages, looked);
  if (status.ok() && bulk_.active()) status = bulk_.Pull(messages);
  // What the peer wrote before the end is still delivered.
  const bool lost = !status.ok() || (ends && (messages == 0 || spent()));
  const bool flush_wanted = !lost && (looked ? flushing_.wanted() : messages > 0 && bulk_.blocks().flush_wanted());
  if (lost) {
    Lose(status.ok() ? end_ : status);
  } else if (queue_.events().any()) {
    // Behind the upkeep, which may have made space. The ports may queue more here than there is space for. That waits
    // for the peer's next word, which rings. An upkeep here would heed that word, and no waiting port would hear of the
    // space.
    ports_.TellOfSpace(queue_.TakeSpaceWaiters());
  }
  ports_.NotifyTouched();
  if (flush_wanted || lost) flushing_.Tell();
  return lost || messages > 0;
}

// Whether there is anything to do beside what messages say.
bool Receiver::IsWanted() const { return queue_.events().any() || channel().MoreSpace() || channel().renewal_waits(); }

// Whether the connection has ended; asked before the last look at the channel. Messages that had arrived before are
// still to be read, but a peer may keep writing: so no more than a ring of them.
bool Receiver::Ends() {
  if (end_.ok() && channel().Ended()) {
    const absl::Status failed = channel().peer_broke_protocol() ? absl::OkStatus() : queue_.error();
    end_ = failed.ok() ? channel().why_ended() : failed;
  }
  if (end_.ok()) return false;
  channel().Disconnect();
  if (!last_byte_.has_value()) last_byte_ = channel().bytes_read() + channel().capacity();
  return true;
}

bool Receiver::spent() const { return last_byte_.has_value() && channel().bytes_read() >= *last_byte_; }

// Adds to `messages` what was read; `looked` becomes true if anything may have changed for who waits.
absl::Status Receiver::PollChannel(bool readable, bool sends_completed, int& messages, bool& looked) {
  if (readable) {
    if (absl::Status status = Read(messages); !status.ok()) return status;
  }
  const bool said = messages > 0 && channel().AfterReading();
  if (!said && !sends_completed && !IsWanted()) [[likely]]
    return absl::OkStatus();
  const bool renewal = channel().renewal_waits();
  if (renewal) {
    if (absl::Status status = AnswerRenewal(); !status.ok()) return status;
  }
  const bool may_send = queue_.events().TakeDue(Events::kWaits) || sends_completed || channel().MoreSpace();
  const absl::StatusOr<bool> upkept = queue_.TakeUpkept();
  if (!upkept.ok()) return upkept.status();
  looked |= *upkept;
  if (!said && !may_send && !renewal) return absl::OkStatus();
  looked = true;
  return queue_.AfterReceiving();
}

// Counts the messages read.
absl::Status Receiver::Read(int& messages) {
  for (bool more = true; more; more = ++messages < kMessagesPerBatch && channel().Readable()) {
    const absl::StatusOr<std::optional<channel::InMessage>> message = channel().Next();
    if (!message.ok()) return message.status();
    if (!message->has_value()) break;
    if (absl::Status status = Receive(**message); !status.ok()) return status;
    channel().Pop();
  }
  return absl::OkStatus();
}

absl::Status Receiver::AnswerRenewal() {
  channel().TakeRenewal();
  const bool granted = shares_ == nullptr || shares_->Renew(sender_);
  if (absl::Status status = queue_.AnswerRenewal(granted); !status.ok()) return status;
  // Shares may have changed their mind meanwhile, and would not say so again.
  if (!granted && shares_->active(sender_)) queue_.Activate();
  return absl::OkStatus();
}

void Receiver::Lose(const absl::Status& why) {
  const absl::StatusCode code = absl::IsAborted(why) ? absl::StatusCode::kAborted : absl::StatusCode::kUnavailable;
  const absl::Status lost(code, absl::StrCat("the link to the peer is lost: ", why.message()));
  const std::vector<std::shared_ptr<Port>> ports = ports_.Lose();
  queue_.Fail(lost);
  operations_.under_way().FlushAll();
  bulk_.Fail();
  for (const std::shared_ptr<Port>& port : ports) {
    port->OnLost(lost);
    ports_.Touch(port);
  }
  group_.Wake();  // a sleeper must find out that there is no more to wait for
}

}  // namespace skein::link
