#include "examples/parameters/worker.h"

#include "absl/strings/str_cat.h"
#include "examples/rpc_program.h"

namespace skein::parameters {

absl::StatusOr<Worker> Worker::Connect(const std::vector<std::string>& addresses) {
  rpc::Client client({});
  Servers servers;
  for (const std::string& address : addresses) {
    absl::StatusOr<std::unique_ptr<rpc::Connection>> server = client.Connect(address, examples::kPatience);
    if (!server.ok()) return server.status();
    servers.push_back(*std::move(server));
  }
  return Worker(std::move(servers));
}

absl::Status Worker::Push(absl::Span<const uint64_t> keys, absl::Span<const float> values) {
  return CallAll(kPush, PushRequests(keys, values, servers_.size())).status();
}

absl::StatusOr<Values> Worker::Pull(absl::Span<const uint64_t> keys) {
  const absl::StatusOr<std::vector<std::string>> replies = CallAll(kPull, PullRequests(keys, servers_.size()));
  if (!replies.ok()) return replies.status();
  return Join(keys, *replies);
}

absl::StatusOr<std::vector<std::string>> Worker::CallAll(Call call, const std::vector<std::string>& requests) {
  std::vector<rpc::PendingCall> calls(servers_.size());
  for (size_t i = 0; i < calls.size(); ++i) servers_[i]->Start(calls[i], call, requests[i]);
  std::vector<std::string> replies;
  absl::Status status;
  for (size_t i = 0; i < calls.size(); ++i) {
    status.Update(servers_[i]->Wait(calls[i], examples::kPatience));
    if (const absl::Status lost = servers_[i]->error(); !lost.ok())
      return absl::UnavailableError(absl::StrCat("lost server ", i, ": ", lost.message()));
    replies.push_back(calls[i].TakeReply());
  }
  if (!status.ok()) return status;
  return replies;
}

}  // namespace skein::parameters
