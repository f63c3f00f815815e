#include "core/durable/replicas/connection.h"

#include <unistd.h>

#include "core/base/deadline.h"
#include "core/base/unique_fd.h"
#include "core/connect/tcp.h"

namespace skein::durable {

absl::StatusOr<Options> FabricOptions() {
  const EnvironmentOptions environment = OptionsFromEnvironment(Options(), "", environ);
  if (!environment.error.ok()) return environment.error;
  return environment.options;
}

absl::StatusOr<ReplicaAnswer> AskReplica(absl::string_view address, const ReplicaRequest& request) {
  const absl::StatusOr<UniqueFd> tcp = connect::ConnectTcp(address, After(kMeetingTimeout));
  if (!tcp.ok()) return tcp.status();
  const absl::Status sent = connect::SendFrame(tcp->get(), kReplicaLetters, EncodeRequest(request));
  if (!sent.ok()) return sent;
  const absl::StatusOr<std::string> answer =
      connect::ReceiveFrame(tcp->get(), kReplicaLetters, kMaxReplicaAnswerBytes, After(kReadingTimeout));
  if (!answer.ok()) return answer.status();
  return DecodeAnswer(*answer);
}

}  // namespace skein::durable
