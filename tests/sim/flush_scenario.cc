#include "tests/sim/flush_scenario.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace skein::chaos {
namespace {

using durable::FlushMode;
using durable::FlushReceiver;
using durable::FlushSender;
using durable::Persistence;

constexpr durable::RingShape kLogShape{.slot_bytes = 192, .slots = 7};
constexpr FlushMode kModes[] = {FlushMode::kWFlush, FlushMode::kSFlush, FlushMode::kWRFlush, FlushMode::kSRFlush};
constexpr size_t kReceiver = 0;
constexpr size_t kSender = 1;

}  // namespace

FlushScenario::FlushScenario(World& world)
    : world_(world),
      mode_(kModes[world.dice().Below(std::size(kModes))]),
      mapped_(durable::FlushedBySender(mode_) || world.dice().OneIn(2)),
      memory_(std::make_shared<durable::CrashingMemory>(durable::StorageBytes(kLogShape), world.dice().Next())) {
  world_.simulation().OnReadServed("p0", [memory = memory_, mapped = mapped_] {
    if (mapped) memory->PushFromDevice(durable::SlotsOffset(kLogShape), durable::StorageBytes(kLogShape));
  });
}

FlushScenario::~FlushScenario() {
  world_.dice().OneIn(2) ? receiver_.reset() : sender_.reset();
  Disconnect();
}

bool FlushScenario::Broken() const {
  return std::any_of(devices_.begin(), devices_.end(), [](const auto& device) { return device->end()->broken(); });
}

bool FlushScenario::Excused() const {
  return std::any_of(devices_.begin(), devices_.end(), [](const auto& device) { return device->end()->excused(); });
}

bool FlushScenario::Open() {
  durable::FlushReceiverOptions options;
  options.mode = mode_;
  options.shape = kLogShape;
  options.platform = {.ddio = false, .domain = durable::PersistenceDomain::kAdr};
  options.identity = durable::LogId{1, 2, 3};
  options.batch = static_cast<uint32_t>(world_.dice().Between(1, 4));
  handed_over_.clear();
  last_handed_ = 0;
  auto receiver = FlushReceiver::Open(*devices_[kReceiver], memory_->Open(mapped_), options);
  world_.journal().Check(receiver.ok() || Excused(), "a log is not opened again: ", receiver.status().ToString());
  if (!receiver.ok()) return false;
  receiver_ = *std::move(receiver);
  return true;
}

void FlushScenario::Connect() {
  for (const size_t process : {kReceiver, kSender}) {
    devices_[process] = std::make_unique<LinkDevice>(world_.device(process));
  }
  if (!Open()) return;
  if (!Introduce()) return Disconnect();
  CheckStanding();
}

// False: something was refused.
bool FlushScenario::Introduce() {
  durable::FlushSenderOptions options;
  options.mode = mode_;
  options.slots = kLogShape.slots;
  options.wanted = Persistence::kEmulated;
  auto sender = FlushSender::Create(*devices_[kSender], options);
  absl::Status status = sender.status();
  if (status.ok()) {
    sender_ = *std::move(sender);
    const absl::StatusOr<std::string> offer = sender_->Offer();
    const absl::StatusOr<std::string> answer = offer.ok() ? receiver_->Accept(*offer) : offer;
    status = answer.ok() ? sender_->Complete(*answer) : answer.status();
  }
  world_.journal().Check(status.ok() || Excused(), "no connection, for no reason: ", status.ToString());
  return status.ok();
}

void FlushScenario::CheckStanding() {
  Journal& journal = world_.journal();
  ++connections_;
  finished_before_ = finished_;
  const uint64_t next = sender_->next();
  journal.See(next);
  journal.Check(next > acknowledged_, "request ", acknowledged_, " was acknowledged, and is lost");
  journal.Check(next <= highest_ + 1, "request ", next - 1, " was sent by nobody");
  // What the receiver does not have is sent again, as something else.
  sent_.erase(sent_.lower_bound(next), sent_.end());
  // Before anything new comes: what a former life has left.
  absl::btree_set<uint64_t> again;
  receiver_
      ->Poll([&](const durable::FlushEntry& entry) {
        again.insert(entry.sequence);
        Take(entry);
      })
      .IgnoreError();
  for (uint64_t sequence = 1; sequence < next; ++sequence) {
    journal.Check(again.contains(sequence) || finished_.contains(sequence), "request ", sequence, " is lost");
    journal.Check(!again.contains(sequence) || !replied_.contains(sequence), "request ", sequence, " comes again");
  }
}

void FlushScenario::Take(const durable::FlushEntry& entry) {
  Journal& journal = world_.journal();
  journal.Check(entry.sequence > last_handed_, "request ", entry.sequence, " comes after ", last_handed_);
  last_handed_ = entry.sequence;
  const auto sent = sent_.find(entry.sequence);
  journal.Check(sent != sent_.end() && sent->second == entry.payload, "request ", entry.sequence,
                " is not what was sent");
  handed_over_.insert(entry.sequence);
  journal.See(entry.sequence);
}

void FlushScenario::Disconnect() {
  sender_.reset();
  receiver_.reset();
}

void FlushScenario::Send() {
  for (uint64_t many = world_.dice().Between(1, 3); many > 0 && sender_->space() > 0; --many) {
    const uint64_t sequence = sender_->next();
    sent_[sequence] = absl::StrCat("connection ", connections_, " ",
                                   std::string(world_.dice().Below(80), static_cast<char>('a' + sequence % 26)));
    const absl::StatusOr<uint64_t> taken = sender_->Send(sent_[sequence]);
    if (!taken.ok()) return;  // the connection has just failed
    highest_ = std::max(highest_, sequence);
    world_.journal().Operation();
  }
  sender_->Flush().IgnoreError();
}

void FlushScenario::ActSender() {
  if (!finishing_ && world_.dice().OneIn(3)) Send();
  sender_
      ->Poll([this](uint64_t sequence, absl::string_view reply) {
        // Of what was finished before this connection came, only that it was.
        const bool known = reply == "reply" || (reply.empty() && finished_before_.contains(sequence));
        world_.journal().Check(known, "a reply to ", sequence, " that nobody gave");
        replied_.insert(sequence);
      })
      .IgnoreError();
  acknowledged_ = std::max(acknowledged_, sender_->acknowledged().up_to);
  world_.journal().See(acknowledged_);
}

void FlushScenario::FinishOne() {
  if (handed_over_.empty()) return;
  auto one = handed_over_.begin();
  std::advance(one, static_cast<std::ptrdiff_t>(world_.dice().Below(handed_over_.size())));
  finished_.insert(*one);
  const absl::Status finished = receiver_->Finish(*one, "reply");
  world_.journal().Check(finished.ok(), "request ", *one, " is not finished: ", finished.ToString());
  handed_over_.erase(one);
}

void FlushScenario::PollReceiver() {
  receiver_->Poll([this](const durable::FlushEntry& entry) { Take(entry); }).IgnoreError();
}

void FlushScenario::ActReceiver() {
  if (finishing_ || world_.dice().OneIn(4)) FinishOne();
  PollReceiver();
}

void FlushScenario::Step() {
  const bool alive = world_.awake(kReceiver) && world_.awake(kSender);
  if (alive && sender_ == nullptr && world_.dice().OneIn(5)) Connect();
  if (sender_ != nullptr && world_.awake(kSender)) ActSender();
  if (receiver_ != nullptr && world_.awake(kReceiver)) ActReceiver();
  // One end that knows of the loss ends the other channel, too.
  const bool lost =
      sender_ != nullptr && (!sender_->status().ok() || (receiver_ != nullptr && !receiver_->connected()));
  if (!lost) return;
  world_.journal().Check(Broken() || receiver_ == nullptr, "lost for no reason: ", sender_->status().ToString());
  if (world_.dice().OneIn(4)) Disconnect();
}

void FlushScenario::OnClose(const Fault& fault) {
  if (sender_ == nullptr) return;
  world_.journal().Count(fault.kind);
  Disconnect();
}

void FlushScenario::OnDeath(size_t process) {
  if (process == kReceiver) {
    if (receiver_ != nullptr && world_.dice().OneIn(2)) {
      memory_->CrashAt(world_.dice().Below(6));
      for (int i = 0; i < 3; ++i) PollReceiver();
    }
    receiver_.reset();
    // What was on its way when the power went is not acknowledged by it any more.
    memory_->LosePower();
  }
  Disconnect();
}

bool FlushScenario::Settled() const { return sender_ != nullptr && sender_->finished() + 1 == sender_->next(); }

std::string FlushScenario::Unsettled() const {
  if (sender_ == nullptr) return "no connection";
  return absl::StrCat("finished up to ", sender_->finished(), ", sent up to ", sender_->next() - 1);
}

}  // namespace skein::chaos
