#include "core/channel/ring/ring_channel.h"

#include <algorithm>
#include <utility>

#include "core/trace/counters.h"
#include "core/trace/probes.h"
#include "core/wire/immediate.h"

namespace skein::channel {
namespace {

using schedule::Credits;

Credits::Use CreditsFor(Use use) { return use == Use::kData ? Credits::Use::kData : Credits::Use::kControl; }
Reserve ReserveOf(Use use) { return use == Use::kData ? Reserve::kData : Reserve::kControl; }

// No head of the peer's ever says that it has seen a line.
constexpr uint64_t kUnseen = UINT64_MAX;

}  // namespace

RingChannel::RingChannel(RingGroup& group, std::unique_ptr<fabric::QueuePair> queue_pair, const ChannelOptions& options)
    : RingConnection(group, std::move(queue_pair), options), consumption_(options.ring_bytes / 4) {}

// Receiving -------------------------------------------------------------------------------------------------------

absl::StatusOr<std::optional<InMessage>> RingChannel::Next() {
  if (reader() == nullptr) return std::nullopt;  // not connected yet
  // A writer goes back to the beginning once, and then writes a message: a peer that does otherwise keeps nobody here.
  for (int wraps = 0; wraps < 2; ++wraps) {
    const absl::StatusOr<std::optional<Message>> found = reader()->Next();
    if (!found.ok()) return found.status();
    if (!found->has_value()) break;
    const Message& message = **found;
    if (!message.wraps()) {
      peer_seen_.store(message.header.seen, std::memory_order_relaxed);
      return InMessage{message.header.items, message.header.stage_time, message.area};
    }
    Pop();
  }
  return std::nullopt;
}

void RingChannel::Pop() {
  reader()->Pop();
  trace::probes::Received(this, reader()->head() - consumption_.consumed());
  consumption_.Consume(reader()->head());
  messages_read_.store(messages_read_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

bool RingChannel::Readable() const {
  if (reader() == nullptr) return false;
  const absl::StatusOr<std::optional<Message>> next = reader()->Next();
  return !next.ok() || next->has_value();
}

// What the peer says of itself ------------------------------------------------------------------------------------

absl::Status RingChannel::Heed() {
  if (met()) {
    if (absl::Status status = LookAtPeer(/*heeds=*/true); !status.ok()) return status;
  }
  return MustRing() ? RingIfUnseen() : absl::OkStatus();
}

// All that a line says is a state: a line that was written over before anybody looked is not missed. Its counters tell
// how often something has happened since the last look.
absl::Status RingChannel::LookAtPeer(bool heeds) {
  const absl::StatusOr<std::optional<wire::Control>> line = peer_control().Look(heeds);
  if (!line.ok() || !line->has_value()) return line.status();
  const wire::Control now = **line;
  if (absl::Status status = writer().SetPeerHead(now.consumed); !status.ok()) return status;
  if (now.wanted < peer_.wanted || now.wanted > consumption_.consumed() + options().ring_bytes) {
    return absl::DataLossError("the peer wants to hear of what it cannot have written");
  }
  const auto answers = static_cast<uint16_t>(now.answers - peer_.answers);
  const auto refills = static_cast<uint16_t>(now.refills - peer_.refills);
  if (absl::Status status = credits_.OnTold(answers, refills, now.open); !status.ok()) return status;
  peer_ = now;
  SetTellAt();
  // The line's notification has taken a receive. Senders that go on by such lines while the poller is away give
  // receives back.
  if (!heeds) group().Look();
  return absl::OkStatus();
}

// What this end says of itself ------------------------------------------------------------------------------------

// The poller is to ask for Tend when so much is consumed. A line that the send queue has no space for waits for
// completions (tending), and nobody polls for that.
void RingChannel::SetTellAt() {
  uint64_t at = told_.consumed + options().ring_bytes / 4;
  if (peer_.wanted > answered_) at = std::min(at, peer_.wanted);
  consumption_.TellAt(owes_ == Owes::kNothing ? at : UINT64_MAX);
}

void RingChannel::PrepareLine() {
  own_.consumed = consumption_.consumed();
  own_.presence = group().suppression().presence.load(std::memory_order_relaxed);
  if (Answers()) owes_ = Owes::kLineAndNotify;
}

absl::Status RingChannel::Say(bool signaled) {
  PrepareLine();
  owes_ = std::max(owes_, Owes::kLine);  // until it is posted
  Posting posting = NextPosting(owes_ == Owes::kLineAndNotify && MustRing());
  posting.signaled = signaled;
  absl::Status status = WithSpace([&] { return writer().Say(own_, posting); });
  if (status.ok()) {
    OnPosted(posting, /*with_line=*/true);
  } else {
    SetTellAt();
  }
  return status;
}

// With a request for own credits if it is time for one.
Posting RingChannel::NextPosting(bool rings) {
  if (!credits_.renewal_due()) return {.rings = rings};
  return {.rings = true, .immediate = wire::kRenewal};
}

void RingChannel::OnPosted(const Posting& posting, bool with_line) {
  if (posting.immediate != wire::kNotify) credits_.OnAsked();
  if (with_line) {
    if (owes_ == Owes::kLineAndNotify) unrung_ = kUnseen;
    if (Answers()) answered_ = peer_.wanted;
    owes_ = Owes::kNothing;
    told_ = own_;
    SetTellAt();
  }
  if (posting.rings) unrung_ = 0;
}

// The peer is to tell when it has consumed a quarter of its ring more, or all that is there. One question at a time:
// a sender that needs more asks again. False: there is nothing to ask.
bool RingChannel::Want() {
  const uint64_t head = writer().peer_head();
  if (own_.wanted > head || head == writer().tail()) return false;
  own_.wanted = std::min(writer().tail(), head + writer().ring_bytes() / 4);
  owes_ = Owes::kLineAndNotify;
  return true;
}

absl::Status RingChannel::Tend() {
  if (!met()) return absl::OkStatus();
  if (owes_ == Owes::kNothing && !credits_.renewal_due() && !consumption_.due()) return absl::OkStatus();
  const absl::Status status = Say();
  return absl::IsResourceExhausted(status) ? absl::OkStatus() : status;
}

void RingChannel::TellPresence() {
  if (told_.presence == group().suppression().presence.load(std::memory_order_relaxed) || !met()) return;
  // Nobody needs to wake for it: a quiet writer polls, and another one rings.
  EndIfBroken(Say());
}

absl::Status RingChannel::AnswerRenewal(bool granted) {
  if (own_.answers != told_.answers) return absl::DataLossError("credits asked for before the last answer");
  trace::Count(granted ? trace::Counter::kCreditsGranted : trace::Counter::kCreditsDeclined);
  ++own_.answers;
  own_.refills += granted ? 1 : 0;
  own_.open = granted;
  owes_ = Owes::kLineAndNotify;
  return absl::OkStatus();
}

void RingChannel::Activate() {
  if (std::exchange(own_.open, true)) return;
  ++own_.refills;
  owes_ = Owes::kLineAndNotify;
  if (met()) EndIfBroken(Say());
}

// Sending ---------------------------------------------------------------------------------------------------------

size_t RingChannel::Space(Use use) {
  if (!met()) return 0;
  const auto space = [&] { return credits_.CanSend(CreditsFor(use)) ? writer().Space(ReserveOf(use)) : 0; };
  if (const size_t now = space(); now >= writer().MostSpace()) [[likely]]
    return now;
  // The poller still hears of what is looked at here: others may wait for what it brings.
  if (absl::Status status = LookAtPeer(/*heeds=*/false); !status.ok()) {
    ProtocolError(status.message());
    group().Wake();
    return 0;
  }
  const bool wants = writer().Space(ReserveOf(use)) < writer().MostSpace() && Want();
  const bool asks = space() == 0 && credits_.renewal_due();
  if (wants || asks) EndIfBroken(Say());
  return space();
}

absl::Status RingChannel::Lay(absl::Span<OutItem> items, Use use) {
  return writer().Lay(items, ReserveOf(use), consumption_.consumed());
}

absl::Status RingChannel::Publish(uint64_t stage_time) {
  if (stage_time != 0) [[unlikely]]
    writer().Stamp(stage_time);
  const Presence presence = group().suppression().presence.load(std::memory_order_relaxed);
  const bool with_line = owes_ != Owes::kNothing || told_.presence != presence;
  if (with_line) [[unlikely]]
    PrepareLine();
  const Posting posting = NextPosting(MustRing());
  absl::Status status = WithSpace([&] { return writer().Post(posting, with_line ? &own_ : nullptr); });
  if (!status.ok()) {
    EndIfBroken(status);
    return status;
  }
  OnPosted(posting, with_line);
  if (!posting.rings) unrung_ = std::max(unrung_, writer().tail());
  credits_.OnSent();
  return absl::OkStatus();
}

bool RingChannel::MustRing() const {
  return channel::MustRing(peer_.presence, group().suppression().quiet.load(std::memory_order_relaxed));
}

// Messages tell what their sender had seen, more often than lines do: without that each reply would be followed by a
// notification for its request. It is compared as a distance, and an old one, or a lie, only costs a notification, or
// the liar its own.
bool RingChannel::IsUnseen() const {
  if (unrung_ == kUnseen) return true;
  const uint64_t head = writer().peer_head();
  const auto unit = static_cast<uint32_t>(head / wire::kMessageUnit);
  const uint64_t beyond = (peer_seen_.load(std::memory_order_relaxed) - unit) * uint64_t{wire::kMessageUnit};
  return unrung_ > head && (beyond > writer().tail() - head || unrung_ > head + beyond);
}

// No more notifications than messages and lines without: the receives that those did not take are left for them.
// Without space in the send queue it is tried again when completions come (tending), or the next message rings.
absl::Status RingChannel::RingIfUnseen() {
  if (unrung_ == 0 || !met()) return absl::OkStatus();
  if (IsUnseen()) {
    absl::Status status = WithSpace([this] { return writer().Ring(); });
    if (absl::IsResourceExhausted(status)) return absl::OkStatus();
    if (!status.ok()) return status;
  }
  unrung_ = 0;
  return absl::OkStatus();
}

// Most requests complete silently: one more, which does not, tells of all before it.
absl::StatusOr<bool> RingChannel::Reached() {
  if (!met()) return true;
  const uint64_t posted = writer().posted();
  if (reached() == posted) return true;
  if (flush_mark_ != posted && reached() >= flush_mark_) {
    const absl::Status status = Say(/*signaled=*/true);
    if (absl::IsResourceExhausted(status)) return false;
    if (!status.ok()) return status;
    flush_mark_ = posted;
    group().Look();
  }
  return reached() == posted;
}

}  // namespace skein::channel
