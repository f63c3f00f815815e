// A process that uses skeind without fabric::Device, so that it can say, and write into the shared pages, anything.
#ifndef SKEIN_TESTS_SUPPORT_RAW_SESSION_H_
#define SKEIN_TESTS_SUPPORT_RAW_SESSION_H_

#include <poll.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/abstract_socket.h"
#include "core/base/sealed_memory.h"
#include "core/base/socket_message.h"
#include "core/base/unique_fd.h"
#include "core/fabric/service/protocol.h"
#include "core/fabric/service/session.h"
#include "core/fabric/service/shared_queues.h"

namespace skein::service {

class RawSession {
 public:
  using Request = fabric::service::Request;
  using Reply = fabric::service::Reply;
  using Operation = fabric::service::Operation;

  // `turn`: skeind's, where it has no thread: this session makes it go on while it waits for an answer.
  explicit RawSession(const std::string& folder, std::function<void()> turn = nullptr)
      : socket_(ConnectToPath(absl::StrCat(folder, "/", fabric::service::kSocketName)).value()),
        turn_(std::move(turn)) {}

  int socket() const { return socket_.get(); }
  void Leave() { socket_.Reset(); }
  bool Send(const Request& request, int fd = -1) const {
    return SendMessage(socket_.get(), request.view(), fd) == SendResult::kSent;
  }
  // UNAVAILABLE: skeind has closed the session, or says nothing for 10 s.
  absl::StatusOr<Reply> Receive() const {
    SocketMessage message;
    for (int turns = 0;; ++turns) {
      const ReceiveResult received = ReceiveMessage(socket_.get(), message);
      Reply reply;
      if (received == ReceiveResult::kMessage && Reply::Parse(message.view(), reply)) return reply;
      if (received != ReceiveResult::kEmpty) return absl::UnavailableError("skeind has ended the session");
      pollfd wait = {socket_.get(), POLLIN, 0};
      if (turn_ != nullptr) turn_();
      if (turn_ != nullptr ? turns > 1000 : poll(&wait, 1, 10'000) <= 0) return absl::UnavailableError("no answer");
    }
  }
  absl::StatusOr<Reply> Ask(const Request& request, int fd = -1) const {
    if (!Send(request, fd)) return absl::UnavailableError("skeind takes nothing");
    absl::StatusOr<Reply> reply = Receive();
    if (!reply.ok() || reply->code == 0) return reply;
    return reply->status();
  }
  absl::StatusOr<Reply> Ask(Operation operation, uint32_t number = 0, absl::string_view text = "") const {
    Request request;
    request.operation = operation;
    request.number = number;
    request.SetText(text);
    return Ask(request);
  }

  absl::Status Hello() const {
    Request hello;
    hello.operation = Operation::kHello;
    hello.size = fabric::service::kVersion;
    return Ask(hello).status();
  }
  absl::Status PassPage() {
    page_ = CreateShared("raw-page", sizeof(fabric::service::SessionPage), /*peers_write=*/true).value();
    Request pass;
    pass.operation = Operation::kPassPage;
    pass.size = sizeof(fabric::service::SessionPage);
    return Ask(pass, page_.memfd.get()).status();
  }
  fabric::service::SessionPage& page() const {
    return *reinterpret_cast<fabric::service::SessionPage*>(page_.mapping.data());
  }
  absl::Span<std::byte> page_bytes() const { return page_.mapping.bytes(); }

 private:
  UniqueFd socket_;
  const std::function<void()> turn_;
  SharedMemory page_;
};

// Such a process with one queue pair, which has requests of its own making, and one region.
class RawProcess {
 public:
  static constexpr uint64_t kDepth = 16;
  static constexpr uint64_t kBytes = 4096;
  using Operation = RawSession::Operation;
  using Reply = RawSession::Reply;

  // `base`: the number that the process gives its memory's first byte.
  explicit RawProcess(const std::string& folder, uint64_t base = uint64_t{1} << 32,
                      uint32_t access = fabric::kRemoteWrite | fabric::kRemoteRead | fabric::kRemoteAtomic,
                      std::function<void()> turn = nullptr)
      : session(folder, std::move(turn)), base(base) {
    session.Hello().IgnoreError();
    session.PassPage().IgnoreError();
    RawSession::Request request;
    request.operation = Operation::kRegister;
    request.size = kBytes;
    request.address = base;
    request.access = access;
    const Reply registered = session.Ask(request, memory.memfd.get()).value();
    lkey = registered.number;
    rkey = registered.key;
    request = {};
    request.operation = Operation::kCreateCompletionQueue;
    request.size = 2 * kDepth;
    const uint32_t queue = session.Ask(request, completions.memfd.get()).value().number;
    request = {};
    request.operation = Operation::kCreateQueuePair;
    request.size = kDepth;
    request.number = request.other = queue;
    const Reply created = session.Ask(request, requests.memfd.get()).value();
    number = created.number;
    place = created.other;
  }

  // A WRITE of 8 bytes, in all that this process may say right.
  fabric::service::Submission Write(fabric::RemoteAddress to) const {
    fabric::service::Submission write;
    write.opcode = static_cast<uint32_t>(fabric::Opcode::kWrite);
    write.signaled = 1;
    write.lkey = lkey;
    write.length = 8;
    write.address = base;
    write.remote_address = to.address;
    write.rkey = to.rkey;
    return write;
  }
  void Lay(const fabric::service::Submission& submission) { submissions.at(laid++) = submission; }
  void Publish() { Publish(laid); }
  void Publish(uint64_t published) {
    submissions.header().published.store(published, std::memory_order_release);
    Ring(place);
  }
  void Ring(uint32_t at) const {
    session.page().pending[at / 64].fetch_or(uint64_t{1} << (at % 64), std::memory_order_release);
    session.Send({});
  }
  fabric::service::End end() const {
    return static_cast<fabric::service::End>(submissions.header().end.load(std::memory_order_acquire));
  }

  RawSession session;
  const uint64_t base;
  const SharedMemory memory = CreateShared("raw-memory", kBytes, /*peers_write=*/true).value();
  const SharedMemory completions =
      CreateShared("raw-completions", fabric::service::CompletionBytes(2 * kDepth), /*peers_write=*/true).value();
  const SharedMemory requests =
      CreateShared("raw-requests", fabric::service::SubmissionBytes(kDepth), /*peers_write=*/true).value();
  const fabric::service::SubmissionQueue submissions{requests.mapping.data(), kDepth};
  const fabric::service::CompletionRing completed{completions.mapping.data(), 2 * kDepth};
  uint64_t laid = 0;
  uint32_t lkey = 0;
  uint32_t rkey = 0;
  uint32_t number = 0;
  uint32_t place = 0;
};

}  // namespace skein::service

#endif  // SKEIN_TESTS_SUPPORT_RAW_SESSION_H_
