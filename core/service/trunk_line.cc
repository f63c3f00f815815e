#include "core/service/trunk_line.h"

#include "absl/strings/str_cat.h"
#include "core/fabric/requests.h"
#include "core/service/queue_pairs.h"
#include "core/service/session.h"
#include "core/service/trunk.h"

namespace skein::service {

using fabric::Opcode;
using fabric::service::End;

void TrunkLine::Make(std::shared_ptr<fabric::Device> device, std::string offer, Worker::Then then) {
  owner_.connecting_worker().Do([this, trunk = trunk_.shared_from_this(), device = std::move(device),
                                 offer = std::move(offer), then = std::move(then)]() mutable {
    absl::StatusOr<SharedQueuePair> made = SharedQueuePair::Create(*device, offer);
    return [this, trunk = std::move(trunk), made = std::move(made), then = std::move(then)]() mutable {
      if (trunk->ended()) return;
      if (!made.ok()) return trunk->Fail(made.status().message());
      shared_ = *std::move(made);
      then();
    };
  });
}

void TrunkLine::Open(fabric::RemoteAddress peers_landing) {
  peers_landing_ = peers_landing;
  receives_to_post_ = SharedQueuePair::kReceives;
  PostReceives();
}

void TrunkLine::Close() {
  PublishNews();
  if (has_queue_pair()) shared_.queue_pair->Close();
  shared_.queue_pair = nullptr;  // before memory that it may write
  requests_.Clear();
  want_space_.clear();
}

void TrunkLine::PostReceives() {
  const std::vector<fabric::ReceiveRequest> batch(std::exchange(receives_to_post_, 0));
  if (absl::Status status = shared_.queue_pair->PostReceive(batch); !status.ok()) trunk_.Fail(status.message());
}

void TrunkLine::GiveShare(VirtualQueuePair& queue_pair) {
  queue_pair.process = shares_.Of(queue_pair.session->user(), queue_pair.session.get());
}

void TrunkLine::AwaitSpace(const std::shared_ptr<VirtualQueuePair>& queue_pair) {
  queue_pair->waits_for_space = true;
  ++waits_;
  want_space_.push_back(queue_pair);
  if (!requests_.one_tells()) AskWhetherAllHasEnded();  // nothing else would tell of the space
}

void TrunkLine::LetGoOn() {
  for (const auto& queue_pair : std::exchange(want_space_, {})) {
    queue_pair->waits_for_space = false;
    owner_.queue_pairs().MayGoOn(queue_pair);
  }
}

void TrunkLine::Add(const fabric::SendRequest& request, fabric::Segment segment, TrunkRequests::Request&& under_way) {
  if (under_way.queue_pair != nullptr) shares_.Posted(*under_way.queue_pair->process, under_way.length);
  requests_.Add(request, segment, std::move(under_way));
}

void TrunkLine::Flush() {
  if (!requests_.has_unposted() || !has_queue_pair()) return;
  silence_.Noted();
  if (const absl::Status posted = requests_.Post(*shared_.queue_pair); !posted.ok()) trunk_.Fail(posted.message());
}

void TrunkLine::Later(std::function<void()> what) {
  requests_.Later(std::move(what));
  if (requests_.something_waits()) AskWhetherAllHasEnded();
}

// The queue pair ends requests in order, so an answer to this one tells of all before it, which may be silent.
void TrunkLine::AskWhetherAllHasEnded() {
  if (requests_.last_tells() || requests_.full() || !has_queue_pair()) return;
  fabric::SendRequest question;
  question.opcode = Opcode::kWrite;
  question.remote = peers_landing_;
  question.signaled = true;
  Add(question, {}, {});
  Flush();
}

bool TrunkLine::Poll() {
  if (!has_queue_pair()) return false;
  bool any = false;
  for (size_t count = polled_.size(); has_queue_pair() && count == polled_.size(); any |= count > 0) {
    count = shared_.completions->Poll(absl::MakeSpan(polled_));
    for (const fabric::Completion& completion : absl::MakeSpan(polled_).first(count)) Completed(completion);
  }
  if (any) {
    PublishNews();
    requests_.DoWhatWaited();
    if (!want_space_.empty()) LetGoOn();
    if (requests_.something_waits())
      AskWhetherAllHasEnded();  // when it was asked last, there may have been no space for it
  }
  if (has_queue_pair() && receives_to_post_ >= SharedQueuePair::kReceives / 4) PostReceives();
  return any;
}

void TrunkLine::Completed(const fabric::Completion& completion) {
  if (completion.status != fabric::CompletionStatus::kSuccess) {
    return trunk_.Fail(
        absl::StrCat("the shared queue pair has failed: ", fabric::CompletionStatusName(completion.status)));
  }
  if (completion.opcode == Opcode::kReceiveWithImmediate) {
    ++receives_to_post_;
    return Arrived(completion.immediate, completion.bytes);
  }
  for (TrunkRequests::Request done; requests_.TakeEnded(completion.id, done);) {
    if (done.queue_pair != nullptr) shares_.Ended(*done.queue_pair->process, done.length);
    if (!done.tells || done.queue_pair->state != VirtualQueuePair::State::kConnected) continue;
    const bool moves_bytes = done.opcode == Opcode::kRead || fabric::IsAtomic(done.opcode);
    const std::shared_ptr<Completions>& queue = done.queue_pair->send_queue;
    if (!queue->Add({done.position, done.queue_pair->number, 0, static_cast<uint32_t>(done.opcode), 0,
                     moves_bytes ? done.length : 0})) {
      owner_.queue_pairs().End(done.queue_pair, End::kOverrun);
    }
    if (news_.empty() || news_.back() != queue) news_.push_back(queue);
  }
}

void TrunkLine::Arrived(uint32_t immediate, size_t bytes) {
  const std::shared_ptr<VirtualQueuePair> queue_pair = trunk_.Find(immediate >> 8);
  if (queue_pair == nullptr || queue_pair->state != VirtualQueuePair::State::kConnected) return;
  ++queue_pair->traffic.arrivals;
  queue_pair->traffic.arrived_bytes += bytes;
  const std::shared_ptr<Completions>& queue = queue_pair->receive_queue;
  if (!queue->Add({0, queue_pair->number, 0, static_cast<uint32_t>(Opcode::kReceiveWithImmediate),
                   (immediate & 0xFF) << fabric::service::kImmediateShift, 0})) {
    owner_.queue_pairs().End(queue_pair, End::kOverrun);
  }
  if (news_.empty() || news_.back() != queue) news_.push_back(queue);
}

void TrunkLine::PublishNews() {
  for (const std::shared_ptr<Completions>& queue : news_) {
    if (queue->has_news()) queue->Publish();
  }
  news_.clear();
}

bool TrunkLine::Arm() {
  if (!has_queue_pair()) return true;
  if (!armed_) {
    if (absl::Status armed = shared_.completions->Arm(); !armed.ok()) trunk_.Fail(armed.message());
    armed_ = true;
  }
  return !Poll();
}

// Each wake-up may have been the device's news that the queue pair has failed. The device is not asked (RefreshState):
// its answer would be the next wake-up, and so on.
void TrunkLine::AckEvents() {
  if (shared_.completions == nullptr) return;
  armed_ = false;
  shared_.completions->AckEvents();
  Poll();  // requests that completed before the failure have not failed
  FailWithQueuePair();
}

// Requests may be silent: nobody is woken when one of those ends, and until then the trunk goes on looking.
void TrunkLine::Look() {
  Poll();
  if (!has_queue_pair()) return;
  AskWhetherAllHasEnded();
  if (has_queue_pair()) shared_.queue_pair->RefreshState();
  FailWithQueuePair();
}

void TrunkLine::FailWithQueuePair() {
  if (has_queue_pair() && shared_.queue_pair->state() == fabric::QueuePairState::kError)
    trunk_.Fail(shared_.queue_pair->error().message());
}

}  // namespace skein::service
