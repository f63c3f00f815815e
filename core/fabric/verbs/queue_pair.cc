// Connecting and ending.
#include "core/fabric/verbs/queue_pair.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/deadline.h"
#include "core/base/fallback.h"
#include "core/base/random_value.h"

namespace skein::fabric::verbs {

namespace {

// Twice as long as a device may try (InfiniBand Architecture Specification vol. 1, 9.7.6.1.3: it may wait for four
// times the acknowledgement timeout), and long enough for any software in between.
absl::Duration LongestAnswer(const VerbsOptions& options) {
  const absl::Duration timeout = absl::Nanoseconds(4096) * (int64_t{1} << options.timeout);
  return std::max(options.least_patience, 2 * 4 * timeout * (options.retries + 1));
}

}  // namespace

absl::StatusOr<std::unique_ptr<VerbsQueuePair>> VerbsQueuePair::Create(std::shared_ptr<const Port> port,
                                                                       const QueuePairOptions& options,
                                                                       VerbsCompletionQueue* send_queue,
                                                                       VerbsCompletionQueue* receive_queue) {
  const absl::StatusOr<ibv_qp*> raw = CreateRaw(*port, send_queue->get(), receive_queue->get(), options);
  if (!raw.ok()) return raw.status();
  return std::unique_ptr<VerbsQueuePair>(new VerbsQueuePair(std::move(port), options, send_queue, receive_queue, *raw));
}

VerbsQueuePair::VerbsQueuePair(std::shared_ptr<const Port> port, const QueuePairOptions& options,
                               VerbsCompletionQueue* send_queue, VerbsCompletionQueue* receive_queue,
                               ibv_qp* queue_pair)
    : port_(std::move(port)),
      send_queue_(send_queue),
      receive_queue_(receive_queue),
      max_send_(options.max_send_requests),
      max_receive_(options.max_receive_requests),
      shared_(static_cast<VerbsSharedReceiveQueue*>(options.shared_receive_queue)),
      flushes_(options.flushes),
      longest_answer_(options.peer_always_receives ? LongestAnswer(port_->options) : absl::InfiniteDuration()),
      queue_pair_(queue_pair) {
  first_packet_ = RandomValue<uint32_t>() % (1u << 24);
  send_member_ = send_queue_->Attach(this);
  receive_member_ = receive_queue_ == send_queue_ ? send_member_ : receive_queue_->Attach(this);
  if (shared_ != nullptr) receive_queue_->AttachTaker(queue_pair_, this);
  port_->context->Watch(queue_pair_, this);
}

VerbsQueuePair::~VerbsQueuePair() {
  port_->context->Forget(queue_pair_);
  if (shared_ != nullptr) {
    Close();  // what a late completion finds is in error already: it is the device's no more
    receive_queue_->DestroyTaker(queue_pair_);
  }
  send_queue_->Detach(send_member_);
  if (receive_queue_ != send_queue_) receive_queue_->Detach(receive_member_);
  if (shared_ == nullptr) port_->context->lib().destroy_qp(queue_pair_);
}

Address VerbsQueuePair::OwnAddress() const {
  Address address = port_->address;
  address.number = queue_pair_->qp_num;
  address.sequence = first_packet_;
  return address;
}

absl::StatusOr<std::string> VerbsQueuePair::Offer() {
  MutexLock lock(&state_mu_);
  if (state() != QueuePairState::kReset || offered_.has_value()) {
    return absl::FailedPreconditionError("the queue pair has made an offer, is connected or closed");
  }
  offered_ = RandomValue<uint64_t>();
  return EncodeOffer(OfferKind::kOffer, {OwnAddress(), *offered_});
}

absl::StatusOr<std::string> VerbsQueuePair::Accept(absl::string_view bytes) {
  const absl::StatusOr<verbs::Offer> offer = DecodeOffer(OfferKind::kOffer, bytes);
  if (!offer.ok()) return offer.status();
  MutexLock lock(&state_mu_);
  if (state() != QueuePairState::kReset || offered_.has_value()) {
    return absl::FailedPreconditionError("the queue pair has made an offer, is connected or closed");
  }
  if (absl::Status status = Connect(offer->address); !status.ok()) return status;
  return EncodeOffer(OfferKind::kAnswer, {OwnAddress(), offer->token});
}

absl::Status VerbsQueuePair::Complete(absl::string_view bytes) {
  const absl::StatusOr<verbs::Offer> answer = DecodeOffer(OfferKind::kAnswer, bytes);
  MutexLock lock(&state_mu_);
  if (state() != QueuePairState::kReset || !offered_.has_value()) {
    return absl::FailedPreconditionError("the queue pair has no offer out");
  }
  const uint64_t token = *offered_;
  if (!answer.ok()) return answer.status();
  if (answer->token != token) return FallbackError(FallbackCode::kProtocol, "an answer to another offer");
  offered_.reset();
  return Connect(answer->address);
}

absl::Status VerbsQueuePair::Connect(const Address& peer) {
  absl::Status status = ConnectRaw(*port_, queue_pair_, OwnAddress(), peer);
  if (status.ok()) {
    state_.store(QueuePairState::kReady, std::memory_order_release);
  } else {
    error_ = status;
    state_.store(QueuePairState::kError, std::memory_order_release);
  }
  return status;
}

absl::Status VerbsQueuePair::NotReady() const {
  MutexLock lock(&state_mu_);
  return absl::FailedPreconditionError(absl::StrCat("the queue pair is not ready ", error_.message()));
}

absl::Status VerbsQueuePair::error() const {
  MutexLock lock(&state_mu_);
  return error_;
}

void VerbsQueuePair::Fail(absl::Status why) {
  MutexLock lock(&state_mu_);
  if (state() == QueuePairState::kError) return;
  error_ = std::move(why);
  offered_.reset();
  state_.store(QueuePairState::kError, std::memory_order_release);
  ibv_qp_attr error = {};
  error.qp_state = IBV_QPS_ERR;
  // The device then flushes what is outstanding; unless it is gone.
  const bool flushes = port_->context->lib().modify_qp(queue_pair_, &error, IBV_QP_STATE) == 0;
  if (!flushes || port_->context->gone()) device_will_not_.store(true, std::memory_order_release);
}

void VerbsQueuePair::OnDeviceEvent(const absl::Status& why, bool completes) {
  Fail(why);
  if (!completes) device_will_not_.store(true, std::memory_order_release);
  send_queue_->Wake();
  receive_queue_->Wake();
}

void VerbsQueuePair::Close() {
  Fail(absl::CancelledError("closed by this end"));
  if (device_will_not_.load(std::memory_order_acquire)) {
    send_queue_->Wake();
    receive_queue_->Wake();
  }
}

// Where the end of a request may be long in coming for good reasons, nobody can miss it.
void VerbsQueuePair::AwaitProgress() const {
  if (longest_answer_ != absl::InfiniteDuration()) port_->context->AwaitProgress();
}

QueuePairState VerbsQueuePair::RefreshState() {
  port_->context->DrainEvents();
  AskOrGiveUp();
  return state();
}

bool VerbsQueuePair::LookForProgress() {
  if (longest_answer_ == absl::InfiniteDuration()) return false;
  {
    MutexLock lock(&send_mu_);
    if (!ready() || sends_.requests.empty()) return false;
    if (std::exchange(last_look_, sends_.first) != sends_.first) return true;
  }
  AskOrGiveUp();
  return ready();
}

void VerbsQueuePair::AskOrGiveUp() {
  if (Ask()) return;
  // The answer may lie there: a process that was stopped has not polled. Where another thread polls just now, the next
  // look says more.
  if (!send_queue_->TryTakeIn() || Ask()) return;
  OnDeviceEvent(absl::UnavailableError(absl::StrCat("the device has told nothing of a request for ",
                                                    absl::FormatDuration(longest_answer_), ", neither end nor error")),
                /*completes=*/true);
}

// Whether the peer is there. False: the last question was asked too long ago.
bool VerbsQueuePair::Ask() {
  MutexLock lock(&send_mu_);
  if (!ready()) return true;
  const absl::Time now = SteadyNow();
  if (asking_) return now - asked_at_ <= longest_answer_;
  SendRequest question;
  question.opcode = Opcode::kWrite;
  asking_ = PostRaw({&question, 1}, /*question=*/true).ok();
  asked_at_ = now;
  if (asking_) AwaitProgress();  // the device may forget the question, too
  return true;
}

}  // namespace skein::fabric::verbs
