// A TCP connection for one question and its answer; every step has a time limit.
#ifndef SKEIN_TOOLS_SKEIN_DOCTOR_CONNECTION_H_
#define SKEIN_TOOLS_SKEIN_DOCTOR_CONNECTION_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "core/base/unique_fd.h"
#include "tools/skein/host_port.h"

namespace skein::doctor {

class Connection {
 public:
  // To the first of the target's addresses that takes it. (How long looking up a name takes is the resolver's matter.)
  static absl::StatusOr<Connection> Open(const HostPort& target, absl::Time deadline);

  int fd() const { return fd_.get(); }
  // As numbers: "[::1]:50051".
  const std::string& peer() const { return peer_; }

  absl::Status Send(absl::string_view bytes, absl::Time deadline);
  // Appends what has arrived. OUT_OF_RANGE: the peer has closed the connection; DEADLINE_EXCEEDED.
  absl::Status Receive(std::string& bytes, absl::Time deadline);
  // There are bytes, or the end.
  bool Readable() const;
  // Says that nothing more will come, and hears the peer out: a close with bytes unread would be a reset to it.
  void Close(absl::Time deadline);

 private:
  Connection(UniqueFd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  UniqueFd fd_;
  std::string peer_;
};

}  // namespace skein::doctor

#endif  // SKEIN_TOOLS_SKEIN_DOCTOR_CONNECTION_H_
