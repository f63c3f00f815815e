// Messages, with descriptors, of a UNIX socket to another process, which may be hostile. SOCK_SEQPACKET: each message
// stays whole. No call here blocks, whatever the peer does to its end, because "do not wait" is asked per call and not
// by a flag of a file description that both processes might share.
#ifndef SKEIN_CORE_BASE_SOCKET_MESSAGE_H_
#define SKEIN_CORE_BASE_SOCKET_MESSAGE_H_

#include <cstddef>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/base/abstract_socket.h"
#include "core/base/closer.h"
#include "core/base/unique_fd.h"

namespace skein {

// kRefused: errno says why the kernel does not let this process; it says nothing of the peer.
// kFull: the peer has not taken what lies there, so its end is readable. kNoMemory: the kernel has none, or this user
// has too many descriptors under way; nothing tells when that ends.
enum class SendResult { kSent, kFull, kNoMemory, kGone, kRefused };
// One message, with a descriptor when `fd` >= 0.
SendResult SendMessage(int socket, absl::string_view bytes, int fd = -1);

enum class ReceiveResult { kMessage, kEmpty, kGone, kRefused };
// The Closer closes the descriptor, which was in a stranger's hands, unless the receiver has found it to be harmless.
struct SocketMessage {
  ~SocketMessage() { Closer::Get().Close(std::move(fd)); }
  char bytes[256];
  size_t size = 0;
  UniqueFd fd;
  bool truncated = false;        // longer than any of ours, or with more descriptors
  bool lost_descriptor = false;  // there was one, which this process could not have: its limit, or a security policy
  absl::string_view view() const { return {bytes, size}; }
};
// Nothing that was passed is closed here: a message that is truncated or has lost its descriptor stays in the socket,
// which is to be closed, or to be followed by TakeOut.
ReceiveResult ReceiveMessage(int socket, SocketMessage& message);
// The message that comes next, with all that is passed with it.
void TakeOut(int socket);

}  // namespace skein

#endif  // SKEIN_CORE_BASE_SOCKET_MESSAGE_H_
