#include "core/channel/ring/ring_channel.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "core/base/random_value.h"
#include "core/trace/counters.h"
#include "core/trace/probes.h"
#include "core/wire/bytes.h"
#include "core/wire/immediate.h"

namespace skein::channel {
namespace {

using schedule::Credits;

Credits::Use CreditsFor(Use use) { return use == Use::kData ? Credits::Use::kData : Credits::Use::kControl; }
Reserve ReserveOf(Use use) { return use == Use::kData ? Reserve::kData : Reserve::kControl; }

}  // namespace

RingChannel::RingChannel(RingGroup& group, std::unique_ptr<fabric::QueuePair> queue_pair, const ChannelOptions& options)
    : group_(group), options_(options), queue_pair_(std::move(queue_pair)) {
  group_.SetChannel(this);
}

RingChannel::~RingChannel() {
  group_.SetChannel(nullptr);
  // First: nothing may arrive in memory that is gone, nor be read out of it.
  queue_pair_.reset();
}

absl::Status RingChannel::AllocateRing() {
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> ring =
      group_.device()->Allocate(options_.ring_bytes, fabric::kRemoteWrite);
  if (!ring.ok()) return ring.status();
  ring_ = *std::move(ring);
  ring_secret_ = RandomValue<uint64_t>();
  if (absl::Status status = group_.PostReceives(); !status.ok()) return status;
  reader_ = std::make_unique<RingReader>(ring_->bytes(), ring_secret_);
  return absl::OkStatus();
}

wire::RingDescriptor RingChannel::OwnRing() const {
  return {ring_->remote().address, ring_->bytes().size(), ring_secret_, ring_->remote().rkey};
}

absl::Status RingChannel::Complete(const Answer& answer) {
  if (absl::Status status = queue_pair_->Complete(answer.connection); !status.ok()) return status;
  if (absl::Status status = AllocateRing(); !status.ok()) return status;
  return Meet(answer.ring);
}

absl::StatusOr<Channel::Answer> RingChannel::Accept(absl::string_view offer) {
  absl::StatusOr<std::string> answer = queue_pair_->Accept(offer);
  if (!answer.ok()) return answer.status();
  // After the peer has been judged, and before it hears "yes": then everything is there.
  if (absl::Status status = AllocateRing(); !status.ok()) return status;
  // Most peers' rings are no larger than this end's.
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> mirror =
      group_.device()->Allocate(std::min<uint64_t>(options_.ring_bytes, options_.max_mirror_bytes), fabric::kLocalOnly);
  if (!mirror.ok()) return mirror.status();
  mirror_ = *std::move(mirror);
  return Answer{*std::move(answer), OwnRing()};
}

std::string RingChannel::Greeting() const { return wire::EncodeRingDescriptor(OwnRing()); }

absl::Status RingChannel::OnGreeting(absl::string_view greeting) {
  const absl::StatusOr<wire::RingDescriptor> ring = wire::DecodeRingDescriptor(greeting);
  return ring.ok() ? Meet(*ring) : ring.status();
}

absl::Status RingChannel::Meet(const wire::RingDescriptor& peer_ring) {
  absl::StatusOr<std::unique_ptr<RingWriter>> writer =
      RingWriter::Create(*group_.device(), *queue_pair_, peer_ring, options_.max_mirror_bytes, std::move(mirror_));
  if (!writer.ok()) return writer.status();
  writer_ = *std::move(writer);
  met_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

// Completions -----------------------------------------------------------------------------------------------------

bool RingChannel::OnCompletion(const fabric::Completion& completion) {
  const bool of_memory = completion.id & MemoryOperations::kIdBit;
  const bool of_message = !of_memory && (completion.opcode == fabric::Opcode::kWrite ||
                                         completion.opcode == fabric::Opcode::kWriteWithImmediate);
  if (of_memory && options_.operations != nullptr) options_.operations->OnCompletion(completion);
  if (completion.status != fabric::CompletionStatus::kSuccess) {
    Disconnect();
  } else if (of_message) {
    reached_.store(completion.id, std::memory_order_relaxed);
  } else if (completion.opcode == fabric::Opcode::kReceiveWithImmediate) {
    OnImmediate(completion.immediate);
  } else if (completion.opcode == fabric::Opcode::kReceive) {
    Breach("a SEND");
  }
  return of_message;
}

void RingChannel::OnImmediate(uint32_t immediate) {
  const absl::StatusOr<std::optional<uint16_t>> renewal = wire::DecodeImmediate(immediate);
  if (!renewal.ok()) return Breach(renewal.status().message());
  if (!renewal->has_value()) return;
  if (renewal_.exchange(true, std::memory_order_release)) Breach("credits asked for twice");
}

void RingChannel::Breach(absl::string_view what) {
  if (connected()) {
    MutexLock lock(&breach_mu_);
    breach_ = std::string(what);
  }
  Disconnect();
}

bool RingChannel::breached() const {
  MutexLock lock(&breach_mu_);
  return !breach_.empty();
}

absl::Status RingChannel::why_ended() const {
  {
    MutexLock lock(&breach_mu_);
    if (!breach_.empty()) return absl::DataLossError(breach_);
  }
  const absl::Status error = queue_pair_->error();
  return error.ok() ? absl::UnavailableError("it was closed") : error;
}

bool RingChannel::Ended() {
  // With shared receives no completion tells of a queue pair that has failed and was sending nothing.
  if (queue_pair_->state() == fabric::QueuePairState::kError) Disconnect();
  return !connected();
}

// Receiving -------------------------------------------------------------------------------------------------------

absl::StatusOr<std::optional<InMessage>> RingChannel::Next() {
  if (reader_ == nullptr) return std::nullopt;  // not connected yet
  // A writer goes back to the beginning once, and then writes a message: a peer that does otherwise keeps nobody here.
  for (int wraps = 0; wraps < 2; ++wraps) {
    const absl::StatusOr<std::optional<Message>> found = reader_->Next();
    if (!found.ok()) return found.status();
    if (!found->has_value()) break;
    const Message& message = **found;
    if (!std::exchange(is_noted_, true)) {
      if (absl::Status status = Note(message.header); !status.ok()) return status;
    }
    if ((message.header.flags & wire::kWrap) == 0) {
      return InMessage{message.header.items, message.header.stage_time, message.area};
    }
    Pop();
  }
  return std::nullopt;
}

// The peer's head is checked where what this end has written is known: in Heed.
absl::Status RingChannel::Note(const wire::MessageHeader& header) {
  if (!met() && header.head != 0) {
    return absl::DataLossError("a head for a ring that was not given yet");
  }
  if (header.head < noted_.head) return absl::DataLossError("the peer's ring head went where no message was");
  noted_.head = header.head;
  if (header.flags & wire::kWrap) return absl::OkStatus();
  const uint16_t presence = header.flags & wire::kPresence;
  if (presence == wire::kPresence) return absl::DataLossError("a peer that is awake and sleepless");
  noted_.presence = static_cast<Presence>(presence);
  const uint16_t word = header.flags & ~wire::kPresence;
  if (word != 0) noted_.words.push_back(word);
  return absl::OkStatus();
}

void RingChannel::Pop() {
  reader_->Pop();
  is_noted_ = false;
  trace::probes::Received(this, reader_->head() - bytes_read_.load(std::memory_order_relaxed));
  bytes_read_.store(reader_->head(), std::memory_order_relaxed);
  messages_read_.store(messages_read_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool RingChannel::AfterReading() {
  MutexLock lock(&handed_mu_);
  handed_.read = reader_->head();
  handed_.head = noted_.head;
  if (noted_.presence.has_value()) handed_.presence = std::exchange(noted_.presence, std::nullopt);
  handed_.words.insert(handed_.words.end(), noted_.words.begin(), noted_.words.end());
  noted_.words.clear();
  return true;
}

bool RingChannel::Readable() const {
  if (reader_ == nullptr) return false;
  const absl::StatusOr<std::optional<Message>> next = reader_->Next();
  return !next.ok() || next->has_value();
}

// Sending ---------------------------------------------------------------------------------------------------------

absl::Status RingChannel::Heed() {
  Noted noted;
  {
    MutexLock lock(&handed_mu_);
    noted.read = handed_.read;
    noted.head = handed_.head;
    noted.presence = std::exchange(handed_.presence, std::nullopt);
    noted.words.swap(handed_.words);
  }
  head_ = noted.read;
  if (met() && noted.head != writer_->peer_head()) {
    if (absl::Status status = writer_->SetPeerHead(noted.head); !status.ok()) return status;
  }
  if (noted.presence.has_value()) {
    presence_ = *noted.presence;
    if (presence_ == Presence::kMaySleep) {
      if (absl::Status status = RingIfUnseen(); !status.ok()) return status;
    }
  }
  for (const uint16_t word : noted.words) {
    if (absl::Status status = HeedWord(word); !status.ok()) return status;
  }
  return MustRing() ? RingIfUnseen() : absl::OkStatus();
}

absl::Status RingChannel::HeedWord(uint16_t word) {
  switch (word) {
    case wire::kGrant:
      return credits_.OnAnswer(true);
    case wire::kDecline:
      return credits_.OnAnswer(false);
    case wire::kActivate:
      return credits_.OnActivated();
    default:
      return absl::DataLossError(absl::StrCat("a message with flags ", word));
  }
}

absl::Status RingChannel::Tend() {
  if (!met()) return absl::OkStatus();
  if (absl::Status status = TellWords(); !status.ok()) return status;
  if (head_ - told_head_ < options_.ring_bytes / 4) return absl::OkStatus();
  // Refused only when the peer has not read even the last reserve; it will be told by the next message.
  if (!credits_.CanSend(Credits::Use::kControl)) return absl::OkStatus();
  const absl::Status status = PostHead(Reserve::kHead, {});
  if (status.ok()) credits_.OnSent(0);
  return absl::IsResourceExhausted(status) ? absl::OkStatus() : status;
}

size_t RingChannel::Room(Use use) {
  if (!met()) return 0;
  if (credits_.CanSend(CreditsFor(use))) return writer_->Room(ReserveOf(use));
  EndIfBroken(TellWords());
  return 0;
}

absl::Status RingChannel::Lay(absl::Span<OutItem> items, Use use) { return LayIn(items, ReserveOf(use)); }

absl::Status RingChannel::LayIn(absl::Span<OutItem> items, Reserve reserve) {
  envelope_.head = head_;
  envelope_.flags = static_cast<uint16_t>(group_.attention().presence.load(std::memory_order_relaxed));
  if (!words_.empty()) envelope_.flags |= words_.front();
  return writer_->Lay(items, envelope_, reserve);
}

absl::Status RingChannel::Publish(const Publication& publication) {
  absl::Status status = Post({.stage_time = publication.stage_time});
  if (status.ok()) credits_.OnSent(publication.degree);
  return status;
}

// What is laid, with a request for own credits if it is time for one.
absl::Status RingChannel::Post(const Manner& manner) {
  if (manner.stage_time != 0) [[unlikely]]
    writer_->Stamp(manner.stage_time);
  Posting posting;
  posting.signaled = manner.signaled;
  const bool asks = credits_.renewal_due();
  if (asks) posting.immediate = wire::EncodeRenewal(credits_.MedianDegree());
  posting.rings = asks || (manner.silent ? !words_.empty() : MustRing());
  if (absl::Status status = WithRoom([&] { return writer_->Post(posting); }); !status.ok()) {
    EndIfBroken(status);
    return status;
  }
  told_ = static_cast<Presence>(envelope_.flags & wire::kPresence);
  // What nobody is woken for does not count as told.
  if (posting.rings || !manner.silent) {
    unrung_ = posting.rings ? 0 : writer_->tail();
    told_head_ = envelope_.head;
  }
  if (asks) credits_.OnAsked();
  if (!words_.empty()) words_.pop_front();
  return absl::OkStatus();
}

absl::Status RingChannel::PostHead(Reserve reserve, const Manner& manner) {
  OutItem head;
  head.header.kind = wire::ItemKind::kHead;
  const absl::Status status = LayIn({&head, 1}, reserve);
  return status.ok() ? Post(manner) : status;
}

absl::Status RingChannel::WithRoom(absl::FunctionRef<absl::Status()> post) {
  absl::Status status = post();
  if (!absl::IsResourceExhausted(status)) return status;
  group_.Look();  // completions make room in the send queue
  return connected() ? post() : status;
}

// A queue pair that takes no more posts is of no use: the poller learns that, and ends the link.
void RingChannel::EndIfBroken(const absl::Status& status) {
  if (status.ok() || absl::IsResourceExhausted(status)) return;
  queue_pair_->Close();
  group_.Wake();
}

bool RingChannel::MustRing() const {
  return channel::MustRing(presence_, group_.attention().quiet.load(std::memory_order_relaxed));
}

// No more bells than messages without: the receives that those did not take are left for them. Without room in the send
// queue it is tried again when completions come (tending), or the next message rings.
absl::Status RingChannel::RingIfUnseen() {
  if (unrung_ == 0 || !met()) return absl::OkStatus();
  if (unrung_ > writer_->peer_head()) {
    absl::Status status = WithRoom([this] { return writer_->Ring(); });
    if (absl::IsResourceExhausted(status)) return absl::OkStatus();
    if (!status.ok()) return status;
  }
  unrung_ = 0;
  return absl::OkStatus();
}

void RingChannel::RingForUnseen() { EndIfBroken(RingIfUnseen()); }

void RingChannel::TellPresence() {
  if (told_ == group_.attention().presence.load(std::memory_order_relaxed) || !met()) return;
  // Nobody needs to wake for it: who is quiet polls, and who is not rings. Without room it is said by the next message.
  EndIfBroken(PostHead(Reserve::kHead, {.silent = true}));
}

// Credits are talked about without any: two ends could otherwise wait for each other.
absl::Status RingChannel::TellWords() {
  while (HasWords()) {
    absl::Status status = PostHead(Reserve::kHead, {});
    if (absl::IsResourceExhausted(status)) break;
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RingChannel::AnswerRenewal(bool granted) {
  const auto answers = [](uint16_t word) { return word == wire::kGrant || word == wire::kDecline; };
  if (absl::c_any_of(words_, answers)) return absl::DataLossError("credits asked for before the last answer");
  trace::Count(granted ? trace::Counter::kCreditsGranted : trace::Counter::kCreditsDeclined);
  peer_may_send_ = granted;
  words_.push_back(granted ? wire::kGrant : wire::kDecline);
  return absl::OkStatus();
}

void RingChannel::Activate() {
  if (std::exchange(peer_may_send_, true)) return;
  words_.push_back(wire::kActivate);
  if (met()) EndIfBroken(TellWords());
}

// Most requests complete silently: one more, which does not, tells of all before it.
absl::StatusOr<bool> RingChannel::Reached() {
  if (!met()) return true;
  if (reached_.load(std::memory_order_relaxed) >= flush_mark_ && flush_mark_ != writer_->posted()) {
    if (!credits_.CanSend(Credits::Use::kControl)) return false;
    const absl::Status status = PostHead(Reserve::kControl, {.signaled = true});
    if (absl::IsResourceExhausted(status)) return false;
    if (!status.ok()) return status;
    credits_.OnSent(0);
    flush_mark_ = writer_->posted();
    group_.Look();
  }
  return reached_.load(std::memory_order_relaxed) == writer_->posted();
}

absl::Status RingChannel::PostOperations(absl::Span<const fabric::SendRequest> operations) {
  return WithRoom([&] { return queue_pair_->PostSend(operations); });
}

}  // namespace skein::channel
