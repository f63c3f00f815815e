#include "thrift_transport/durable_client.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/durable/calls/message.h"
#include "thrift_transport/durable_errors.h"
#include "thrift_transport/message_type.h"

namespace skein::thrift_transport {
namespace {

using apache::thrift::transport::TTransportException;
using durable::Persistence;

// Between two attempts to connect: nothing tells when a server is back.
constexpr absl::Duration kFirstBackoff = absl::Milliseconds(5);
constexpr absl::Duration kLastBackoff = absl::Milliseconds(200);

durable::OutboxOptions OutboxOptionsOf(const TSkeinDurableClientOptions& options) {
  durable::OutboxOptions out;
  out.wanted = LevelOf(options.wanted);
  out.max_calls = options.max_calls;
  out.max_bytes = options.max_bytes;
  return out;
}

}  // namespace

DurableClient::DurableClient(Transport::Connect connect, const TSkeinDurableClientOptions& options,
                             uint64_t longest_reply)
    : connect_(std::move(connect)),
      reconnect_(absl::FromChrono(options.reconnect)),
      longest_reply_(std::min<uint64_t>(longest_reply + durable::kMessageOverhead, UINT32_MAX)),
      outbox_(OutboxOptionsOf(options)) {}

void DurableClient::Open() {
  {
    const MutexLock lock(&mu_);
    if (open_) return;
    open_ = true;
    why_ended_ = not_safe_ = absl::OkStatus();
    answers_.clear();
    give_up_ = next_try_ = Clock::now();
    backoff_ = absl::ZeroDuration();
  }
  try {
    Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return greeted_; });
  } catch (...) {
    Close();
    throw;
  }
}

void DurableClient::Close() {
  if (const std::shared_ptr<DurableLine> now = line(); now != nullptr) now->Close();  // what was said last arrives
  End(absl::CancelledError("the transport is closed"));
}

bool DurableClient::open() const {
  const MutexLock lock(&mu_);
  return open_;
}

uint64_t DurableClient::last_call() const {
  const MutexLock lock(&mu_);
  return called_;
}

void DurableClient::SetOnPersisted(Transport::OnPersisted on_persisted) {
  auto shared = std::make_shared<const Transport::OnPersisted>(std::move(on_persisted));
  const MutexLock lock(&mu_);
  on_persisted_ = std::move(shared);
}

std::shared_ptr<DurableLine> DurableClient::line() const {
  const MutexLock lock(&mu_);
  return line_;
}

void DurableClient::Call(const std::string& message) {
  while (!TryCall(message)) {
  }
  if (const std::shared_ptr<DurableLine> now = line(); now != nullptr) now->Send();
  HearWhatHasCome();
}

// False: there were too many, and now there are fewer.
bool DurableClient::TryCall(const std::string& message) {
  auto answer = std::make_unique<Answer>();
  Answer* const reply_to = IsOneway(message) ? nullptr : answer.get();
  uint64_t call = 0;
  uint64_t progress = 0;
  {
    const MutexLock lock(&mu_);
    if (!open_) ThrowDurable(why_ended_.ok() ? absl::UnavailableError("the transport is not open") : why_ended_);
    call = called_ + 1;  // nobody else calls
    progress = told_ + replied_;
    if (reply_to != nullptr) answers_.push_back(std::move(answer));
  }
  const absl::Status status = outbox_.Start(
      message, [this, call](const absl::StatusOr<Persistence>& level) { OnPersistedOne(call, level); },
      [this, reply_to](absl::StatusOr<std::string> reply) { OnReplied(reply_to, std::move(reply)); });
  absl::Status ended;
  {
    const MutexLock lock(&mu_);
    if (status.ok()) {
      called_ = call;
      if (open_) return true;
      ended = why_ended_;
    } else {
      if (reply_to != nullptr) answers_.pop_back();
      if (called_ == replied_) ThrowDurable(status);
    }
  }
  if (!ended.ok()) {
    // Who ended the transport meanwhile may have failed all calls just before this was one.
    outbox_.FailAll(ended);
    ThrowDurable(ended);
  }
  Await([this, progress]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return told_ + replied_ != progress; });
  return false;
}

void DurableClient::OnPersistedOne(uint64_t call, const absl::StatusOr<Persistence>& level) {
  TSkeinPersisted persisted;
  persisted.call = call;
  std::shared_ptr<const Transport::OnPersisted> tell;
  {
    const MutexLock lock(&mu_);
    ++told_;
    if (level.ok()) {
      persisted.level = level_ = std::string(durable::PersistenceName(*level));
    } else {
      persisted.error = std::string(level.status().message());
      not_safe_.Update(level.status());
    }
    tell = on_persisted_;
  }
  if (tell != nullptr && *tell) (*tell)(persisted);
}

void DurableClient::OnReplied(Answer* answer, absl::StatusOr<std::string> reply) {
  const MutexLock lock(&mu_);
  ++replied_;
  if (answer == nullptr) return;
  answer->reply = std::move(reply);
  answer->ready = true;
}

std::string DurableClient::TakeReply() {
  for (;;) {
    Await([this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !answers_.empty() && answers_.front()->ready; });
    std::unique_ptr<Answer> answer;
    {
      const MutexLock lock(&mu_);
      answer = std::move(answers_.front());
      answers_.pop_front();
    }
    if (!answer->reply.ok()) ThrowDurable(answer->reply.status());
    // Empty: of a oneway call that could not be seen to be one.
    if (!answer->reply->empty()) return *std::move(answer->reply);
  }
}

std::string DurableClient::WaitPersisted() {
  const uint64_t last = last_call();
  Await([this, last]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return told_ >= last; });
  absl::Status not_safe;
  {
    const MutexLock lock(&mu_);
    if (not_safe_.ok()) return level_;
    not_safe = std::exchange(not_safe_, absl::OkStatus());
  }
  ThrowDurable(not_safe);
}

void DurableClient::Await(absl::FunctionRef<bool()> done) {
  for (;;) {
    {
      const MutexLock lock(&mu_);
      Lockable lockable{mu_};
      while (driving_ && open_ && !done()) changed_.wait(lockable);
      if (done()) return;
      if (!open_) ThrowDurable(why_ended_.ok() ? absl::UnavailableError("the transport is not open") : why_ended_);
      driving_ = true;
    }
    const absl::Cleanup rests = [this] {
      const MutexLock lock(&mu_);
      driving_ = false;
      changed_.notify_all();
    };
    DriveOnce();
  }
}

// By who calls, lest news of oneway calls, and the server's request for fewer, wait for somebody who reads.
void DurableClient::HearWhatHasCome() {
  {
    const MutexLock lock(&mu_);
    if (driving_) return;
    driving_ = true;
  }
  {
    const absl::Cleanup rests = [this] {
      const MutexLock lock(&mu_);
      driving_ = false;
      changed_.notify_all();
    };
    for (;;) {
      const std::shared_ptr<DurableLine> now = line();
      if (now == nullptr) {
        const MutexLock lock(&mu_);
        if (!open_ || Clock::now() < next_try_) break;
      } else if (!now->NextWouldNotWait()) {
        break;
      }
      DriveOnce();
    }
  }
  const MutexLock lock(&mu_);
  if (!open_) ThrowDurable(why_ended_);
}

void DurableClient::DriveOnce() {
  const std::shared_ptr<DurableLine> now = line();
  if (now == nullptr) return Connect();
  std::string why = "the server has ended the connection";
  try {
    if (const std::optional<absl::string_view> message = now->Next()) return Hear(now, *message);
  } catch (const TTransportException& error) {
    const auto type = error.getType();
    const bool waits = type == TTransportException::TIMED_OUT || type == TTransportException::INTERRUPTED;
    if (waits && !now->is_cut()) throw;
    if (type == TTransportException::CORRUPTED_DATA) return End(absl::InvalidArgumentError(error.what()));
    why = error.what();
  }
  Lose(now, why);
}

void DurableClient::Hear(const std::shared_ptr<DurableLine>& line, absl::string_view message) {
  const absl::Status status = outbox_.OnMessage(message);
  if (status.ok()) {
    line->Send();
    const MutexLock lock(&mu_);
    greeted_ = greeted_ || outbox_.standing().open;
    return;
  }
  if (!absl::IsAborted(status)) return End(status);
  Drop(line);
  const MutexLock lock(&mu_);
  next_try_ = Clock::now();
}

void DurableClient::Connect() {
  Deadline at;
  {
    const MutexLock lock(&mu_);
    at = next_try_;
  }
  absl::SleepFor(absl::FromChrono(at - Clock::now()));
  try {
    const std::shared_ptr<apache::thrift::transport::TTransport> transport = connect_();
    if (!transport->isOpen()) transport->open();
    auto line = std::make_shared<DurableLine>(transport, longest_reply_);
    line->PutRaw(kDurableOpening);
    {
      const MutexLock lock(&mu_);
      line_ = line;
    }
    outbox_.Connected([line](const std::string& message) { line->Put(message); });
    line->Send();
  } catch (const std::exception& error) {
    Failed(error.what());
  }
}

void DurableClient::Lose(const std::shared_ptr<DurableLine>& line, const std::string& why) {
  Drop(line);
  {
    const MutexLock lock(&mu_);
    if (std::exchange(greeted_, false)) {
      give_up_ = After(reconnect_);
      next_try_ = Clock::now();
      backoff_ = absl::ZeroDuration();
      if (reconnect_ > absl::ZeroDuration()) return;
    }
  }
  Failed(why);
}

// There is no connection, once more.
void DurableClient::Failed(const std::string& why) {
  {
    const MutexLock lock(&mu_);
    backoff_ = std::clamp(2 * backoff_, kFirstBackoff, kLastBackoff);
    next_try_ = Clock::now() + absl::ToChronoNanoseconds(backoff_);
    if (next_try_ <= give_up_) return;
  }
  const uint64_t unsafe = outbox_.standing().unsafe;
  End(absl::UnavailableError(absl::StrCat("no connection to a server of durable calls: ", why,
                                          unsafe == 0 ? "" : absl::StrCat("; not known to be safe: ", unsafe))));
}

void DurableClient::End(const absl::Status& why) {
  std::shared_ptr<DurableLine> last;
  {
    const MutexLock lock(&mu_);
    if (!open_) return;
    open_ = false;
    why_ended_ = why;
    greeted_ = false;
    last = line_;
  }
  if (last != nullptr) Drop(last);
  outbox_.FailAll(why);
}

void DurableClient::Drop(const std::shared_ptr<DurableLine>& line) {
  outbox_.Disconnected();
  line->Cut();  // lest who calls stays in Send
  line->Close();
  const MutexLock lock(&mu_);
  line_ = nullptr;
}

}  // namespace skein::thrift_transport
