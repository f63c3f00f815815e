#include "core/fabric/service/query.h"

#include <poll.h>

#include <cerrno>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/deadline.h"
#include "core/base/errno_status.h"
#include "core/base/socket_message.h"
#include "core/fabric/service/session.h"

namespace skein::fabric::service {
namespace {

bool ParseShare(absl::string_view text, UserShare& share) {
  const std::vector<absl::string_view> numbers = absl::StrSplit(text, '/');
  return numbers.size() == 2 && absl::SimpleAtoi(numbers[0], &share.used) && absl::SimpleAtoi(numbers[1], &share.most);
}

std::string TextOf(const UserShare& share) { return absl::StrCat(share.used, "/", share.most); }

}  // namespace

std::string EncodeAbout(const About& about) {
  return absl::StrCat(about.version, " ", about.port, " ", TextOf(about.sessions), " ", TextOf(about.queue_pairs), " ",
                      TextOf(about.bytes));
}

absl::StatusOr<About> DecodeAbout(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  About about;
  uint32_t port = 0;
  if (words.size() != 5 || !absl::SimpleAtoi(words[1], &port) || port > UINT16_MAX ||
      !ParseShare(words[2], about.sessions) || !ParseShare(words[3], about.queue_pairs) ||
      !ParseShare(words[4], about.bytes)) {
    return absl::DataLossError("skeind says of itself what nobody understands");
  }
  about.version = std::string(words[0]);
  about.port = static_cast<uint16_t>(port);
  return about;
}

absl::StatusOr<Query> Query::Open(const std::string& folder) {
  absl::StatusOr<UniqueFd> socket = ConnectToPath(absl::StrCat(folder, "/", kSocketName));
  if (!socket.ok()) return socket.status();
  const absl::StatusOr<PeerCredentials> who = CredentialsOf(socket->get());
  if (!who.ok()) return who.status();
  return Query(*std::move(socket), *who);
}

absl::StatusOr<Reply> Query::Ask(const Request& request, UniqueFd* descriptor) const {
  // One question at a time has space in the socket. ReceiveReply notices a skeind that has gone.
  const SendResult sent = SendMessage(socket_.get(), request.view());
  if (sent != SendResult::kSent && sent != SendResult::kGone) {
    return absl::InternalError(ErrnoStatus(errno, "ask skeind").message());
  }
  UniqueFd came;
  absl::StatusOr<Reply> reply = ReceiveReply(socket_.get(), After(kAnswersWithin), &came);
  if (!reply.ok()) return reply;
  if (reply->code != 0) return reply->status();
  if (descriptor != nullptr) *descriptor = std::move(came);
  return reply;
}

absl::StatusOr<About> Query::AskAbout() const {
  Request request;
  request.operation = Operation::kAbout;
  const absl::StatusOr<Reply> reply = Ask(request);
  if (!reply.ok()) return reply.status();
  return DecodeAbout(reply->text_view());
}

bool Query::WaitForEnd(absl::Duration patience) const {
  const Deadline until = After(patience);
  while (WaitFor(socket_.get(), POLLIN, until)) {
    SocketMessage message;
    const ReceiveResult received = ReceiveMessage(socket_.get(), message);
    if (received != ReceiveResult::kEmpty && received != ReceiveResult::kMessage) return true;
  }
  return false;
}

}  // namespace skein::fabric::service
