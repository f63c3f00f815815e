// Requests on their way, and what arrives.
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/fabric/requests.h"
#include "core/service/session.h"
#include "core/service/trunk.h"

namespace skein::service {
namespace {

using fabric::Opcode;
using fabric::service::End;
using fabric::service::Submission;

constexpr uint64_t kSignalEvery = 16;
constexpr uint64_t kSignalBytes = Trunk::kBytes / 8;

uint32_t NeededAccess(Opcode opcode) {
  if (opcode == Opcode::kRead) return fabric::kRemoteRead;
  return fabric::IsAtomic(opcode) ? fabric::kRemoteAtomic : fabric::kRemoteWrite;
}

}  // namespace

Trunk::Posted Trunk::Post(const std::shared_ptr<VirtualQueuePair>& queue_pair, const Submission& request) {
  if (!IsPossible(request)) return Posted::kRefused;
  if (!shares_.Allows(*queue_pair->process, request.length) || under_way_.size() >= kSends) {
    queue_pair->waits_for_space = true;
    ++waits_;
    want_space_.push_back(queue_pair);
    if (signaled_ <= completed_) AskWhetherAllHasEnded();  // nothing else would tell of the space
    return Posted::kFull;
  }
  fabric::SendRequest out;
  out.opcode = static_cast<Opcode>(request.opcode);
  out.remote = peers_landing_;
  out.immediate =
      queue_pair->peer << 8 | (request.immediate & fabric::service::kImmediateBits) >> fabric::service::kImmediateShift;
  out.operand = request.operand;
  out.swap = request.swap;
  out.signaled = request.signaled != 0;
  fabric::Segment segment;
  UnderWay under_way = {queue_pair, nullptr, queue_pair->taken, request.length, out.opcode, out.signaled};
  if (request.length > 0) {
    const VirtualQueuePair::Remote* const remote = FindRemote(queue_pair, request.rkey);
    if (remote == nullptr || !FindLocal(queue_pair, request.lkey, under_way.region)) return Posted::kAsked;
    std::byte* const data =
        under_way.region == nullptr ? nullptr : under_way.region->region().At(request.address, request.length);
    if (data == nullptr || !IsAllowed(request, *remote)) return Posted::kRefused;
    segment = {data, request.length, under_way.region->lkey()};
    out.remote = {remote->address + (request.remote_address - remote->base), remote->key};
    // The processes' numbers need not be multiples of 8 where the device's are.
    if (fabric::IsAtomic(out.opcode) && out.remote.address % sizeof(uint64_t) != 0) return Posted::kRefused;
  }
  Add(out, segment, std::move(under_way));
  return Posted::kYes;
}

bool Trunk::FindLocal(const std::shared_ptr<VirtualQueuePair>& queue_pair, uint32_t lkey,
                      std::shared_ptr<Region::OnTrunk>& local) {
  const auto known = queue_pair->locals.find(lkey);
  if (known != queue_pair->locals.end()) return local = known->second, true;
  const std::shared_ptr<Region> region = queue_pair->session->Region(lkey);
  if (region == nullptr) return true;
  local = Here({region.get(), fabric::kLocalOnly});
  if (local != nullptr) return queue_pair->locals[lkey] = local, true;
  queue_pair->waits_to_hear = true;
  BringHere(region, fabric::kLocalOnly, [this, queue_pair, lkey](const std::shared_ptr<Region::OnTrunk>& here) {
    if (queue_pair->state != VirtualQueuePair::State::kConnected) return;
    queue_pair->waits_to_hear = false;
    if (here == nullptr) return owner_.Refuse(queue_pair);
    queue_pair->locals[lkey] = here;
    owner_.MayGoOn(queue_pair);
  });
  return false;
}

std::shared_ptr<Region::OnTrunk> Trunk::Here(const Place& place) const {
  const auto found = here_.find(place);
  return found == here_.end() ? nullptr : found->second.lock();
}

void Trunk::BringHere(const std::shared_ptr<Region>& region, uint32_t access, Then then) {
  const Place place = {region.get(), access};
  std::vector<Then>& waiting = brought_[place];
  // A queue pair waits once by itself, and once for its peer.
  if (waiting.size() > 2 * members_.size()) return Fail("the other skeind asks again and again where one memory is");
  waiting.push_back(std::move(then));
  if (waiting.size() > 1) return;
  std::shared_ptr<Region::OnTrunk> here = Region::OnTrunk::Create(owner_.worker(), region);
  if (domain_ == nullptr || region->size() <= Region::kMostAtOnce) {
    return Brought(place, here->Register(domain_.get(), access).ok() ? here : nullptr);
  }
  owner_.worker().Do([self = shared_from_this(), domain = domain_, place, here = std::move(here)]() mutable {
    const bool is_here = here->Register(domain.get(), place.second).ok();
    return [self = std::move(self), place, here = std::move(here), is_here] {
      self->Brought(place, is_here ? here : nullptr);
    };
  });
}

// Nobody waits: the process has let go of it meanwhile, or the trunk has ended.
void Trunk::Brought(const Place& place, const std::shared_ptr<Region::OnTrunk>& here) {
  const auto found = brought_.find(place);
  if (found == brought_.end()) return;
  const std::vector<Then> waiting = std::move(found->second);
  brought_.erase(found);
  if (here != nullptr) here_[place] = here;
  for (const Then& then : waiting) then(here);
}

bool Trunk::IsPossible(const Submission& request) const {
  if (request.opcode > 0xFF || request.length > MostMessageBytes(*device_)) return false;
  switch (static_cast<Opcode>(request.opcode)) {
    case Opcode::kWrite:
    case Opcode::kWriteWithImmediate:
    case Opcode::kRead:
      return true;
    case Opcode::kFetchAdd:
    case Opcode::kCompareSwap:
      return request.length == sizeof(uint64_t) && device_->capabilities().atomics;
    default:
      return false;
  }
}

// Null: the peer's skeind has been asked.
const VirtualQueuePair::Remote* Trunk::FindRemote(const std::shared_ptr<VirtualQueuePair>& queue_pair, uint32_t rkey) {
  const auto [remote, is_new] = queue_pair->remotes.try_emplace(rkey);
  if (remote->second.known) return &remote->second;
  queue_pair->waits_to_hear = true;
  if (!is_new) return nullptr;
  TrunkMessage question;
  question.kind = TrunkKind::kResolve;
  question.number = queue_pair->peer;
  question.from = queue_pair->number;
  question.rkey = rkey;
  Await(TrunkKind::kResolved, queue_pair, rkey);
  Send(question);
  return nullptr;
}

bool Trunk::IsAllowed(const Submission& request, const VirtualQueuePair::Remote& remote) {
  if ((remote.access & NeededAccess(static_cast<Opcode>(request.opcode))) == 0) return false;
  if (request.remote_address < remote.base) return false;
  const uint64_t offset = request.remote_address - remote.base;
  return offset <= remote.size && request.length <= remote.size - offset;
}

void Trunk::Add(const fabric::SendRequest& request, fabric::Segment segment, UnderWay under_way) {
  if (under_way.queue_pair != nullptr) shares_.Posted(*under_way.queue_pair->process, under_way.length);
  silent_bytes_ += under_way.length;
  under_way_.push_back(std::move(under_way));
  batch_.push_back(request);
  segments_.push_back(segment);
  fabric::SendRequest& last = batch_.back();
  last.id = ++posted_;
  last.signaled |= posted_ - signaled_ >= kSignalEvery || silent_bytes_ >= kSignalBytes;
  if (!last.signaled) return;
  signaled_ = posted_;
  silent_bytes_ = 0;
}

void Trunk::Flush() {
  if (batch_.empty() || ended_) return;
  active_ = true;
  for (size_t i = 0; i < batch_.size(); ++i) {
    batch_[i].local =
        segments_[i].size == 0 ? absl::Span<const fabric::Segment>() : absl::MakeConstSpan(&segments_[i], 1);
  }
  const absl::Status posted = queue_pair_->PostSend(batch_);
  batch_.clear();
  segments_.clear();
  if (!posted.ok()) Fail(posted.message());
}

bool Trunk::Poll() {
  if (ended_ || completions_ == nullptr) return false;
  bool any = false;
  for (size_t count = polled_.size(); !ended_ && count == polled_.size(); any |= count > 0) {
    count = completions_->Poll(absl::MakeSpan(polled_));
    for (const fabric::Completion& completion : absl::MakeSpan(polled_).first(count)) Completed(completion);
  }
  if (any) {
    PublishNews();
    DoWhatWaited();
    if (!want_space_.empty()) LetGoOn();
    if (!later_.empty()) AskWhetherAllHasEnded();  // when it was asked last, there may have been no space for it
  }
  if (!ended_ && ready_ && receives_to_post_ >= kReceives / 4) PostReceives();
  return any;
}

void Trunk::LetGoOn() {
  for (const auto& queue_pair : std::exchange(want_space_, {})) {
    queue_pair->waits_for_space = false;
    owner_.MayGoOn(queue_pair);
  }
}

void Trunk::Completed(const fabric::Completion& completion) {
  if (completion.status != fabric::CompletionStatus::kSuccess) {
    return Fail(absl::StrCat("the shared queue pair has failed: ", fabric::CompletionStatusName(completion.status)));
  }
  if (completion.opcode == Opcode::kReceiveWithImmediate) {
    ++receives_to_post_;
    return Arrived(completion.immediate, completion.bytes);
  }
  while (completed_ < completion.id && !under_way_.empty()) {
    const UnderWay done = std::move(under_way_.front());
    under_way_.pop_front();
    ++completed_;
    if (done.queue_pair != nullptr) shares_.Ended(*done.queue_pair->process, done.length);
    if (!done.tells || done.queue_pair->state != VirtualQueuePair::State::kConnected) continue;
    const bool moves_bytes = done.opcode == Opcode::kRead || fabric::IsAtomic(done.opcode);
    const std::shared_ptr<Completions>& queue = done.queue_pair->send_queue;
    if (!queue->Add({done.position, done.queue_pair->number, 0, static_cast<uint32_t>(done.opcode), 0,
                     moves_bytes ? done.length : 0})) {
      owner_.End(done.queue_pair, End::kOverrun);
    }
    if (news_.empty() || news_.back() != queue) news_.push_back(queue);
  }
}

void Trunk::Arrived(uint32_t immediate, size_t bytes) {
  const std::shared_ptr<VirtualQueuePair> queue_pair = FindOwn(immediate >> 8);
  if (queue_pair == nullptr || queue_pair->state != VirtualQueuePair::State::kConnected) return;
  ++queue_pair->traffic.arrivals;
  queue_pair->traffic.arrived_bytes += bytes;
  const std::shared_ptr<Completions>& queue = queue_pair->receive_queue;
  if (!queue->Add({0, queue_pair->number, 0, static_cast<uint32_t>(Opcode::kReceiveWithImmediate),
                   (immediate & 0xFF) << fabric::service::kImmediateShift, 0})) {
    owner_.End(queue_pair, End::kOverrun);
  }
  if (news_.empty() || news_.back() != queue) news_.push_back(queue);
}

void Trunk::PublishNews() {
  for (const std::shared_ptr<Completions>& queue : news_) {
    if (queue->has_news()) queue->Publish();
  }
  news_.clear();
}

void Trunk::DoWhatWaited() {
  while (!later_.empty() && later_.front().first <= completed_) {
    const std::function<void()> what = std::move(later_.front().second);
    later_.pop_front();
    what();
  }
}

// The queue pair ends requests in order, so an answer to this one tells of all before it, which may be silent.
void Trunk::AskWhetherAllHasEnded() {
  if (signaled_ == posted_ || under_way_.size() >= kSends || ended_) return;
  fabric::SendRequest question;
  question.opcode = Opcode::kWrite;
  question.remote = peers_landing_;
  question.signaled = true;
  Add(question, {}, {});
  Flush();
}

bool Trunk::Arm() {
  if (ended_ || completions_ == nullptr) return true;
  if (!armed_) {
    if (absl::Status armed = completions_->Arm(); !armed.ok()) Fail(armed.message());
    armed_ = true;
  }
  return !Poll();
}

// Each wake-up may have been the device's news that the queue pair has failed. The device is not asked (RefreshState):
// its answer would be the next wake-up, and so on.
void Trunk::AckEvents() {
  if (completions_ == nullptr) return;
  armed_ = false;
  completions_->AckEvents();
  Poll();  // requests that completed before the failure have not failed
  FailWithQueuePair();
}

void Trunk::FailWithQueuePair() {
  if (!ended_ && queue_pair_->state() == fabric::QueuePairState::kError) Fail(queue_pair_->error().message());
}

}  // namespace skein::service
