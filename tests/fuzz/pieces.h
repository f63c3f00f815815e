// Bytes on their way through a socket, in pieces.
#ifndef SKEIN_TESTS_FUZZ_PIECES_H_
#define SKEIN_TESTS_FUZZ_PIECES_H_

#include <fcntl.h>
#include <sys/socket.h>

#include <array>

#include "core/base/unique_fd.h"
#include "tests/fuzz/fuzz_target.h"

namespace skein::fuzz {

struct SocketPair {
  UniqueFd peers;
  UniqueFd own;  // does not block
};

inline SocketPair MakeSocketPair() {
  std::array<int, 2> ends{};
  Require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0, "a socket pair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

inline void SendPiece(int fd, absl::string_view piece) {
  if (!piece.empty()) send(fd, piece.data(), piece.size(), MSG_NOSIGNAL);
}

}  // namespace skein::fuzz

#endif  // SKEIN_TESTS_FUZZ_PIECES_H_
