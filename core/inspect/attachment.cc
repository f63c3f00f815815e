#include "core/inspect/attachment.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "core/base/abstract_socket.h"
#include "core/base/deadline.h"
#include "core/base/errno_status.h"
#include "core/base/printable.h"
#include "core/inspect/control.h"

namespace skein::inspect {
namespace {

// Between two pieces of an answer.
constexpr absl::Duration kPatience = absl::Seconds(5);

// The user that the kernel says `process` runs as.
absl::StatusOr<uid_t> UserOf(pid_t process) {
  struct stat about = {};
  if (stat(absl::StrCat("/proc/", process).c_str(), &about) != 0) {
    return absl::NotFoundError(absl::StrCat("there is no process ", process));
  }
  return about.st_uid;
}

// The number that the process has of itself, which is another one than here if it is in a pid namespace below this one:
// "NSpid:", and its numbers from the outermost namespace to its own (proc(5)).
pid_t OwnNumberOf(pid_t process) {
  std::ifstream status(absl::StrCat("/proc/", process, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (!absl::StartsWith(line, "NSpid:")) continue;
    const std::vector<absl::string_view> numbers = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    pid_t own = 0;
    if (absl::SimpleAtoi(numbers.back(), &own)) return own;
  }
  return process;
}

// Anybody could have taken the name. And processes of several pid namespaces that share a network namespace, as the
// containers of a pod do, have the same numbers: NOT_FOUND, somebody else's.
absl::Status CheckListener(int socket, pid_t process, pid_t own_number, uid_t user) {
  const absl::StatusOr<PeerCredentials> listener = CredentialsOf(socket);
  if (!listener.ok()) return listener.status();
  const bool is_outside = listener->pid == 0;
  if (is_outside || (own_number != process && listener->pid != process)) return absl::NotFoundError("another process");
  if (listener->uid == user) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("user ", listener->uid, " listens in the name of process ", process, ", which is not theirs"));
}

absl::Status DoesNotAnswer(pid_t process) {
  return absl::DeadlineExceededError(absl::StrCat("process ", process, " does not answer; is it stopped?"));
}

// Takes off `left` what it has received.
absl::StatusOr<std::string> Receive(int fd, pid_t process, AnswerLimits& left) {
  std::string text;
  std::vector<char> buffer(size_t{64} << 10);
  for (;;) {
    pollfd waited = {fd, POLLIN, 0};
    if (Clock::now() >= left.end || poll(&waited, 1, TimeoutOf(std::min(left.end, After(kPatience)))) <= 0) {
      return DoesNotAnswer(process);
    }
    const ssize_t size = recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0) return absl::UnavailableError(ErrnoStatus(errno, "hear the answer").message());
    if (size == 0) return text;
    const absl::string_view piece(buffer.data(), static_cast<size_t>(size));
    const auto lines = static_cast<size_t>(absl::c_count(piece, '\n'));
    if (piece.size() > left.bytes || lines > left.lines) {
      return absl::ResourceExhaustedError(absl::StrCat("process ", process, " answers more than a process may"));
    }
    left.bytes -= piece.size();
    left.lines -= lines;
    absl::StrAppend(&text, piece);
  }
}

absl::StatusOr<std::string> Understand(absl::string_view text, pid_t process) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('\n', 1));
  const std::string heading = Printable(std::string(parts.first));  // of which messages are made
  const std::vector<absl::string_view> words = absl::StrSplit(heading, absl::MaxSplits(' ', 3));
  if (words.size() < 3 || words[0] != kProtocol) {
    return absl::UnavailableError(absl::StrCat("process ", process, " ended while it was asked, or is no Skein"));
  }
  if (words[1] != Version()) {
    return absl::FailedPreconditionError(absl::StrCat("process ", process, " runs Skein ", words[1],
                                                      ", this command is of ", Version(),
                                                      "; use that version's command"));
  }
  if (words[2] == "ok") {
    uint64_t size = 0;
    if (words.size() == 4 && absl::SimpleAtoi(words[3], &size) && size == parts.second.size()) {
      return std::string(parts.second);
    }
    return absl::UnavailableError(
        absl::StrCat("process ", process, " ended as it answered, or this command did not listen; ask again"));
  }
  return absl::InvalidArgumentError(words.size() > 3 ? words[3] : words[2]);
}

}  // namespace

bool IsMissed(const absl::Status& why) {
  return !absl::IsNotFound(why) && !absl::IsPermissionDenied(why) && !absl::IsUnavailable(why);
}

absl::StatusOr<std::vector<LibraryAnswer>> AskEach(pid_t process, absl::string_view question,
                                                   const AnswerLimits& limits) {
  const absl::StatusOr<uid_t> user = UserOf(process);
  if (!user.ok()) return user.status();
  if (*user != geteuid() && geteuid() != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("process ", process, " runs as user ", *user, "; ask as that user or as root"));
  }
  std::vector<LibraryAnswer> answers;
  AnswerLimits left = limits;
  absl::Status squatted;
  const pid_t own_number = OwnNumberOf(process);
  for (int name = 0; name < kControlNames; ++name) {
    if (Clock::now() >= left.end) return DoesNotAnswer(process);  // nor is it made to compose an answer
    const absl::StatusOr<UniqueFd> socket = ConnectAbstract(ControlName(own_number, name));
    if (!socket.ok()) continue;
    if (absl::Status status = CheckListener(socket->get(), process, own_number, *user); !status.ok()) {
      if (!absl::IsNotFound(status)) squatted = status;  // which hides no library that is
      continue;
    }
    // An answer comes even if the question cannot be sent: that it is not allowed.
    send(socket->get(), question.data(), std::min(question.size(), kMaxQuestionBytes), MSG_NOSIGNAL);
    const absl::StatusOr<std::string> text = Receive(socket->get(), process, left);
    if (!text.ok()) return text.status();
    absl::StatusOr<std::string> answer = Understand(*text, process);
    if (!answer.ok()) return answer.status();
    answers.push_back({static_cast<int>(answers.size()), *std::move(answer)});
  }
  if (!answers.empty()) return answers;
  if (!squatted.ok()) return squatted;
  return absl::UnavailableError(
      absl::StrCat("process ", process,
                   " has no Skein to ask: it has made no connection for which Skein is on, or is in another network "
                   "namespace (then run skein there)"));
}

absl::StatusOr<std::string> Ask(pid_t process, absl::string_view question, const AnswerLimits& limits) {
  const absl::StatusOr<std::vector<LibraryAnswer>> answers = AskEach(process, question, limits);
  if (!answers.ok()) return answers.status();
  std::string text;
  for (const LibraryAnswer& answer : *answers) text += answer.text;
  return text;
}

std::vector<pid_t> ProcessesToAsk() {
  // Each line ends with the name of a socket, an abstract one with '@' before it.
  std::ifstream sockets("/proc/net/unix");
  std::set<pid_t> processes;
  for (std::string line; std::getline(sockets, line);) {
    const size_t name = line.rfind(absl::StrCat("@", kControlPrefix));
    if (name == std::string::npos) continue;
    const std::vector<absl::string_view> numbers =
        absl::StrSplit(absl::string_view(line).substr(name + 1 + kControlPrefix.size()), '-');
    // The kernel knows the number that the process has here, which need not be the one that it has of itself. An end
    // without a question ends the connection there.
    int number = 0;
    pid_t own_number = 0;
    if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &own_number) || !absl::SimpleAtoi(numbers[1], &number)) {
      continue;
    }
    const absl::StatusOr<UniqueFd> socket = ConnectAbstract(ControlName(own_number, number));
    const absl::StatusOr<PeerCredentials> listener =
        socket.ok() ? CredentialsOf(socket->get()) : absl::StatusOr<PeerCredentials>(socket.status());
    if (listener.ok() && listener->pid != 0) processes.insert(listener->pid);
  }
  return {processes.begin(), processes.end()};
}

}  // namespace skein::inspect
