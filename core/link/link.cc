// Making and ending a link.
#include "core/link/link.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "core/channel/ring/ring_group.h"

namespace skein::link {

absl::StatusOr<std::shared_ptr<Link>> Link::Create(std::shared_ptr<channel::Transport> transport, LinkOptions options) {
  options.max_lanes = std::min(options.max_lanes, transport->traits().max_channels);
  absl::StatusOr<std::unique_ptr<channel::ChannelGroup>> group =
      transport->NewGroup(options.max_lanes, options.shares_memory);
  if (!group.ok()) return group.status();
  std::shared_ptr<Link> link(new Link(std::move(transport), *std::move(group), std::move(options)));
  if (absl::Status status = link->NextLane().Open(); !status.ok()) return status;
  link->CountNextLane();
  Census::Get().Add(link.get());
  return link;
}

absl::StatusOr<std::shared_ptr<Link>> Link::Create(std::shared_ptr<fabric::Device> device, LinkOptions options) {
  return Create(std::make_shared<channel::RingTransport>(std::move(device)), std::move(options));
}

Link::~Link() {
  Census::Get().Remove(this);
  if (sender_.has_value()) options_.shares->Leave(*sender_);
}

Traffic Link::traffic() const {
  Traffic traffic;
  const uint16_t made = lanes_made_.load(std::memory_order_acquire);
  for (uint16_t i = 0; i < made; ++i) traffic += lanes_[i]->traffic();
  return traffic;
}

Lane& Link::NextLane() {
  const auto number = static_cast<uint16_t>(lanes());
  std::unique_ptr<Lane>& lane = lanes_[number];
  if (lane != nullptr) return *lane;
  Lane::Options options;
  options.channel.ring_bytes = options_.ring_bytes;
  options.channel.max_mirror_bytes = options_.max_mirror_bytes;
  // All but the first are for the passive side to activate; its own sending needs nobody's word.
  options.channel.may_send = passive_ || number == 0;
  options.channel.peer_may_send = !passive_ || number == 0;
  options.number = number;
  options.combines = options_.combines;
  lane = std::make_unique<Lane>(*group_, options);
  return *lane;
}

void Link::CountNextLane() {
  const uint16_t count = NextLane().number() + 1;
  lane_count_.store(count, std::memory_order_release);
  if (count > lanes_made_.load(std::memory_order_relaxed)) lanes_made_.store(count, std::memory_order_release);
}

absl::Status Link::Complete(const Answer& answer) {
  if (absl::Status status = first().Complete(answer); !status.ok()) return status;
  if (absl::Status status = PreparePulls(); !status.ok()) return status;
  first().QueueControl(wire::ItemKind::kHello, first().Greeting());
  return absl::OkStatus();
}

absl::StatusOr<Link::Answer> Link::Accept(absl::string_view offer) {
  passive_ = true;
  absl::StatusOr<Answer> answer = first().Accept(offer);
  if (!answer.ok()) return answer.status();
  if (absl::Status status = PreparePulls(); !status.ok()) return status;
  JoinShares();
  return answer;
}

// With the ring's memory, and not at the first block: what is refused now costs nobody bytes that are on their way.
absl::Status Link::PreparePulls() {
  if (!options_.takes_blocks || device() == nullptr) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<Pulls>> pulls = Pulls::Create(*device());
  if (!pulls.ok()) return pulls.status();
  pulls_ = *std::move(pulls);
  return absl::OkStatus();
}

void Link::JoinShares() {
  if (options_.shares == nullptr || device() == nullptr) return;  // without queue pairs there are none to share out
  sender_ = options_.shares->Join(options_.max_lanes, [weak = weak_from_this()](uint16_t lane) {
    const std::shared_ptr<Link> link = weak.lock();
    if (link != nullptr && lane < link->lanes()) link->lanes_[lane]->Activate();
  });
}

uint32_t Link::NewStreamNumber() {
  MutexLock lock(&ports_mu_);
  if (finished() || takes_no_port_ || highest_stream_ == UINT32_MAX) return 0;
  return ++highest_stream_;
}

absl::Status Link::AddPort(const std::shared_ptr<Port>& port) {
  MutexLock lock(&ports_mu_);
  if (finished() || takes_no_port_) return absl::UnavailableError("the link to the peer is lost");
  const uint32_t stream = port->stream();
  if (!ports_.try_emplace(stream, port).second) return absl::DataLossError("the peer gave a stream twice");
  LaneForNewStream().Place(*port);
  highest_stream_ = std::max(highest_stream_, stream);
  return absl::OkStatus();
}

bool Link::RemovePort(uint32_t stream) {
  MutexLock lock(&ports_mu_);
  const auto port = ports_.find(stream);
  if (port != ports_.end()) {
    Lane::Remove(*port->second);
    port->second->removed_.store(true, std::memory_order_release);
    if (port->second->counted_as_abandoned_) --abandoned_ports_;
    ports_.erase(port);
  }
  return ports_.empty();
}

bool Link::Abandoned(Port& port) {
  MutexLock lock(&ports_mu_);
  if (ports_.contains(port.stream()) && !std::exchange(port.counted_as_abandoned_, true)) ++abandoned_ports_;
  return abandoned_ports_ <= kMostAbandoned;
}

bool Link::unused() const {
  MutexLock lock(&ports_mu_);
  return ports_.size() == abandoned_ports_;
}

size_t Link::ports() const {
  MutexLock lock(&ports_mu_);
  return ports_.size();
}

void Link::SendControl(const std::shared_ptr<Port>& port, wire::ItemKind kind, std::string payload) {
  Lane::SendControl(port, kind, std::move(payload));
}

void Link::ReturnWindow(const std::shared_ptr<Port>& port, uint64_t bytes) { Lane::ReturnWindow(port, bytes); }

void Link::Tell(Presence presence) {
  if (group_->attention().presence.exchange(presence, std::memory_order_relaxed) == presence) return;
  if (presence != Presence::kMaySleep) return;
  for (const auto& lane : all_lanes()) lane->TellPresence();
}

void Link::EndQuiet() {
  if (!group_->attention().quiet.exchange(false, std::memory_order_relaxed)) return;
  for (const auto& lane : all_lanes()) lane->RingForUnseen();
}

bool Link::Flush(bool tells) {
  bool flushed = blocks_.AllBack(tells);
  for (const auto& lane : all_lanes()) flushed &= lane->Flush(tells);
  return flushed;
}

void Link::WhenFlushed(std::function<void(const absl::Status&)> then) {
  std::vector<std::function<void(const absl::Status&)>> waiters;
  {
    MutexLock lock(&flush_mu_);
    flush_waiters_.push_back(std::move(then));
    // Under the lock: a poll that finds it flushed from now on finds the waiter as well. If this finds it, no poll may.
    if (!Flushed()) return;
    waiters.swap(flush_waiters_);
  }
  const absl::Status status = send_error();
  for (const auto& waiter : waiters) waiter(status);
}

bool Link::idle() { return unused() && Flushed(); }

bool Link::Retire() {
  if (!finished() && idle()) {
    Leave();
    Drain();  // so that the ports are told, and let go of this link
  }
  return finished();
}

void Link::Leave() {
  const bool told = traits().announces_close || !first().met();
  if (told) return Close();
  bool is_first = false;
  {
    MutexLock lock(&flush_mu_);
    is_first = !std::exchange(leaving_, true);
  }
  if (!is_first) return;
  first().SendControl(wire::ItemKind::kBye, {});
  WhenFlushed([weak = weak_from_this()](const absl::Status&) {
    if (const std::shared_ptr<Link> link = weak.lock()) link->Close();
  });
}

bool Link::met() const { return first().met(); }

bool Link::attached() const {
  MutexLock lock(&flush_mu_);
  return first().met() && !leaving_;
}

bool Link::StillConnected() {
  if (finished()) return false;
  group_->Look();  // a device that has told long ago, when nobody looked, is not silent
  return absl::c_all_of(all_lanes(), [](const auto& lane) { return lane->StillConnected(); });
}

void Link::CloseIfUnused() {
  {
    MutexLock lock(&ports_mu_);
    if (ports_.size() != abandoned_ports_) return;
    takes_no_port_ = true;
  }
  Close();
}

void Link::Close() {
  for (const auto& lane : all_lanes()) lane->Close();
  group_->Wake();  // who sleeps is to find out
}

}  // namespace skein::link
