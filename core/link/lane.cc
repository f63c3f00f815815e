// Making and ending a lane, and its receiving half.
#include "core/link/lane.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/random_value.h"
#include "core/trace/probes.h"
#include "core/wire/immediate.h"

namespace skein::link {

Lane::Lane(fabric::Device& device, Queues& queues, const Attention& attention, const Options& options)
    : device_(device),
      queues_(queues),
      attention_(attention),
      options_(options),
      credits_(schedule::kDefaultCredits, options.may_send),
      peer_may_send_(options.peer_may_send) {}

absl::Status Lane::Open() {
  Forget();
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> queue_pair = device_.CreateQueuePair(queues_.options());
  if (!queue_pair.ok()) return queue_pair.status();
  {
    MutexLock lock(&mu_);
    queue_pair_ = *std::move(queue_pair);
  }
  queues_.Add(this);
  return absl::OkStatus();
}

void Lane::Release() {
  if (queue_pair_ == nullptr) return;
  queues_.Remove(this);
  if (reader_ != nullptr) queues_.TakeBackReceives();
  MutexLock lock(&mu_);
  // First: nothing may arrive in memory that is gone, nor be read out of it.
  queue_pair_.reset();
  if (writer_ != nullptr) {
    before_.messages_sent += writer_->posted();
    before_.bytes_sent += writer_->tail();
  }
  writer_.reset();
  mirror_.reset();
  reader_.reset();
  ring_.reset();
}

// All that is of one connection. What others may have left here since the last one ended, too: a word on credits, a
// port that waits.
void Lane::Forget() {
  reached_ = 0;
  queue_pair_failed_ = false;
  renewal_ = -1;
  contended_ = -1;
  receives_to_post_ = 0;
  last_head_.reset();
  greeted_ = false;
  {
    MutexLock lock(&breach_mu_);
    breach_.clear();
  }
  MutexLock lock(&mu_);
  before_.bytes_received += read_head_.exchange(0, std::memory_order_relaxed);
  control_.clear();
  room_waiters_.clear();
  credits_ = schedule::Credits(schedule::kDefaultCredits, options_.may_send);
  peer_may_send_ = options_.peer_may_send;
  words_.clear();
  head_wanted_ = false;
  head_asked_ = 0;
  vacating_ = false;
  vacant_ = false;
  last_word_.reset();
  messages_ = 0;
  combined_ = 0;
  told_head_ = 0;
  peer_ = Presence::kMaySleep;
  told_ = Presence::kMaySleep;
  unrung_ = 0;
  flush_mark_ = 0;
}

absl::Status Lane::AllocateRing() {
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> ring =
      device_.Allocate(options_.ring_bytes, fabric::kRemoteWrite);
  if (!ring.ok()) return ring.status();
  ring_ = *std::move(ring);
  ring_secret_ = RandomValue<uint64_t>();
  if (absl::Status status = queues_.PostReceives(*queue_pair_); !status.ok()) return status;
  reader_ = std::make_unique<ring::RingReader>(ring_->bytes(), ring_secret_);
  return absl::OkStatus();
}

wire::RingDescriptor Lane::OwnRing() const {
  return {ring_->remote().address, ring_->bytes().size(), ring_secret_, ring_->remote().rkey};
}

absl::StatusOr<std::string> Lane::Offer() { return queue_pair_->Offer(); }

absl::Status Lane::Complete(absl::string_view queue_pair_answer, const wire::RingDescriptor& peer_ring) {
  if (absl::Status status = queue_pair_->Complete(queue_pair_answer); !status.ok()) return status;
  if (absl::Status status = AllocateRing(); !status.ok()) return status;
  return Meet(peer_ring);
}

absl::StatusOr<std::string> Lane::Accept(absl::string_view queue_pair_offer) {
  absl::StatusOr<std::string> answer = queue_pair_->Accept(queue_pair_offer);
  if (!answer.ok()) return answer.status();
  // After the peer has been judged, and before it hears "yes": then everything is there.
  if (absl::Status status = AllocateRing(); !status.ok()) return status;
  // Most peers' rings are no larger than this end's.
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> mirror =
      ring::RingWriter::AllocateMirror(device_, std::min<uint64_t>(options_.ring_bytes, options_.max_mirror_bytes));
  if (!mirror.ok()) return mirror.status();
  mirror_ = *std::move(mirror);
  return answer;
}

absl::Status Lane::Meet(const wire::RingDescriptor& peer_ring) {
  absl::StatusOr<std::unique_ptr<ring::RingWriter>> writer =
      ring::RingWriter::Create(device_, *queue_pair_, peer_ring, options_.max_mirror_bytes, std::move(mirror_));
  if (!writer.ok()) return writer.status();
  usable_changed_.store(true, std::memory_order_release);
  MutexLock lock(&mu_);
  writer_ = *std::move(writer);
  return absl::OkStatus();
}

bool Lane::met() const {
  MutexLock lock(&mu_);
  return writer_ != nullptr;
}

size_t Lane::LargestItem() const {
  MutexLock lock(&mu_);
  return writer_ == nullptr ? 0 : writer_->LargestItem();
}

absl::Status Lane::error() const {
  MutexLock lock(&mu_);
  return error_;
}

void Lane::Close() {
  MutexLock lock(&mu_);
  if (queue_pair_ != nullptr) queue_pair_->Close();
}

bool Lane::StillConnected() {
  MutexLock lock(&mu_);
  if (queue_pair_ == nullptr || NothingIsLostWithIt()) return true;
  return queue_pair_->RefreshState() != fabric::QueuePairState::kError;
}

void Lane::Fail(const absl::Status& why) {
  Close();
  {
    MutexLock lock(&mu_);
    error_ = why;
    control_.clear();
    room_waiters_.clear();
    leaving_.clear();
    moved_.clear();
  }
  memory_.FlushAll();
}

absl::Status Lane::why_disconnected() const {
  {
    MutexLock lock(&breach_mu_);
    if (!breach_.empty()) return absl::DataLossError(breach_);
  }
  if (absl::Status failed = error(); !failed.ok()) return failed;
  const absl::Status error = queue_pair_->error();
  return error.ok() ? absl::UnavailableError("it was closed") : error;
}

bool Lane::OnCompletion(const fabric::Completion& completion) {
  const bool of_memory = completion.id & MemoryOperations::kIdBit;
  const bool of_message = !of_memory && (completion.opcode == fabric::Opcode::kWrite ||
                                         completion.opcode == fabric::Opcode::kWriteWithImmediate);
  if (of_memory) memory_.OnCompletion(completion);
  if (completion.status != fabric::CompletionStatus::kSuccess) {
    Disconnect();
  } else if (of_message) {
    reached_.store(completion.id, std::memory_order_relaxed);
  } else if (completion.opcode == fabric::Opcode::kReceiveWithImmediate) {
    ++receives_to_post_;
    OnImmediate(completion.immediate);
  } else if (completion.opcode == fabric::Opcode::kReceive) {
    Breach("a SEND");
  }
  return of_message;
}

void Lane::Breach(absl::string_view what) {
  if (connected()) {
    MutexLock lock(&breach_mu_);
    breach_ = std::string(what);
  }
  Disconnect();
}

bool Lane::breached() const {
  MutexLock lock(&breach_mu_);
  return !breach_.empty();
}

void Lane::OnImmediate(uint32_t immediate) {
  const absl::StatusOr<std::optional<uint16_t>> renewal = wire::DecodeImmediate(immediate);
  if (!renewal.ok()) return Breach(renewal.status().message());
  if (!renewal->has_value()) return;
  if (renewal_.exchange(**renewal, std::memory_order_release) >= 0) Breach("credits asked for twice");
}

void Lane::Repost(size_t at_least) {
  if (receives_to_post_ < at_least || !connected()) return;
  const std::vector<fabric::ReceiveRequest> batch(std::exchange(receives_to_post_, 0));
  if (!queue_pair_->PostReceive(batch).ok()) Disconnect();
}

absl::StatusOr<std::optional<ring::Message>> Lane::Next() {
  if (reader_ == nullptr) return std::nullopt;  // not connected yet
  absl::StatusOr<std::optional<ring::Message>> message = reader_->Next();
  if (!message.ok() || !message->has_value()) return message;
  if (absl::Status status = Note((*message)->header); !status.ok()) return status;
  return message;
}

absl::Status Lane::Note(const wire::MessageHeader& header) {
  MutexLock lock(&mu_);
  if (writer_ != nullptr) {
    if (absl::Status status = writer_->SetPeerHead(header.head); !status.ok()) return status;
  } else if (header.head != 0) {
    return absl::DataLossError("a head for a ring that was not given yet");
  }
  if (header.flags & wire::kWrap) return absl::OkStatus();
  if (absl::Status status = NotePresence(header.flags & wire::kPresence); !status.ok()) return status;
  return NoteWord(header.flags & ~wire::kPresence);
}

absl::Status Lane::NotePresence(uint16_t flags) {
  if (flags == wire::kPresence) return absl::DataLossError("a peer that is awake and sleepless");
  peer_ = static_cast<Presence>(flags);
  if (peer_ == Presence::kMaySleep) RingIfUnseen();
  return absl::OkStatus();
}

// On this lane's credits.
absl::Status Lane::NoteWord(uint16_t flags) {
  switch (flags) {
    case 0:
      return absl::OkStatus();
    case wire::kGrant:
      return credits_.OnAnswer(true);
    case wire::kDecline:
      usable_changed_.store(true, std::memory_order_release);
      return credits_.OnAnswer(false);
    case wire::kActivate:
      usable_changed_.store(true, std::memory_order_release);
      return credits_.OnActivated();
    case wire::kHeadWanted:
      head_wanted_ = true;
      return absl::OkStatus();
    default:
      return absl::DataLossError(absl::StrCat("a message with flags ", flags));
  }
}

std::optional<uint16_t> Lane::TakeRenewal() {
  const int32_t degree = renewal_waits() ? renewal_.exchange(-1, std::memory_order_acquire) : -1;
  return degree < 0 ? std::nullopt : std::make_optional(static_cast<uint16_t>(degree));
}

void Lane::Pop() {
  reader_->Pop();
  trace::probes::Received(this, reader_->head() - read_head_.load(std::memory_order_relaxed));
  read_head_.store(reader_->head(), std::memory_order_release);
  messages_received_.store(messages_received_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

Traffic Lane::traffic() const {
  MutexLock lock(&mu_);
  Traffic traffic = before_;
  traffic.messages_received += messages_received_.load(std::memory_order_relaxed);
  traffic.bytes_received += read_head_.load(std::memory_order_relaxed);
  if (writer_ == nullptr) return traffic;
  traffic.messages_sent += writer_->posted();
  traffic.bytes_sent += writer_->tail();
  return traffic;
}

bool Lane::Ends() {
  // With shared receives no completion tells of a queue pair that has failed and was sending nothing.
  if (queue_pair_->state() == fabric::QueuePairState::kError) Disconnect();
  if (connected()) return false;
  if (!last_head_.has_value()) last_head_ = head() + options_.ring_bytes;
  if (breached()) return true;
  MutexLock lock(&mu_);
  return !NothingIsLostWithIt();
}

bool Lane::Readable() const {
  if (reader_ == nullptr) return false;
  const absl::StatusOr<std::optional<ring::Message>> next = reader_->Next();
  return !next.ok() || next->has_value();
}

}  // namespace skein::link
