#include "core/service/trunk.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/random_value.h"
#include "core/service/session.h"

namespace skein::service {
namespace {

using fabric::service::End;

constexpr size_t kLandingBytes = 64;
// What a skeind that does not read is kept for.
constexpr size_t kMostUnwritten = size_t{4} << 20;

bool IsOfGreeting(TrunkKind kind) {
  return kind == TrunkKind::kHello || kind == TrunkKind::kWelcome || kind == TrunkKind::kChallenge ||
         kind == TrunkKind::kProof;
}

}  // namespace

Trunk::Trunk(TrunkOwner& owner, UniqueFd socket, std::shared_ptr<fabric::Device> device, TrunkPatience patience,
             std::string secret)
    : owner_(owner),
      socket_(std::move(socket)),
      patience_(patience),
      secret_(std::move(secret)),
      device_(std::move(device)) {}

Trunk::~Trunk() { Fail("skeind ends"); }

absl::Status Trunk::MakeQueuePair() {
  absl::StatusOr<std::shared_ptr<fabric::Device>> domain = device_->ForPeer();
  if (!domain.ok()) return domain.status();
  domain_ = *std::move(domain);
  fabric::Device& device = domain_ == nullptr ? *device_ : *domain_;
  absl::StatusOr<std::unique_ptr<fabric::CompletionQueue>> completions =
      device.CreateCompletionQueue(kSends + kReceives);
  if (!completions.ok()) return completions.status();
  completions_ = *std::move(completions);
  fabric::QueuePairOptions options;
  options.send_queue = completions_.get();
  options.receive_queue = completions_.get();
  options.max_send_requests = kSends;
  options.max_receive_requests = kReceives;
  options.peer_always_receives = true;  // the other skeind does nothing else
  absl::StatusOr<std::unique_ptr<fabric::QueuePair>> queue_pair = device.CreateQueuePair(options);
  if (!queue_pair.ok()) return queue_pair.status();
  queue_pair_ = *std::move(queue_pair);
  receives_to_post_ = kReceives;
  absl::StatusOr<std::unique_ptr<fabric::MemoryRegion>> landing =
      device.Allocate(kLandingBytes, fabric::kRemoteWrite | fabric::kRemoteRead);
  if (!landing.ok()) return landing.status();
  landing_ = *std::move(landing);
  return absl::OkStatus();
}

void Trunk::PostReceives() {
  const std::vector<fabric::ReceiveRequest> batch(std::exchange(receives_to_post_, 0));
  if (absl::Status status = queue_pair_->PostReceive(batch); !status.ok()) Fail(status.message());
}

absl::Status Trunk::Begin(absl::string_view host, UserBudget::Share opened_by) {
  opened_by_.emplace(std::move(opened_by));
  if (absl::Status made = MakeQueuePair(); !made.ok()) return made;
  const absl::StatusOr<std::string> offer = queue_pair_->Offer();
  if (!offer.ok()) return offer.status();
  TrunkMessage hello;
  if (offer->size() > hello.text.size()) return absl::InternalError("the device's offers are too long");
  hello.size = kTrunkVersion;
  hello.nonce = RandomValue<decltype(hello.nonce)>();
  hello.address = landing_->remote().address;
  hello.key = landing_->remote().rkey;
  hello.SetHost(host);
  hello.SetText(*offer);
  said_ = std::string(hello.view());
  out_ = said_;
  connecting_ = true;
  return absl::OkStatus();
}

void Trunk::Send(const TrunkMessage& message) {
  if (ended_) return;
  if (!ready_ && !IsOfGreeting(message.kind)) return unsent_.push_back(message);
  active_ |= message.kind != TrunkKind::kAsk && message.kind != TrunkKind::kHere;
  absl::StrAppend(&out_, message.view());
  if (out_.size() > kMostUnwritten) return Fail("the other skeind does not read");
  Write();
}

void Trunk::Later(std::function<void()> what) {
  if (posted_ == completed_) return what();
  later_.emplace_back(posted_, std::move(what));
  AskWhetherAllHasEnded();
}

bool Trunk::OnSocket() {
  if (ended_) return false;
  if (connecting_) {
    pollfd wait = {socket_.get(), POLLOUT, 0};
    if (poll(&wait, 1, 0) == 0) return false;
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      Fail(ErrnoStatus(error, "reach the other host's skeind").message());
      return true;
    }
    connecting_ = false;
  }
  const bool wrote = Write();
  return Read() || wrote;
}

bool Trunk::Write() {
  if (connecting_ || out_.empty() || ended_) return false;
  ssize_t sent = 0;
  do {
    sent = send(socket_.get(), out_.data(), out_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno != EAGAIN) Fail("the connection to the other host's skeind has ended");
  if (sent > 0) out_.erase(0, static_cast<size_t>(sent));
  return sent > 0;
}

bool Trunk::Read() {
  std::array<char, 64 * sizeof(TrunkMessage)> bytes;
  ssize_t received = 0;
  do {
    received = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  if (received < 0 && errno == EAGAIN) return false;
  if (received <= 0) {
    Fail("the connection to the other host's skeind has ended");
    return true;
  }
  in_.append(bytes.data(), static_cast<size_t>(received));
  size_t at = 0;
  for (; !ended_ && in_.size() - at >= sizeof(TrunkMessage); at += sizeof(TrunkMessage)) {
    TrunkMessage message;
    if (!TrunkMessage::Parse(in_.data() + at, message)) return Fail("the other skeind sends what is no message"), true;
    Heed(message);
  }
  in_.erase(0, at);
  return true;
}

void Trunk::Heed(const TrunkMessage& message) {
  if (IsOfGreeting(message.kind) == ready_) return Fail("the other skeind greets when it should not");
  switch (message.kind) {
    case TrunkKind::kHello:
    case TrunkKind::kWelcome:
    case TrunkKind::kChallenge:
    case TrunkKind::kProof:
      return Greet(message);
    case TrunkKind::kConnect: {
      TrunkMessage answer;
      answer.kind = TrunkKind::kConnected;
      answer.number = message.from;
      answer.from = message.number;
      answer.SetStatus(owner_.Accepted(*this, message));
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
      const std::shared_ptr<VirtualQueuePair> queue_pair = FindOwn(message.number);
      if (queue_pair == nullptr) return;  // both have said that it is closed
      queue_pair->remotes.erase(message.rkey);
      TrunkMessage answer;
      answer.kind = TrunkKind::kRevoked;
      answer.number = queue_pair->peer;
      answer.rkey = message.rkey;
      return Later([this, answer] { Send(answer); });
    }
    case TrunkKind::kRevoked:
      lent_.erase({message.number, message.rkey});
      return;
    case TrunkKind::kAsk: {
      TrunkMessage answer;
      answer.kind = TrunkKind::kHere;
      return Send(answer);
    }
    case TrunkKind::kHere:
      answered_ = true;
      return;
  }
  Fail("the other skeind sends what is no message");
}

std::shared_ptr<VirtualQueuePair> Trunk::FindOwn(uint32_t number) {
  const auto found = members_.find(number);
  return found == members_.end() ? nullptr : found->second;
}

void Trunk::Attach(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  queue_pair->trunk = shared_from_this();
  queue_pair->process = shares_.Of(queue_pair->session->user(), queue_pair->session.get());
  members_[queue_pair->number] = queue_pair;
  if (queue_pair->state == VirtualQueuePair::State::kAccepting) Await(TrunkKind::kConnected, queue_pair);
}

void Trunk::Connected(const TrunkMessage& answer) {
  const std::shared_ptr<VirtualQueuePair> queue_pair = FindOwn(answer.number);
  if (queue_pair == nullptr) return;
  const bool let_go = queue_pair->state == VirtualQueuePair::State::kEnded && !queue_pair->told_closed;
  if (!let_go && queue_pair->state != VirtualQueuePair::State::kAccepting) return;  // it has been answered
  if (answer.code != 0) {
    owner_.Connected(queue_pair, answer.status());
    queue_pair->told_closed = queue_pair->heard_closed = true;  // there is nothing to close
    return CloseIfBothHave(queue_pair);
  }
  queue_pair->peer = answer.from;
  if (let_go) return TellClosed(queue_pair);
  owner_.Connected(queue_pair, absl::OkStatus());
}

void Trunk::TellClosed(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  queue_pair->told_closed = true;
  if (!queue_pair->heard_closed) Await(TrunkKind::kClosed, queue_pair);
  TrunkMessage closed;
  closed.kind = TrunkKind::kClosed;
  closed.number = queue_pair->peer;
  closed.from = queue_pair->number;
  Later([this, closed] { Send(closed); });
  CloseIfBothHave(queue_pair);
}

// The other skeind has said it after all that its process sent has landed here: what tells of that comes first.
void Trunk::PeerClosed(const TrunkMessage& message) {
  const std::shared_ptr<VirtualQueuePair> queue_pair = FindOwn(message.number);
  if (queue_pair == nullptr || queue_pair->peer != message.from) return;
  Poll();
  queue_pair->heard_closed = true;
  owner_.End(queue_pair, End::kPeerClosed);
  CloseIfBothHave(queue_pair);
}

void Trunk::CloseIfBothHave(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  if (!queue_pair->told_closed || !queue_pair->heard_closed) return;
  const uint32_t number = queue_pair->number;
  absl::erase_if(lent_, [number](const auto& lent) { return lent.first.number == number; });
  members_.erase(number);
  owner_.Closed(queue_pair);
}

void Trunk::Resolve(const TrunkMessage& question) {
  TrunkMessage answer;
  answer.kind = TrunkKind::kResolved;
  answer.number = question.from;
  answer.rkey = question.rkey;
  const std::shared_ptr<VirtualQueuePair> queue_pair = FindOwn(question.number);
  const bool asks_its_peer = queue_pair != nullptr && queue_pair->peer == question.from;
  const std::shared_ptr<Region> region = asks_its_peer ? owner_.RegionOf(*queue_pair, question.rkey) : nullptr;
  if (region == nullptr) {
    answer.SetStatus(absl::NotFoundError("no memory has that key"));
    return Send(answer);
  }
  const std::shared_ptr<Region::OnTrunk> here = Here({region.get(), region->access()});
  if (here == nullptr) {
    return BringHere(region, region->access(),
                     [this, question, answer](const std::shared_ptr<Region::OnTrunk>& brought) mutable {
                       if (brought != nullptr) return Resolve(question);
                       answer.SetStatus(absl::ResourceExhaustedError("the memory cannot be registered"));
                       Send(answer);
                     });
  }
  lent_[{queue_pair->number, question.rkey}] = here;
  answer.base = here->region().base();
  answer.size = here->region().size();
  answer.access = here->region().access();
  if (!device_->capabilities().atomics) answer.access &= ~uint32_t{fabric::kRemoteAtomic};
  answer.address = here->remote().address;
  answer.key = here->remote().rkey;
  Send(answer);
}

void Trunk::Resolved(const TrunkMessage& answer) {
  const std::shared_ptr<VirtualQueuePair> queue_pair = FindOwn(answer.number);
  if (queue_pair == nullptr) return;
  queue_pair->waits_to_hear = false;
  const auto remote = queue_pair->remotes.find(answer.rkey);
  if (remote == queue_pair->remotes.end() || remote->second.known) return owner_.MayGoOn(queue_pair);
  if (answer.code != 0) return owner_.Refuse(queue_pair);
  remote->second = {true, answer.base, answer.size, answer.address, answer.key, answer.access};
  owner_.MayGoOn(queue_pair);
}

void Trunk::Revoke(const Region& region) {
  for (const uint32_t access : {uint32_t{fabric::kLocalOnly}, region.access()}) {
    here_.erase({&region, access});
    Brought({&region, access}, nullptr);
  }
  std::vector<TrunkMessage> revokes;  // a Send that fails clears what is lent
  for (const auto& [lent, what] : lent_) {
    const std::shared_ptr<VirtualQueuePair> queue_pair = FindOwn(lent.number);
    if (&what->region() != &region || queue_pair == nullptr) continue;
    TrunkMessage& revoke = revokes.emplace_back();
    revoke.kind = TrunkKind::kRevoke;
    revoke.number = queue_pair->peer;
    revoke.rkey = lent.rkey;
    Await(TrunkKind::kRevoked, queue_pair, lent.rkey);
  }
  for (const TrunkMessage& revoke : revokes) Send(revoke);
  AskWhetherAllHasEnded();  // what is under way may have it, too
}

void Trunk::Fail(absl::string_view why) {
  if (std::exchange(ended_, true)) return;
  const std::shared_ptr<Trunk> self = weak_from_this().lock();  // its members may be the last that have it
  owner_.TrunkFailed(why);
  PublishNews();
  shutdown(socket_.get(), SHUT_RDWR);
  if (queue_pair_ != nullptr) queue_pair_->Close();
  queue_pair_ = nullptr;  // before memory that it may write
  lent_.clear();
  here_.clear();
  brought_.clear();
  under_way_.clear();
  later_.clear();
  want_space_.clear();
  awaited_.clear();
  for (const auto& [number, queue_pair] : std::exchange(members_, {})) {
    if (queue_pair->state == VirtualQueuePair::State::kAccepting) {
      owner_.Connected(queue_pair, absl::UnavailableError(why));
    }
    owner_.End(queue_pair, End::kConnection);
    owner_.Closed(queue_pair);
  }
}

}  // namespace skein::service
