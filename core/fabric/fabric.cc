#include "core/fabric/fabric.h"

#include <poll.h>

#include <array>

namespace skein::fabric {

CompletionQueue::Woken CompletionQueue::Sleep(int also, int timeout_ms) {
  std::array<pollfd, 2> waits = {{{fd(), POLLIN, 0}, {also, POLLIN, 0}}};
  poll(waits.data(), waits.size(), timeout_ms);
  return {waits[0].revents != 0, waits[1].revents != 0};
}

absl::string_view OpcodeName(Opcode opcode) {
  switch (opcode) {
    case Opcode::kSend:
      return "SEND";
    case Opcode::kWrite:
      return "WRITE";
    case Opcode::kWriteWithImmediate:
      return "WRITE_WITH_IMM";
    case Opcode::kRead:
      return "READ";
    case Opcode::kFetchAdd:
      return "FETCH_ADD";
    case Opcode::kCompareSwap:
      return "CMP_SWAP";
    case Opcode::kReceive:
      return "RECV";
    case Opcode::kReceiveWithImmediate:
      return "RECV_WITH_IMM";
    case Opcode::kFlush:
      return "FLUSH";
  }
  return "unknown opcode";
}

absl::string_view CompletionStatusName(CompletionStatus status) {
  switch (status) {
    case CompletionStatus::kSuccess:
      return "success";
    case CompletionStatus::kFlushed:
      return "flushed";
    case CompletionStatus::kRemoteAccessError:
      return "remote access error";
    case CompletionStatus::kLocalLengthError:
      return "local length error";
    case CompletionStatus::kRemoteOperationError:
      return "remote operation error";
    case CompletionStatus::kRetryExceeded:
      return "retry exceeded";
    case CompletionStatus::kFatal:
      return "fatal error";
  }
  return "unknown completion status";
}

}  // namespace skein::fabric
