#include "core/channel/shm/rehearsal.h"

#include <poll.h>
#include <skein/options.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/base/errno_status.h"
#include "core/base/fallback.h"
#include "core/channel/channel.h"
#include "core/channel/shm/shm_transport.h"

namespace skein::channel {
namespace {

constexpr int kPatienceMs = 5000;

struct RehearsedEnd {
  std::shared_ptr<Transport> transport;
  std::unique_ptr<ChannelGroup> group;
  std::unique_ptr<Channel> channel;
};

absl::Status Open(RehearsedEnd& end, const ShmOptions& shm) {
  end.transport = OpenShm(shm);
  absl::StatusOr<std::unique_ptr<ChannelGroup>> group = end.transport->NewGroup(/*shares_memory=*/false);
  if (!group.ok()) return group.status();
  end.group = *std::move(group);
  ChannelOptions options;
  options.ring_bytes = wire::kRingGranule;
  absl::StatusOr<std::unique_ptr<Channel>> channel = end.group->Open(options);
  if (!channel.ok()) return channel.status();
  end.channel = *std::move(channel);
  return absl::OkStatus();
}

absl::Status Connect(Channel& active, Channel& passive) {
  const absl::StatusOr<std::string> offer = active.Offer();
  if (!offer.ok()) return offer.status();
  const absl::StatusOr<Channel::Answer> answer = passive.Accept(*offer);
  return answer.ok() ? active.Complete(*answer) : answer.status();
}

absl::Status Send(Channel& from) {
  OutItem hello;
  hello.header.kind = wire::ItemKind::kHello;
  const absl::Status laid = from.Lay({&hello, 1}, Use::kControl);
  return laid.ok() ? from.Publish({}) : laid;
}

absl::Status Await(const ChannelGroup& group) {
  pollfd wait = {group.fd(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&wait, 1, kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return ErrnoStatus(errno, "wait for a message (poll)");
  return ready > 0 ? absl::OkStatus() : absl::DeadlineExceededError("a message woke nobody");
}

}  // namespace

absl::Status TryShmChannel(const ShmOptions& options) {
  RehearsedEnd active;
  RehearsedEnd passive;
  absl::Status status = Open(active, options);
  if (status.ok()) status = Open(passive, options);
  if (status.ok()) status = Connect(*active.channel, *passive.channel);
  if (!status.ok()) return status;
  // With what connecting has sent: the peer's notification, where there is one.
  passive.group->AckAllEvents();
  if (status = passive.group->Arm(); !status.ok()) return status;
  if (status = Send(*active.channel); !status.ok()) return status;
  if (status = Await(*passive.group); !status.ok()) return status;
  passive.group->AckAllEvents();
  if (passive.channel->Ended()) return passive.channel->why_ended();
  const absl::StatusOr<std::optional<InMessage>> message = passive.channel->Next();
  if (message.ok() && message->has_value()) return absl::OkStatus();
  return message.ok() ? absl::DataLossError("a message did not arrive") : message.status();
}

absl::Status RehearseShmChannel() {
  if (!PeerUsers().Check(geteuid()).ok()) return absl::OkStatus();
  absl::Status status = TryShmChannel({});
  if (status.ok()) return status;
  // Whatever step it was, no peer had a part in it.
  const Fallback why = FallbackOf(status);
  const FallbackCode code =
      why.code == FallbackCode::kResources ? FallbackCode::kResources : FallbackCode::kNotPermitted;
  return FallbackError(code, absl::StrCat("tried within one process: ", why.detail));
}

}  // namespace skein::channel
