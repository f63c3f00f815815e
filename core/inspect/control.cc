#include "core/inspect/control.h"

#include <poll.h>
#include <pthread.h>
#include <skein/options.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/abstract_socket.h"
#include "core/base/closer.h"
#include "core/base/descriptors_left.h"
#include "core/base/errno_status.h"
#include "core/base/forked.h"
#include "core/base/mutex.h"
#include "core/base/signals_blocked.h"

namespace skein::inspect {
namespace {

// Who asks is at the other end of a socket on this host: if it takes longer, it has stopped.
constexpr int kPatienceMs = 500;
constexpr int kSpareDescriptors = 16;
constexpr size_t kPieceBytes = size_t{32} << 10;

bool Ready(int fd, short events) {
  pollfd waited = {fd, events, 0};
  return poll(&waited, 1, kPatienceMs) > 0;
}

void Send(int fd, absl::string_view text) {
  while (!text.empty() && Ready(fd, POLLOUT)) {
    const absl::string_view piece = text.substr(0, kPieceBytes);
    if (send(fd, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
    text.remove_prefix(piece.size());
  }
}

std::string Beginning(absl::string_view code) { return absl::StrCat(kProtocol, " ", Version(), " ", code); }

std::string Failure(const absl::Status& why) {
  return absl::StrCat(Beginning(absl::StatusCodeToString(why.code())), " ", why.message(), "\n");
}

bool MayAsk(int fd) {
  const absl::StatusOr<PeerCredentials> peer = CredentialsOf(fd);
  return peer.ok() && PeerUsers({0}).Check(peer->uid).ok();
}

// Never destroyed: its thread listens until the process ends.
class Control {
 public:
  static Control& Get() {
    static auto* const control = new Control;
    return *control;
  }

  void Handle(std::string verb, Answer answer) {
    MutexLock lock(&mu_);
    answers_.emplace(std::move(verb), std::move(answer));
    if (!std::exchange(begun_, true)) listening_ = Listen();
  }
  void Later(std::chrono::milliseconds after, std::function<void()> what) {
    later_ = Clock::now() + after;
    what_later_ = std::move(what);
  }
  absl::Status listening() const {
    MutexLock lock(&mu_);
    return listening_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  absl::Status Listen() {
    // The program comes first: over TCP it would have this one.
    if (!DescriptorsLeft(kSpareDescriptors))
      return absl::ResourceExhaustedError("the process has few descriptors left");
    absl::StatusOr<UniqueFd> socket = absl::InternalError("none tried");
    for (int name = 0; !socket.ok() && name < kControlNames; ++name) {
      socket = ListenAbstract(ControlName(getpid(), name));
    }
    if (!socket.ok()) return socket.status();
    socket_ = *std::move(socket);
    const SignalsBlocked blocked;
    try {
      std::thread([this] { Serve(); }).detach();
    } catch (const std::system_error& error) {
      socket_.Reset();
      return absl::ResourceExhaustedError(absl::StrCat("start a thread: ", error.what()));
    }
    return absl::OkStatus();
  }

  void Serve() {
    pthread_setname_np(pthread_self(), "skein-control");
    for (;;) {
      pollfd waited = {socket_.get(), POLLIN, 0};
      if (poll(&waited, 1, UntilLaterMs()) < 0 && errno != EINTR) return;
      if (what_later_ != nullptr && Clock::now() >= later_) std::exchange(what_later_, nullptr)();
      if (!Closer::Get().HasSpace()) {
        poll(nullptr, 0, kPatienceMs);
        continue;
      }
      UniqueFd asking = AcceptQueued(socket_.get());
      if (asking.valid()) {
        ServeOne(std::move(asking));
      } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        // It stays in the queue, and poll says so at once: until there is a descriptor again.
        poll(nullptr, 0, kPatienceMs);
      }
    }
  }

  // As poll has it: -1 is for ever.
  int UntilLaterMs() const {
    if (what_later_ == nullptr) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(later_ - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
  }

  void ServeOne(UniqueFd asking) {
    const int fd = asking.get();
    if (!MayAsk(fd)) return Refuse(std::move(asking));
    char question[kMaxQuestionBytes];
    if (!Ready(fd, POLLIN)) return;
    const ssize_t size = recv(fd, question, sizeof(question), MSG_DONTWAIT);
    if (size <= 0) return;
    const absl::StatusOr<std::string> answer = AnswerTo({question, static_cast<size_t>(size)});
    Send(fd,
         answer.ok() ? absl::StrCat(Beginning("ok"), " ", answer->size(), "\n", *answer) : Failure(answer.status()));
  }

  // At once, without a question: who may not ask holds nobody up who may.
  static void Refuse(UniqueFd asking) {
    Send(asking.get(), Failure(absl::PermissionDeniedError("only for the process's own user")));
    Closer::Get().CloseSocket(std::move(asking));
  }

  absl::StatusOr<std::string> AnswerTo(absl::string_view question) {
    const size_t space = std::min(question.find(' '), question.size());
    const absl::string_view verb = question.substr(0, space);
    Answer answer;
    {
      MutexLock lock(&mu_);
      const auto found = answers_.find(verb);
      if (found == answers_.end()) return absl::UnimplementedError(absl::StrCat("this process has no '", verb, "'"));
      answer = found->second;
    }
    return answer(question.substr(std::min(space + 1, question.size())));
  }

  mutable Mutex mu_;
  std::map<std::string, Answer, std::less<>> answers_ ABSL_GUARDED_BY(mu_);
  bool begun_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status listening_ ABSL_GUARDED_BY(mu_) = absl::FailedPreconditionError("nothing can be asked yet");
  UniqueFd socket_;  // constant once the thread runs
  // The thread's own.
  Clock::time_point later_;
  std::function<void()> what_later_;
};

}  // namespace

std::string ControlName(pid_t process, int name) { return absl::StrCat(kControlPrefix, process, "-", name); }

absl::string_view Version() { return SKEIN_VERSION; }

void Handle(std::string verb, Answer answer) {
  if (InForkedChild()) return;
  BeginUse();
  Control::Get().Handle(std::move(verb), std::move(answer));
}

void Later(std::chrono::milliseconds after, std::function<void()> what) {
  Control::Get().Later(after, std::move(what));
}

absl::Status Listening() { return Control::Get().listening(); }

}  // namespace skein::inspect
