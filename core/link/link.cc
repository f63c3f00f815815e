// Making and ending a link.
#include "core/link/link.h"

namespace skein::link {

absl::StatusOr<std::shared_ptr<Link>> Link::Create(std::shared_ptr<channel::Transport> transport, LinkOptions options) {
  absl::StatusOr<std::unique_ptr<channel::ChannelGroup>> group = transport->NewGroup(options.shares_memory);
  if (!group.ok()) return group.status();
  std::shared_ptr<Link> link(new Link(std::move(transport), *std::move(group), std::move(options)));
  channel::ChannelOptions of_channel;
  of_channel.ring_bytes = link->options_.ring_bytes;
  of_channel.max_staging_bytes = link->options_.max_staging_bytes;
  of_channel.operations = &link->operations_.under_way();
  if (absl::Status status = link->queue_.Open(of_channel); !status.ok()) return status;
  LinkStatistics::Get().Add(link.get());
  return link;
}

Link::~Link() { LinkStatistics::Get().Remove(this); }

Traffic Link::traffic() const {
  Traffic traffic = queue_.sent();
  traffic.messages_received = channel().messages_read();
  traffic.bytes_received = channel().bytes_read();
  return traffic;
}

absl::Status Link::Complete(const Answer& answer) {
  if (absl::Status status = channel().Complete(answer); !status.ok()) return status;
  if (absl::Status status = options_.takes_blocks ? bulk_.Prepare() : absl::OkStatus(); !status.ok()) return status;
  queue_.QueueOwn(wire::ItemKind::kHello, channel().Greeting());
  return absl::OkStatus();
}

absl::StatusOr<Link::Answer> Link::Accept(absl::string_view offer) {
  receiver_.BePassive();
  absl::StatusOr<Answer> answer = channel().Accept(offer);
  if (!answer.ok()) return answer.status();
  if (absl::Status status = options_.takes_blocks ? bulk_.Prepare() : absl::OkStatus(); !status.ok()) return status;
  // Without queue pairs there are no turns.
  if (options_.shares != nullptr && device() != nullptr) {
    const absl::Status joined = receiver_.JoinShares(options_.shares, [weak = weak_from_this()] {
      if (const std::shared_ptr<Link> link = weak.lock()) link->queue_.Activate();
    });
    if (!joined.ok()) return joined;
  }
  return answer;
}

absl::StatusOr<size_t> Link::SendBlocks(Port& port, absl::Span<const ConstBytes> buffers, size_t bytes) {
  absl::StatusOr<size_t> sent = bulk_.Send(port, buffers, bytes);
  return absl::IsFailedPrecondition(sent.status()) ? Send(port, buffers, bytes) : sent;
}

void Link::Tell(Presence presence) {
  if (group_->suppression().presence.exchange(presence, std::memory_order_relaxed) == presence) return;
  if (presence == Presence::kMaySleep) queue_.TellPresence();
}

void Link::EndQuiet() {
  if (group_->suppression().quiet.exchange(false, std::memory_order_relaxed)) queue_.RingForUnseen();
}

bool Link::Retire() {
  if (!finished() && ports_.unused() && flushing_.Flushed()) {
    Leave();
    Drain();  // so that the ports are told, and let go of this link
  }
  return finished();
}

void Link::Leave() {
  const bool told = transport_->traits().announces_close || !channel().met();
  if (told) return Close();
  if (leaving_.exchange(true, std::memory_order_relaxed)) return;
  queue_.SendOwn(wire::ItemKind::kBye, {});
  flushing_.When([weak = weak_from_this()](const absl::Status&) {
    if (const std::shared_ptr<Link> link = weak.lock()) link->Close();
  });
}

bool Link::StillConnected() {
  if (finished()) return false;
  group_->Look();  // a device that has told long ago, when nobody looked, is not silent
  return channel().StillConnected();
}

bool Link::TakesStreams() { return channel().met() && !leaving_.load(std::memory_order_relaxed) && StillConnected(); }

void Link::Close() {
  channel().Close();
  group_->Wake();  // the sleeper is to find out
}

}  // namespace skein::link
