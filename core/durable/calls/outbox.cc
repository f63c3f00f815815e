#include "core/durable/calls/outbox.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace skein::durable {

void Outbox::News::Tell() {
  for (auto& [callback, level] : persisted) callback(level);
  for (auto& [callback, reply] : replied) callback(std::move(reply));
}

absl::Status Outbox::Start(absl::string_view request, Persisted persisted, Replied replied) {
  News news;
  absl::Status status;
  {
    const MutexLock lock(&mu_);
    status = Take(request, std::move(persisted), std::move(replied));
    if (status.ok()) SendMore(news);
  }
  news.Tell();
  return status;
}

absl::Status Outbox::Take(absl::string_view request, Persisted persisted, Replied replied) {
  if (calls_ >= options_.max_calls || bytes_ + request.size() > options_.max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(calls_, " durable calls of ", bytes_,
                                                     " bytes wait for a server or for their replies; wait for some"));
  }
  Call call{.request = MakeRequest(request), .persisted = std::move(persisted), .replied = std::move(replied)};
  if (call.request.size() > largest_) return TooLarge(call.request.size());
  ++calls_;
  bytes_ += call.request.size();
  unsent_.push_back(std::move(call));
  return absl::OkStatus();
}

absl::Status Outbox::TooLarge(uint64_t request) const {
  return absl::ResourceExhaustedError(
      absl::StrCat("a durable call of ", request - 1, " bytes; the server's log takes ", largest_ - 1));
}

void Outbox::Connected(Send send) {
  const MutexLock lock(&mu_);
  send_ = std::move(send);
  state_ = State::kGreeting;
  send_(HelloMessage(client_, options_.wanted));
}

void Outbox::Disconnected() {
  const MutexLock lock(&mu_);
  state_ = State::kAway;
  send_ = nullptr;
}

void Outbox::FailAll(const absl::Status& error) {
  News news;
  {
    const MutexLock lock(&mu_);
    for (auto& [sequence, call] : sent_) Fail(call, error, news);
    for (Call& call : unsent_) Fail(call, error, news);
    unsent_.clear();
  }
  news.Tell();
}

Outbox::Standing Outbox::standing() const {
  const MutexLock lock(&mu_);
  Standing standing{.unanswered = calls_, .unsafe = unsent_.size(), .open = state_ == State::kOpen, .slow = slow_};
  for (auto call = sent_.upper_bound(persisted_); call != sent_.end(); ++call) standing.unsafe += call->second.wanted;
  return standing;
}

uint64_t Outbox::progress() const {
  const MutexLock lock(&mu_);
  return progress_;
}

absl::Status Outbox::OnMessage(absl::string_view message) {
  const absl::StatusOr<ServerMessage> decoded = DecodeServerMessage(message);
  if (!decoded.ok()) return decoded.status();
  News news;
  absl::Status status;
  {
    const MutexLock lock(&mu_);
    status = Handle(*decoded, news);
    if (!status.ok()) {
      state_ = State::kAway;
      send_ = nullptr;
    }
  }
  news.Tell();
  return status;
}

absl::Status Outbox::Handle(const ServerMessage& message, News& news) {
  const bool standing = message.kind == ServerMessageKind::kStanding;
  if (message.kind == ServerMessageKind::kRefused) return OnRefused(message, news);
  if (standing != (state_ == State::kGreeting)) return absl::InvalidArgumentError("a message out of turn");
  if (standing) return OnStanding(message, news);
  if (message.kind == ServerMessageKind::kPersisted) return OnPersisted(message, news);
  if (message.kind == ServerMessageKind::kReply) return OnReply(message, news);
  if (state_ != State::kHeldBack) return absl::InvalidArgumentError("a message out of turn");
  state_ = State::kOpen;
  SendAgain(news);
  SendMore(news);
  return absl::OkStatus();
}

absl::Status Outbox::OnStanding(const ServerMessage& message, News& news) {
  if (message.sequence > last_) return absl::InvalidArgumentError("a server that has more than was sent");
  largest_ = message.largest;
  level_ = message.level;
  if (message.sequence < persisted_ || MayBeForgotten(message)) {
    BeginAnew(news);
    return absl::AbortedError("the server knows this client no more");
  }
  state_ = State::kOpen;
  slow_ = false;
  MarkPersisted(message.sequence, message.level, news);
  for (auto call = sent_.begin(); call != sent_.end() && call->first <= persisted_;) {
    if (!call->second.wanted) {
      call = sent_.erase(call);  // its reply may be what ended the former connection
    } else {
      send_(AskMessage(call++->first));
    }
  }
  SendAgain(news);
  SendMore(news);
  return absl::OkStatus();
}

// A server that knows nothing of this client, which has sent something: it never came, or the server has let so much
// time pass since that it may have executed it and forgotten the client.
bool Outbox::MayBeForgotten(const ServerMessage& standing) const {
  if (standing.sequence > 0) return false;
  return absl::c_any_of(sent_, [&](const auto& sent) {
    return sent.second.wanted && options_.now() - sent.second.sent_at >= standing.remembers;
  });
}

// The server has another log, or has forgotten who had been silent for long.
void Outbox::BeginAnew(News& news) {
  for (auto& [sequence, call] : sent_) {
    Fail(call,
         sequence <= persisted_
             ? absl::DataLossError("the server knows nothing any more of this call, which it had persisted")
             : absl::UnknownError("the server does not remember this client any more: whether it has executed this "
                                  "call, which had been sent, nobody knows"),
         news);
  }
  sent_.clear();
  client_ = RandomId();
  last_ = persisted_ = 0;
}

absl::Status Outbox::OnPersisted(const ServerMessage& message, News& news) {
  if (message.sequence > last_) return absl::InvalidArgumentError("a server that has more than was sent");
  slow_ = message.slow_down;
  MarkPersisted(message.sequence, message.level, news);
  SendMore(news);
  return absl::OkStatus();
}

void Outbox::MarkPersisted(uint64_t up_to, Persistence level, News& news) {
  for (auto next = sent_.upper_bound(persisted_); next != sent_.end() && next->first <= up_to; ++next) {
    Call& call = next->second;
    ++progress_;
    if (call.wanted) bytes_ -= call.request.size();
    call.request = std::string();
    if (call.persisted) news.persisted.emplace_back(std::exchange(call.persisted, nullptr), level);
  }
  if (up_to > persisted_) persisted_ = up_to;
}

absl::Status Outbox::OnReply(const ServerMessage& message, News& news) {
  if (message.sequence > last_) return absl::InvalidArgumentError("a reply to nothing");
  slow_ = message.slow_down;
  MarkPersisted(message.sequence, level_, news);
  // None: it was asked for as it was being sent.
  if (const auto found = sent_.find(message.sequence); found != sent_.end()) {
    Call& call = found->second;
    ++progress_;
    if (call.wanted) --calls_;
    if (call.replied) {
      absl::StatusOr<std::string> reply = std::string(message.bytes);
      if (!message.status.ok()) reply = message.status;
      news.replied.emplace_back(std::move(call.replied), std::move(reply));
    }
    sent_.erase(found);
  }
  SendMore(news);
  return absl::OkStatus();
}

absl::Status Outbox::OnRefused(const ServerMessage& message, News& news) {
  if (!message.final) {
    if (state_ != State::kOpen || message.sequence <= persisted_ || message.sequence > last_)
      return absl::InvalidArgumentError("a refusal of nothing");
    state_ = State::kHeldBack;
    return absl::OkStatus();
  }
  for (auto call = sent_.upper_bound(persisted_); call != sent_.end(); ++call) Fail(call->second, message.status, news);
  for (Call& call : unsent_) Fail(call, message.status, news);
  unsent_.clear();
  return message.status;
}

// Where it was sent and is not safe, its sequence stays in use.
void Outbox::Fail(Call& call, const absl::Status& error, News& news) {
  if (!call.wanted) return;
  ++progress_;
  --calls_;
  bytes_ -= call.request.size();
  if (!call.request.empty()) call.request = VoidRequest();
  call.wanted = false;
  if (call.persisted) news.persisted.emplace_back(std::exchange(call.persisted, nullptr), error);
  if (call.replied) news.replied.emplace_back(std::exchange(call.replied, nullptr), error);
}

void Outbox::SendAgain(News& news) {
  for (auto call = sent_.upper_bound(persisted_); call != sent_.end(); ++call) {
    const uint64_t size = call->second.request.size();
    if (size > largest_) Fail(call->second, TooLarge(size), news);  // another server's log took more
    SendCall(call->first, call->second);
  }
}

void Outbox::SendMore(News& news) {
  while (state_ == State::kOpen && !unsent_.empty() && (!slow_ || sent_.size() < options_.max_when_slow)) {
    Call call = std::move(unsent_.front());
    unsent_.pop_front();
    if (call.request.size() > largest_) {
      Fail(call, TooLarge(call.request.size()), news);
      continue;
    }
    call.sent_at = options_.now();
    const auto place = sent_.emplace_hint(sent_.end(), ++last_, std::move(call));
    SendCall(place->first, place->second);
  }
}

void Outbox::SendCall(uint64_t sequence, const Call& call) {
  // Of what was sent before the oldest without a reply, all replies are here.
  send_(CallMessage(sequence, sent_.begin()->first - 1, call.request));
}

}  // namespace skein::durable
