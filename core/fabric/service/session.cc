#include "core/fabric/service/session.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/abstract_socket.h"
#include "core/base/errno_status.h"
#include "core/base/socket_message.h"

namespace skein::fabric::service {
namespace {

constexpr std::chrono::milliseconds kUntilAskedAgain{1};

// How skeind is told to let go of what a request of that kind has made, if it makes something.
std::optional<Operation> UndoOf(Operation operation) {
  switch (operation) {
    case Operation::kRegister:
      return Operation::kForget;
    case Operation::kCreateCompletionQueue:
      return Operation::kDropCompletionQueue;
    case Operation::kCreateQueuePair:
      return Operation::kDestroyQueuePair;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool WaitFor(int socket, short events, Deadline until) {
  pollfd wait = {socket, events, 0};
  int ready = 0;
  do {
    ready = poll(&wait, 1, TimeoutOf(until));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

absl::StatusOr<Reply> ReceiveReply(int socket, Deadline until, UniqueFd* descriptor) {
  SocketMessage message;
  for (ReceiveResult received; (received = ReceiveMessage(socket, message)) != ReceiveResult::kMessage;) {
    if (received != ReceiveResult::kEmpty) return absl::UnavailableError("skeind has gone");
    if (!WaitFor(socket, POLLIN, until)) return absl::DeadlineExceededError("skeind does not answer");
  }
  Reply reply;
  if (!Reply::Parse(message.view(), reply)) return absl::DataLossError("skeind answers in another language");
  if (descriptor != nullptr) *descriptor = std::move(message.fd);
  return reply;
}

absl::StatusOr<std::shared_ptr<Session>> Session::Open(const std::string& folder, absl::string_view local_address,
                                                       absl::Duration silence) {
  absl::StatusOr<UniqueFd> socket = ConnectToPath(absl::StrCat(folder, "/", kSocketName));
  if (!socket.ok()) {
    return absl::UnavailableError(absl::StrCat("no skeind listens in ", folder, ": ", socket.status().message()));
  }
  absl::StatusOr<SharedMemory> page = CreateShared("skein-session", sizeof(SessionPage), /*peers_write=*/true);
  if (!page.ok()) return page.status();
  std::shared_ptr<Session> session(new Session(*std::move(socket), *std::move(page), silence));
  if (absl::Status begun = session->Begin(local_address); !begun.ok()) return begun;
  return session;
}

absl::Status Session::Begin(absl::string_view local_address) {
  Request hello;
  hello.operation = Operation::kHello;
  hello.size = kVersion;
  if (!hello.SetText(local_address)) return absl::InvalidArgumentError("an address that is none");
  const absl::StatusOr<Reply> welcome = Ask(hello);
  if (!welcome.ok()) return welcome.status();
  device_ = std::string(welcome->text_view());
  max_message_bytes_ = welcome->size;
  good_message_bytes_ = welcome->other_size;
  Request pass;
  pass.operation = Operation::kPassPage;
  pass.size = page_memory_.mapping.size();
  absl::Status passed = Ask(pass, page_memory_.memfd.get()).status();
  page_memory_.memfd.Reset();
  return passed;
}

absl::Status Session::End(absl::string_view why) {
  MutexLock lock(&end_mu_);
  if (ended()) return error_;
  error_ = absl::UnavailableError(why);
  ended_.store(true, std::memory_order_release);
  shutdown(socket_.get(), SHUT_RDWR);  // skeind lets go of everything
  for (SleepDescriptor* const sleeper : sleepers_) sleeper->Wake();
  return error_;
}

absl::Status Session::error() const {
  MutexLock lock(&end_mu_);
  return error_;
}

void Session::AddSleeper(SleepDescriptor* sleeper) {
  MutexLock lock(&end_mu_);
  sleepers_.push_back(sleeper);
  if (ended()) sleeper->Wake();
}

void Session::RemoveSleeper(SleepDescriptor* sleeper) {
  MutexLock lock(&end_mu_);
  std::erase(sleepers_, sleeper);
}

absl::StatusOr<Reply> Session::Ask(const Request& request, int descriptor) {
  MutexLock lock(&mu_);
  if (!TakeLateAnswer()) {
    return ended() ? error() : absl::UnavailableError("skeind has not yet answered an earlier request of this process");
  }
  return SendAndReceive(request, descriptor);
}

absl::StatusOr<Reply> Session::SendAndReceive(const Request& request, int descriptor) {
  const Deadline until = After(kAnswersWithin);
  if (absl::Status sent = Send(request, descriptor, until); !sent.ok()) return sent;
  absl::StatusOr<Reply> reply = ReceiveReply(socket_.get(), until);
  if (absl::IsDeadlineExceeded(reply.status())) {
    late_ = request.operation;
    return absl::UnavailableError(
        absl::StrCat("skeind has not answered within ", absl::FormatDuration(kAnswersWithin)));
  }
  if (!reply.ok()) return End(reply.status().message());
  if (reply->code != 0) return reply->status();
  return reply;
}

// A socket that stays full is of a skeind that has looked at none of many requests: it is given up.
absl::Status Session::Send(const Request& request, int descriptor, Deadline until) {
  for (SendResult sent; (sent = SendMessage(socket_.get(), request.view(), descriptor)) != SendResult::kSent;) {
    if (sent == SendResult::kRefused) return End(ErrnoStatus(errno, "ask it").message());
    if (sent == SendResult::kGone) break;  // it may have said why
    const int error = errno;
    if (sent == SendResult::kFull) {
      if (!WaitFor(socket_.get(), POLLOUT, until)) return End("skeind takes no requests");
      continue;
    }
    // The kernel has no memory for it now, and nothing tells when there is some.
    if (Clock::now() >= until) return End(ErrnoStatus(error, "ask it").message());
    std::this_thread::sleep_for(kUntilAskedAgain);
  }
  return absl::OkStatus();
}

// False: it is late still, or the session has ended.
bool Session::TakeLateAnswer() {
  Look();
  if (ended()) return false;
  if (!late_.has_value()) return true;
  const absl::StatusOr<Reply> reply = ReceiveReply(socket_.get(), After(absl::ZeroDuration()));
  if (absl::IsDeadlineExceeded(reply.status())) return false;
  const Operation operation = *std::exchange(late_, std::nullopt);
  if (!reply.ok()) {
    End(reply.status().message()).IgnoreError();
  } else if (const std::optional<Operation> undo = UndoOf(operation); undo.has_value() && reply->code == 0) {
    SendLetGo(*undo, reply->number);
  }
  return !ended();
}

void Session::LetGo(Operation operation, uint32_t number) {
  MutexLock lock(&mu_);
  if (!TakeLateAnswer()) return SendLetGo(operation, number);
  Request request;
  request.operation = operation;
  request.number = number;
  (void)SendAndReceive(request, -1);
}

void Session::SendLetGo(Operation operation, uint32_t number) {
  if (ended()) return;
  Request request;
  request.operation = operation;
  request.number = number;
  request.unanswered = 1;
  (void)Send(request, -1, After(absl::ZeroDuration()));
}

void Session::HasRequests(uint32_t place) {
  const uint64_t bit = uint64_t{1} << (place % 64);
  page().pending[place / 64].fetch_or(bit, std::memory_order_release);
  if (!Wake()) unheard_.store(true, std::memory_order_relaxed);
}

bool Session::Wake() {
  if (!TakeDown(page().skeind_sleeps)) return true;
  // A socket that is full has woken skeind already; one that has ended is found out by whoever asks.
  if (SendMessage(socket_.get(), Request().view()) != SendResult::kNoMemory) return true;
  PutUp(page().skeind_sleeps);
  return false;
}

bool Session::WakeAgain() {
  unheard_.store(false, std::memory_order_relaxed);
  if (Wake()) return true;
  unheard_.store(true, std::memory_order_relaxed);
  return false;
}

uint64_t Session::Question() {
  const uint64_t question = page().asked.fetch_add(1, std::memory_order_relaxed) + 1;
  HasRequests(kQuestionPlace);
  return question;
}

void Session::Look() {
  if (ended()) return;
  char unused = 0;
  const ssize_t peeked = recv(socket_.get(), &unused, 1, MSG_PEEK | MSG_DONTWAIT);
  const bool gone = peeked == 0 || (peeked < 0 && errno != EAGAIN && errno != EINTR);
  if (gone) End("skeind has gone").IgnoreError();
}

}  // namespace skein::fabric::service
