#include "core/service/trunk.h"

#include <utility>

#include "core/service/queue_pairs.h"
#include "core/service/session.h"

namespace skein::service {

using fabric::service::End;

namespace {

// Memory of that process's that its peer may reach. Null: there is none.
std::shared_ptr<Region> RegionOf(const VirtualQueuePair& queue_pair, uint32_t rkey) {
  if (queue_pair.state != VirtualQueuePair::State::kConnected) return nullptr;
  std::shared_ptr<Region> region = queue_pair.session->RegionByKey(rkey);
  return region != nullptr && region->access() != fabric::kLocalOnly ? region : nullptr;
}

}  // namespace

Trunk::Trunk(TrunkOwner& owner, UniqueFd socket, std::shared_ptr<fabric::Device> device, TrunkPatience patience,
             std::string secret)
    : owner_(owner),
      socket_(std::move(socket)),
      patience_(patience),
      greeting_(std::in_place, device != nullptr, std::move(secret)),
      silence_(patience.silence),
      device_(std::move(device)) {}

Trunk::~Trunk() { Fail("skeind ends"); }

void Trunk::Begin(absl::string_view host, UserBudget::Share opened_by) {
  opened_by_.emplace(std::move(opened_by));
  socket_.AwaitConnection();
  line_.Make(device_, "", [this, host = std::string(host)] {
    const absl::StatusOr<TrunkMessage> hello = greeting_->Hello(host, line_.shared());
    if (!hello.ok()) return Fail(hello.status().message());
    Say(*hello);
  });
}

void Trunk::Send(const TrunkMessage& message) {
  if (ended_) return;
  if (greeting_.has_value()) return unsent_.push_back(message);
  Say(message);
}

void Trunk::Say(const TrunkMessage& message) {
  if (message.kind != TrunkKind::kAsk && message.kind != TrunkKind::kHere) silence_.Noted();
  if (const absl::Status sent = socket_.Send(message); !sent.ok()) Fail(sent.message());
}

bool Trunk::OnSocket() {
  if (ended_) return false;
  const absl::StatusOr<bool> moved = socket_.Move([this](const TrunkMessage& message) {
    Heed(message);
    return !ended_;
  });
  if (!moved.ok()) Fail(moved.status().message());
  return !moved.ok() || *moved;
}

void Trunk::Heed(const TrunkMessage& message) {
  if (TrunkGreeting::Has(message.kind) != greeting_.has_value())
    return Fail("the other skeind greets when it should not");
  switch (message.kind) {
    case TrunkKind::kHello:
    case TrunkKind::kWelcome:
    case TrunkKind::kChallenge:
    case TrunkKind::kProof:
      return Greet(message);
    case TrunkKind::kConnect: {
      TrunkMessage answer = {.kind = TrunkKind::kConnected, .number = message.from, .from = message.number};
      answer.SetStatus(owner_.queue_pairs().Accepted(*this, message));
      return Send(answer);
    }
    case TrunkKind::kConnected:
      return Connected(message);
    case TrunkKind::kClosed:
      return PeerClosed(message);
    case TrunkKind::kResolve:
      return Resolve(message);
    case TrunkKind::kResolved:
      return Resolved(message);
    case TrunkKind::kRevoke: {
      const std::shared_ptr<VirtualQueuePair> queue_pair = Find(message.number);
      if (queue_pair == nullptr) return;  // both have said that it is closed
      queue_pair->remotes.erase(message.rkey);
      const TrunkMessage answer = {.kind = TrunkKind::kRevoked, .number = queue_pair->peer, .rkey = message.rkey};
      return line_.Later([this, answer] { Send(answer); });
    }
    case TrunkKind::kRevoked:
      memory_.TakeBack({message.number, message.rkey});
      return;
    case TrunkKind::kAsk:
      return Send({.kind = TrunkKind::kHere});
    case TrunkKind::kHere:
      silence_.Heard();
      return;
  }
  Fail("the other skeind sends what is no message");
}

void Trunk::Greet(const TrunkMessage& message) {
  const absl::StatusOr<TrunkGreeting::Step> step = greeting_->Heed(message);
  if (!step.ok()) return Fail(step.status().message());
  switch (step->kind) {
    case TrunkGreeting::Step::Kind::kSay:
      return Say(step->message);
    case TrunkGreeting::Step::Kind::kAccept:
      return Accept(step->message);
    case TrunkGreeting::Step::Kind::kOpen: {
      const absl::Status completed = line_.shared().queue_pair->Complete(step->message.text_view());
      if (!completed.ok()) return Fail(completed.message());
      return Open({step->message.address, step->message.key});
    }
  }
}

void Trunk::Accept(const TrunkMessage& hello) {
  absl::StatusOr<Port> port = owner_.PortFor(hello.host_view());
  if (!port.ok()) return Fail(port.status().message());
  if (hello.text_size == 0) return Fail("the other skeind greets without an offer");
  device_ = std::move(port->device);
  const fabric::RemoteAddress peers_landing = {hello.address, hello.key};
  line_.Make(device_, std::string(hello.text_view()), [this, peers_landing] {
    const absl::StatusOr<TrunkMessage> welcome = greeting_->Welcome(line_.shared());
    if (!welcome.ok()) return Fail(welcome.status().message());
    Say(*welcome);
    if (!ended_) Open(peers_landing);  // else the other skeind has gone meanwhile
  });
}

void Trunk::Open(fabric::RemoteAddress peers_landing) {
  greeting_.reset();
  silence_.BeQuiet();
  line_.Open(peers_landing);
  for (const TrunkMessage& waited : std::exchange(unsent_, {})) Send(waited);
}

std::shared_ptr<VirtualQueuePair> Trunk::Find(uint32_t number) const {
  const auto found = members_.find(number);
  return found == members_.end() ? nullptr : found->second;
}

void Trunk::Attach(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  queue_pair->trunk = shared_from_this();
  line_.GiveShare(*queue_pair);
  members_[queue_pair->number] = queue_pair;
  if (queue_pair->state == VirtualQueuePair::State::kAccepting) Await(TrunkKind::kConnected, queue_pair);
}

void Trunk::Connected(const TrunkMessage& answer) {
  const std::shared_ptr<VirtualQueuePair> queue_pair = Find(answer.number);
  if (queue_pair == nullptr) return;
  const bool let_go = queue_pair->state == VirtualQueuePair::State::kEnded && !queue_pair->told_closed;
  if (!let_go && queue_pair->state != VirtualQueuePair::State::kAccepting) return;  // it has been answered
  if (answer.code != 0) {
    owner_.queue_pairs().Connected(queue_pair, answer.status());
    queue_pair->told_closed = queue_pair->heard_closed = true;  // there is nothing to close
    return CloseIfBothHave(queue_pair);
  }
  queue_pair->peer = answer.from;
  if (let_go) return TellClosed(queue_pair);
  owner_.queue_pairs().Connected(queue_pair, absl::OkStatus());
}

void Trunk::TellClosed(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  queue_pair->told_closed = true;
  if (!queue_pair->heard_closed) Await(TrunkKind::kClosed, queue_pair);
  const TrunkMessage closed = {.kind = TrunkKind::kClosed, .number = queue_pair->peer, .from = queue_pair->number};
  line_.Later([this, closed] { Send(closed); });
  CloseIfBothHave(queue_pair);
}

// The other skeind has said it after all that its process sent has landed here: what tells of that comes first.
void Trunk::PeerClosed(const TrunkMessage& message) {
  const std::shared_ptr<VirtualQueuePair> queue_pair = Find(message.number);
  if (queue_pair == nullptr || queue_pair->peer != message.from) return;
  line_.Poll();
  queue_pair->heard_closed = true;
  owner_.queue_pairs().End(queue_pair, End::kPeerClosed);
  CloseIfBothHave(queue_pair);
}

void Trunk::CloseIfBothHave(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  if (!queue_pair->told_closed || !queue_pair->heard_closed) return;
  memory_.Forget(queue_pair->number);
  members_.erase(queue_pair->number);
  owner_.queue_pairs().Closed(queue_pair);
}

void Trunk::Resolve(const TrunkMessage& question) {
  TrunkMessage answer = {.kind = TrunkKind::kResolved, .number = question.from, .rkey = question.rkey};
  const std::shared_ptr<VirtualQueuePair> queue_pair = Find(question.number);
  const bool asks_its_peer = queue_pair != nullptr && queue_pair->peer == question.from;
  const std::shared_ptr<Region> region = asks_its_peer ? RegionOf(*queue_pair, question.rkey) : nullptr;
  if (region == nullptr) {
    answer.SetStatus(absl::NotFoundError("no memory has that key"));
    return Send(answer);
  }
  const TrunkMemory::Here here = memory_.Find({region.get(), region->access()});
  if (here == nullptr) {
    const auto then = [this, question, answer](const TrunkMemory::Here& registered) mutable {
      if (registered != nullptr) return Resolve(question);
      answer.SetStatus(absl::ResourceExhaustedError("the memory cannot be registered"));
      Send(answer);
    };
    return Register(queue_pair->number, region, region->access(), then);
  }
  memory_.Lend({queue_pair->number, question.rkey}, here);
  answer.base = here->region().base();
  answer.size = here->region().size();
  answer.access = here->region().access();
  if (!device_->capabilities().atomics) answer.access &= ~uint32_t{fabric::kRemoteAtomic};
  answer.address = here->remote().address;
  answer.key = here->remote().rkey;
  Send(answer);
}

void Trunk::Resolved(const TrunkMessage& answer) {
  const std::shared_ptr<VirtualQueuePair> queue_pair = Find(answer.number);
  if (queue_pair == nullptr) return;
  queue_pair->waits_to_hear = false;
  const auto remote = queue_pair->remotes.find(answer.rkey);
  if (remote == queue_pair->remotes.end() || remote->second.known) return owner_.queue_pairs().MayGoOn(queue_pair);
  if (answer.code != 0) return owner_.queue_pairs().Refuse(queue_pair);
  remote->second = {true, answer.base, answer.size, answer.address, answer.key, answer.access};
  owner_.queue_pairs().MayGoOn(queue_pair);
}

void Trunk::Revoke(const Region& region) {
  memory_.Forget(region);
  for (const TrunkMemory::Lent& lent : memory_.LentOf(region)) {
    const std::shared_ptr<VirtualQueuePair> queue_pair = Find(lent.number);
    if (queue_pair == nullptr) continue;
    Await(TrunkKind::kRevoked, queue_pair, lent.rkey);
    Send({.kind = TrunkKind::kRevoke, .number = queue_pair->peer, .rkey = lent.rkey});
  }
  line_.AskWhetherAllHasEnded();  // requests under way may use it, too
}

void Trunk::Fail(absl::string_view why) {
  if (std::exchange(ended_, true)) return;
  const std::shared_ptr<Trunk> self = weak_from_this().lock();  // its members may be the last that have it
  owner_.TrunkFailed(why);
  socket_.ShutDown();
  line_.Close();  // before memory that it may write
  memory_.Clear();
  awaited_.clear();
  for (const auto& [number, queue_pair] : std::exchange(members_, {})) {
    if (queue_pair->state == VirtualQueuePair::State::kAccepting) {
      owner_.queue_pairs().Connected(queue_pair, absl::UnavailableError(why));
    }
    owner_.queue_pairs().End(queue_pair, End::kConnection);
    owner_.queue_pairs().Closed(queue_pair);
  }
}

}  // namespace skein::service
