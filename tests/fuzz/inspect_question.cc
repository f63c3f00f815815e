// Any question over the socket of a process gets an answer: that it was done, or why not.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/abstract_socket.h"
#include "core/inspect/control.h"
#include "core/inspect/tracing.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

std::vector<std::string> Seeds() {
  return {"trace", "trace 10", "trace 10 5", "trace back", "trace clear", "record 7", "recorded", "series", "metrics"};
}

namespace {

// Once there is something, or the end; the socket does not block. libFuzzer's clock interrupts.
ssize_t Hear(int socket, char* bytes, size_t size) {
  pollfd waited = {socket, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&waited, 1, 5'000);
  } while (ready < 0 && errno == EINTR);
  Require(ready == 1, "an answer in time");
  return recv(socket, bytes, size, 0);
}

std::string Ask(absl::string_view question) {
  const UniqueFd socket = ConnectAbstract(inspect::ControlName(getpid(), 0)).value();
  const ssize_t sent = send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL);
  Require(sent == static_cast<ssize_t>(question.size()), "a question is taken");
  std::string answer;
  std::vector<char> piece(size_t{64} << 10);
  for (ssize_t got = 0; (got = Hear(socket.get(), piece.data(), piece.size())) > 0;) {
    answer.append(piece.data(), static_cast<size_t>(got));
  }
  return answer;
}

}  // namespace
}  // namespace skein::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using skein::fuzz::Require;
  static const bool listening = [] {
    skein::inspect::HandleTracing();
    return skein::inspect::Listening().ok();
  }();
  Require(listening, "it listens");
  if (size == 0) return 0;
  const std::string answer = skein::fuzz::Ask(skein::fuzz::Text(data, size));
  Require(absl::StartsWith(answer, absl::StrCat("skein ", skein::inspect::Version(), " ")), "an answer");
  return 0;
}
