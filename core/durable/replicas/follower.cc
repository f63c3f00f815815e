#include "core/durable/replicas/follower.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/durable/replicas/changes.h"

namespace skein::durable {
namespace {

constexpr uint64_t kCopiedAtOnce = 1 << 20;
constexpr uint64_t kBatchesAtOnce = 4 << 20;
constexpr uint64_t kPart = 1 << 16;  // of a copy: zeros or bytes
constexpr uint64_t kNotWhole = std::numeric_limits<uint64_t>::max();

}  // namespace

void Follower::Connection::OnHave(uint64_t, uint32_t) {
  if (const auto follower = follower_.lock()) follower->OnAcknowledged(*this);
}

void Follower::Connection::OnFailed(const absl::Status& why) {
  if (const auto follower = follower_.lock()) follower->OnEnded(*this, why);
  on_end_(why);
}

std::shared_ptr<Follower::Connection> Follower::Observe(std::function<void(const absl::Status&)> on_end) {
  return std::make_shared<Connection>(weak_from_this(), std::move(on_end));
}

void Follower::Begin(std::shared_ptr<Connection> connection, std::shared_ptr<replicate::Group> group,
                     std::optional<uint64_t> has) {
  {
    const MutexLock lock(&mu_);
    connection_ = std::move(connection);
    group_.swap(group);
    writing_ = false;
    begins_.clear();
    if (has.has_value() && *has <= journal_.sealed() && journal_.After(*has, 0).has_value()) {
      sent_ = whole_at_ = *has;
      AppendChange(begins_, ChangeKind::kFollow, *has);
    } else {
      BeginCopy(begins_);
    }
  }
  group = nullptr;  // the earlier one
  Send();
}

// Batches up to the last one are in what is copied from now on.
void Follower::BeginCopy(std::string& out) {
  sent_ = journal_.sealed();
  copied_ = 0;
  whole_at_ = kNotWhole;
  AppendChange(out, ChangeKind::kCopy, sent_);
}

void Follower::Send() {
  std::shared_ptr<Connection> connection;
  std::shared_ptr<replicate::Group> group;
  absl::Status failure;
  {
    const MutexLock lock(&mu_);
    if (group_ == nullptr || writing_) return;
    absl::StatusOr<std::string> next = Next();
    failure = next.status();
    if (failure.ok() && next->empty()) return;
    group = group_;
    connection = connection_;
    writing_ = true;
    written_at_ = Clock::now();
    if (failure.ok()) connection->written_ = *std::move(next);
  }
  if (failure.ok()) {
    const std::string& written = connection->written_;
    failure = group->Write({reinterpret_cast<const std::byte*>(written.data()), written.size()}).status();
  }
  if (!failure.ok()) group->Fail(failure);
}

absl::StatusOr<std::string> Follower::Next() {
  std::string out = std::exchange(begins_, {});
  std::optional<Journal::Batches> batches = journal_.After(sent_, kBatchesAtOnce);
  if (batches.has_value()) {
    out += batches->bytes;
    sent_ = batches->last;
  } else {
    BeginCopy(out);  // it was too slow
  }
  if (whole_at_ != kNotWhole) return out;
  const absl::Status copied = CopyPart(out);
  if (!copied.ok()) return copied;
  return out;
}

absl::Status Follower::CopyPart(std::string& out) {
  std::string part;
  for (const uint64_t end = std::min(copied_ + kCopiedAtOnce, log_.size()); copied_ < end; copied_ += part.size()) {
    part.resize(std::min(kPart, end - copied_));
    if (absl::Status read = log_.Read(copied_, absl::MakeSpan(part)); !read.ok()) return read;
    if (part.find_first_not_of('\0') == std::string::npos) {
      AppendZeros(out, copied_, static_cast<uint32_t>(part.size()));
    } else {
      const absl::string_view bytes = part;
      AppendBytes(out, copied_, {&bytes, 1});
    }
  }
  if (copied_ < log_.size()) return absl::OkStatus();
  // What was written during the copy may lie over what an earlier batch still needs: the batches up to now make it one
  // log.
  whole_at_ = journal_.sealed();
  AppendChange(out, ChangeKind::kCopied, whole_at_);
  return absl::OkStatus();
}

void Follower::OnAcknowledged(const Connection& connection) {
  {
    const MutexLock lock(&mu_);
    if (connection_.get() != &connection) return;
    writing_ = false;
    if (whole_at_ == kNotWhole) {
      journal_.Copying(number_, copied_, log_.size());
    } else if (sent_ >= whole_at_) {
      journal_.Have(number_, sent_);
    }
  }
  Send();
}

void Follower::OnEnded(const Connection& connection, const absl::Status& why) {
  const MutexLock lock(&mu_);
  if (connection_.get() != &connection) return;
  connection_ = nullptr;
  group_ = nullptr;
  journal_.Lack(number_, why);
}

bool Follower::Silent(absl::Duration patience) {
  const MutexLock lock(&mu_);
  return writing_ && group_ != nullptr && Clock::now() - written_at_ > absl::ToChronoNanoseconds(patience);
}

void Follower::End(const absl::Status& why) {
  std::shared_ptr<replicate::Group> group;
  {
    const MutexLock lock(&mu_);
    connection_ = nullptr;
    group = std::exchange(group_, nullptr);
  }
  if (group != nullptr) group->Fail(why);
}

}  // namespace skein::durable
