#include "grpc_transport/durable/loopback_client.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/server_posix.h>
#include <grpcpp/support/client_callback.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <utility>

#include "core/durable/log/identity.h"

namespace skein::grpc_transport {
namespace {

// For sockets to be had, or for word of a Shutdown.
constexpr std::chrono::milliseconds kPause{10};
constexpr int kMostMetadataBytes = 1 << 20;

std::string Secret() {
  const durable::ClientId id = durable::RandomId();
  return std::string(id.begin(), id.end());
}

Metadata Copy(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  Metadata copy;
  for (const auto& [name, value] : metadata) {
    copy.emplace_back(std::string(name.data(), name.size()), std::string(value.data(), value.size()));
  }
  return copy;
}

// As gRPC ends what it cannot carry, or carry on. A handler may say the same.
bool MayBeCutOff(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE || status.error_code() == grpc::StatusCode::CANCELLED;
}

// As a stub of the synchronous kind: this thread polls, which saves a hop.
grpc::Status CallOnce(grpc::Channel& channel, grpc::ClientContext& context, const std::string& name,
                      const grpc::ByteBuffer& request, grpc::ByteBuffer& reply) {
  const grpc::internal::RpcMethod method(name.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
  return grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(&channel, method, &context, request,
                                                                               &reply);
}

LoggedEnd CallHandler(grpc::Channel& channel, const LoggedCall& call, const grpc::ByteBuffer& request) {
  grpc::ClientContext context;
  for (const auto& [name, value] : call.metadata) context.AddMetadata(name, value);
  grpc::ByteBuffer reply;
  LoggedEnd end{.method = call.method, .status = CallOnce(channel, context, call.method, request, reply)};
  end.trailing = Copy(context.GetServerTrailingMetadata());
  if (end.status.ok()) end.message = BytesOf(reply);
  return end;
}

}  // namespace

// The server's side of that call.
class LoopbackClient::Presence final : public grpc::ServerUnaryReactor {
 public:
  explicit Presence(LoopbackClient& client) : client_(client) {}
  void OnCancel() override {
    client_.BeginClose();
    Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    client_.OnGone();
    delete this;
  }

 private:
  LoopbackClient& client_;
};

LoopbackClient::LoopbackClient() : secret_(Secret()), presence_said_(BufferOf(secret_)) {}

LoopbackClient::~LoopbackClient() { Close(); }

void LoopbackClient::Open(grpc::Server& server) {
  in_process_.emplace(server.InProcessChannel(grpc::ChannelArguments()));
  {
    const MutexLock lock(&mu_);
    server_ = &server;
    asked_ = true;
  }
  in_process_->UnaryCall(&presence_context_, kPresenceMethod, grpc::StubOptions(), &presence_said_, &presence_heard_,
                         [this](const grpc::Status&) {
                           const MutexLock lock(&mu_);
                           asked_ = false;
                           changed_.notify_all();
                         });
  const MutexLock lock(&mu_);
  Lockable lockable{mu_};
  while (asked_ && !present_) changed_.wait(lockable);
}

void LoopbackClient::BeginClose() {
  const MutexLock lock(&mu_);
  going_ = true;
  changed_.notify_all();
}

void LoopbackClient::Close() {
  BeginClose();
  presence_context_.TryCancel();
  Connection last;
  const MutexLock lock(&mu_);
  Lockable lockable{mu_};
  while (asked_ || present_) changed_.wait(lockable);
  last = std::move(connection_);
}

std::optional<LoggedEnd> LoopbackClient::Call(const LoggedCall& call) {
  const grpc::ByteBuffer request = BufferOf(call.message);
  Connection channel;
  while ((channel = Connected(/*lost=*/channel)) != nullptr) {
    LoggedEnd end = CallHandler(*channel, call, request);
    if (!MayBeCutOff(end.status) || Answers(*channel)) return end;
  }
  return std::nullopt;
}

// If so, its connection was there all the time, and the server took calls.
bool LoopbackClient::Answers(grpc::Channel& channel) {
  grpc::ClientContext context;
  grpc::ByteBuffer heard;
  return !MayBeCutOff(CallOnce(channel, context, kPresenceMethod, BufferOf(""), heard));
}

LoopbackClient::Connection LoopbackClient::Connected(const Connection& lost) {
  const MutexLock lock(&mu_);
  if (lost != nullptr && connection_ == lost) {
    Lockable lockable{mu_};
    if (!going_) changed_.wait_for(lockable, kPause);
    if (connection_ == lost) connection_ = nullptr;
  }
  while (connection_ == nullptr && !going_ && present_) Connect();
  return going_ ? nullptr : connection_;
}

// Under the lock that word of a Shutdown waits for, and Shutdown for that.
void LoopbackClient::Connect() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    Lockable lockable{mu_};
    changed_.wait_for(lockable, kPause);
    return;
  }
  grpc::AddInsecureChannelFromFd(server_, ends[0]);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_MAX_METADATA_SIZE, kMostMetadataBytes);
  connection_ = grpc::CreateCustomInsecureChannelFromFd("own", ends[1], arguments);
}

void LoopbackClient::OnGone() {
  const MutexLock lock(&mu_);
  present_ = false;
  changed_.notify_all();
}

grpc::ServerUnaryReactor* LoopbackClient::OnPresence(grpc::CallbackServerContext& context, const grpc::ByteBuffer& said,
                                                     grpc::ByteBuffer& answer) {
  answer = BufferOf("");
  const MutexLock lock(&mu_);
  if (!asked_ || present_ || going_ || BytesOf(said) != secret_) {
    grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  present_ = true;
  changed_.notify_all();
  return new Presence(*this);
}

}  // namespace skein::grpc_transport
