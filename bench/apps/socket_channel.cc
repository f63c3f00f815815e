// A message is its size and a word, then its bytes: the function of a request, the code of an answer's status.
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "bench/apps/channel.h"
#include "core/base/errno_status.h"
#include "core/base/unique_fd.h"

namespace skein::bench {
namespace {

constexpr size_t kReadAtOnce = 256 << 10;

struct Header {
  uint32_t size = 0;
  uint32_t word = 0;
};

struct Message {
  uint32_t word = 0;
  absl::string_view bytes;
};

// Messages out of the bytes that have come.
class Inbox {
 public:
  // The bytes of one receive. Waits for them unless `flags` say otherwise. UNAVAILABLE: the other end is gone.
  absl::Status Receive(int fd, int flags) {
    bytes_.erase(0, taken_);
    taken_ = 0;
    const size_t had = bytes_.size();
    bytes_.resize(had + kReadAtOnce);
    const ssize_t got = recv(fd, bytes_.data() + had, kReadAtOnce, flags);
    bytes_.resize(had + static_cast<size_t>(got > 0 ? got : 0));
    if (got == 0) return absl::UnavailableError("the other end is gone");
    if (got < 0 && errno != EAGAIN && errno != EINTR) return ErrnoStatus(errno, "receive");
    return absl::OkStatus();
  }

  // The next message, if it is here as a whole; until the next Receive.
  std::optional<Message> Next() {
    Header header;
    const absl::string_view left = absl::string_view(bytes_).substr(taken_);
    if (left.size() < sizeof(header)) return std::nullopt;
    std::memcpy(&header, left.data(), sizeof(header));
    if (left.size() - sizeof(header) < header.size) return std::nullopt;
    taken_ += sizeof(header) + header.size;
    return Message{header.word, left.substr(sizeof(header), header.size)};
  }

 private:
  std::string bytes_;
  size_t taken_ = 0;
};

void Append(std::string& to, uint32_t word, absl::string_view bytes) {
  const Header header = {static_cast<uint32_t>(bytes.size()), word};
  absl::StrAppend(&to, absl::string_view(reinterpret_cast<const char*>(&header), sizeof(header)), bytes);
}

absl::Status SendAll(int fd, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) return ErrnoStatus(errno, "send");
    if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return absl::OkStatus();
}

struct Address {
  sockaddr_storage bytes = {};
  int size = sizeof(bytes);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
};

// "unix:NAME", of an abstract name; "127.0.0.1:7000"; "any": a free port there.
absl::StatusOr<Address> AddressOf(absl::string_view text) {
  Address address;
  if (absl::ConsumePrefix(&text, "unix:")) {
    auto& name = reinterpret_cast<sockaddr_un&>(address.bytes);
    if (text.size() >= sizeof(name.sun_path)) return absl::InvalidArgumentError("too long a name");
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path + 1, text.data(), text.size());
    address.size = static_cast<int>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  } else if (text == "any") {
    auto& any = reinterpret_cast<sockaddr_in&>(address.bytes);
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.size = sizeof(any);
  } else if (evutil_parse_sockaddr_port(std::string(text).c_str(), address.get(), &address.size) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("no address: ", text));
  }
  return address;
}

void SendAtOnce(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));  // means nothing to a UNIX socket
}

class SocketChannel : public Channel {
 public:
  explicit SocketChannel(UniqueFd fd) : fd_(std::move(fd)) {}

  absl::Status Start(absl::Span<const Call> calls) override {
    outbox_.clear();
    for (const Call& call : calls) Append(outbox_, call.function, call.request);
    return SendAll(fd_.get(), outbox_);
  }

  absl::StatusOr<absl::string_view> Finish() override {
    for (;;) {
      if (const std::optional<Message> message = inbox_.Next()) {
        if (message->word != 0) return absl::Status(static_cast<absl::StatusCode>(message->word), message->bytes);
        return message->bytes;
      }
      if (absl::Status status = inbox_.Receive(fd_.get(), 0); !status.ok()) return status;
    }
  }

 private:
  const UniqueFd fd_;
  Inbox inbox_;
  std::string outbox_;
};

// One client's connection at the server. Replies to what came together go together. The socket blocks for them, because
// a client takes all answers before it sends more than they need.
struct Served {
  const examples::Functions& functions;
  const UniqueFd fd;
  Inbox inbox;
  std::string outbox;
  event* readable = nullptr;

  ~Served() { event_free(readable); }

  absl::Status Answer() {
    if (absl::Status status = inbox.Receive(fd.get(), MSG_DONTWAIT); !status.ok()) return status;
    outbox.clear();
    while (const std::optional<Message> message = inbox.Next()) {
      const auto function = functions.find(message->word);
      const absl::StatusOr<absl::string_view> answer =
          function == functions.end() ? absl::NotFoundError("no such function") : function->second(message->bytes);
      Append(outbox, static_cast<uint32_t>(answer.status().code()), answer.ok() ? *answer : answer.status().message());
    }
    return SendAll(fd.get(), outbox);
  }
};

void OnReadable(evutil_socket_t, short, void* served) {
  auto* const connection = static_cast<Served*>(served);
  if (!connection->Answer().ok()) delete connection;
}

void OnConnection(evconnlistener* listener, evutil_socket_t fd, sockaddr*, int, void* functions) {
  SendAtOnce(fd);
  auto* const served = new Served{*static_cast<const examples::Functions*>(functions), UniqueFd(fd), {}, {}, nullptr};
  served->readable = event_new(evconnlistener_get_base(listener), fd, EV_READ | EV_PERSIST, OnReadable, served);
  event_add(served->readable, nullptr);
}

absl::Status Serve(absl::string_view at, const Service& service, int address_fd) {
  std::vector<uint64_t> memory((service.memory_bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  const examples::Functions functions =
      service.functions(absl::MakeSpan(reinterpret_cast<std::byte*>(memory.data()), service.memory_bytes));
  absl::StatusOr<Address> address = AddressOf(at);
  if (!address.ok()) return address.status();
  event_base* const base = event_base_new();
  evconnlistener* const listener = evconnlistener_new_bind(
      base, OnConnection, const_cast<examples::Functions*>(&functions),
      LEV_OPT_CLOSE_ON_FREE | LEV_OPT_LEAVE_SOCKETS_BLOCKING, -1, address->get(), address->size);
  if (listener == nullptr) return ErrnoStatus(errno, absl::StrCat("listen on ", at));
  std::string text(at);
  if (address->bytes.ss_family == AF_INET) {
    sockaddr_in bound = {};
    socklen_t size = sizeof(bound);
    getsockname(evconnlistener_get_fd(listener), reinterpret_cast<sockaddr*>(&bound), &size);
    text = absl::StrCat("127.0.0.1:", ntohs(bound.sin_port));
  }
  if (write(address_fd, text.data(), text.size()) < 0) return absl::InternalError("nobody asks for the address");
  event_base_dispatch(base);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Channel>> Open(const std::string& at, size_t /*window*/) {
  absl::StatusOr<Address> address = AddressOf(at);
  if (!address.ok()) return address.status();
  UniqueFd fd(socket(address->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(fd.get(), address->get(), static_cast<socklen_t>(address->size)) != 0)
    return ErrnoStatus(errno, absl::StrCat("connect to ", at));
  SendAtOnce(fd.get());
  return std::make_unique<SocketChannel>(std::move(fd));
}

}  // namespace

Path TcpPath() {
  return {[](const Service& service, int fd) { return Serve("any", service, fd); }, Open};
}

Path UnixPath() {
  // In the server's process, whose number makes the name its own.
  return {[](const Service& service, int fd) {
            return Serve(absl::StrCat("unix:skein-bench-apps-", getpid()), service, fd);
          },
          Open};
}

}  // namespace skein::bench
