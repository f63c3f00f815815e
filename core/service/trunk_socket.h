// The TCP connection of a trunk: messages of another host's skeind, whole and in order.
#ifndef SKEIN_CORE_SERVICE_TRUNK_SOCKET_H_
#define SKEIN_CORE_SERVICE_TRUNK_SOCKET_H_

#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/deadline.h"
#include "core/base/unique_fd.h"
#include "core/service/trunk_message.h"

namespace skein::service {

// skeind's thread. After an error nothing comes and goes any more. UNAVAILABLE: the connection could not be made, or
// has ended. RESOURCE_EXHAUSTED: the other skeind does not read. INVALID_ARGUMENT: it sends what is no message.
class TrunkSocket {
 public:
  // Connected or about to be, not blocking.
  explicit TrunkSocket(UniqueFd socket) : socket_(std::move(socket)) {}
  // It is about to be.
  void AwaitConnection() { connecting_ = true; }

  int fd() const { return socket_.get(); }
  bool wants_to_write() const { return connecting_ || unwritten() > 0; }
  // The other skeind's address: a number.
  std::string PeerHost() const;

  // Writes as much as goes at once.
  absl::Status Send(const TrunkMessage& message);
  // Writes and reads as far as that goes at once, and hands over what has come, until `heed` says that it wants no
  // more. False: nothing was to do.
  absl::StatusOr<bool> Move(absl::FunctionRef<bool(const TrunkMessage&)> heed);
  void ShutDown();

 private:
  size_t unwritten() const { return unwritten_.size() - written_; }
  absl::StatusOr<bool> IsConnected();
  absl::StatusOr<bool> Write();
  absl::StatusOr<bool> Read(absl::FunctionRef<bool(const TrunkMessage&)> heed);

  const UniqueFd socket_;
  bool connecting_ = false;
  std::string unheeded_;   // less than a message
  std::string unwritten_;  // behind what is written
  size_t written_ = 0;
  Deadline wrote_;  // when something went last, while anything is unwritten
};

}  // namespace skein::service

#endif  // SKEIN_CORE_SERVICE_TRUNK_SOCKET_H_
