// Calls of core/rpc over shared memory, client and server in this process and on this thread: the client starts them,
// the server is polled, the client waits and need not.
#include <skein/rpc.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "core/rpc/client_service.h"
#include "core/rpc/connection.h"
#include "core/rpc/options.h"
#include "core/rpc/server_service.h"
#include "tests/instructions/hot_path.h"
#include "tests/unit/stream/two_ends.h"

namespace skein::instructions {
namespace {

constexpr uint32_t kEcho = 1;

// Both ends as Client and Server have them, without their TCP connection and their threads.
class OneConnection {
 public:
  OneConnection() {
    serving_->handlers()[kEcho] = [](absl::string_view request, rpc::Reply reply) { reply.Send(request); };
    auto attempt = connector_->Begin({}).value();
    connect::Listener::Result result = listener_->Accept(attempt->offer(), {});
    auto client = std::static_pointer_cast<rpc::ClientPort>(attempt->Complete(result.answer).port);
    server_ = std::static_pointer_cast<rpc::ServerPort>(std::move(result.placement.port));
    Require(client != nullptr && server_ != nullptr, "a connection");
    connection_ = std::make_unique<rpc::Connection>(
        std::make_unique<rpc::Connection::Impl>(std::move(client), nullptr, UniqueFd(), nullptr));
    // Both ends have met after the first message.
    connection_->Start(calls_[0], kEcho, request_);
    ends_.Pump();
    Take(calls_[0]);
  }

  void Call() {
    connection_->Start(calls_[0], kEcho, request_);
    server_->link().Poll();
    Take(calls_[0]);
  }
  void CallEight() {
    std::array<rpc::CallRequest, 8> requests;
    for (size_t i = 0; i < requests.size(); ++i) requests[i] = {&calls_[i], kEcho, request_};
    connection_->Start(requests);
    server_->link().Poll();
    for (rpc::PendingCall& call : calls_) Take(call);
  }

 private:
  void Take(rpc::PendingCall& call) {
    Require(connection_->Wait(call).ok() && call.reply().size() == request_.size(), "a reply");
  }

  const std::string request_ = std::string(64, 'x');
  const rpc::Options options_;
  const std::shared_ptr<rpc::ServerService> serving_ = std::make_shared<rpc::ServerService>(options_);
  stream::TwoEnds ends_{stream::FabricKindUnderTest::kShm};
  const std::unique_ptr<connect::Connector> connector_ = connect::CreateConnector(
      std::make_shared<connect::OneFabric>(ends_.client_transport), rpc::ConnectOptionsOf(options_),
      &ends_.client_waiter, std::make_shared<rpc::ClientService>(options_));
  const std::unique_ptr<connect::Listener> listener_ =
      connect::CreateListener(std::make_shared<connect::OneFabric>(ends_.server_transport),
                              rpc::ConnectOptionsOf(options_), &ends_.server_waiter, serving_);
  std::shared_ptr<rpc::ServerPort> server_;
  std::unique_ptr<rpc::Connection> connection_;
  std::array<rpc::PendingCall, 8> calls_;
};

std::function<Operation()> With(void (OneConnection::*operation)()) {
  return [=]() -> Operation { return [one = std::make_shared<OneConnection>(), operation] { (*one.*operation)(); }; };
}

}  // namespace

std::vector<HotPath> RpcPaths() {
  return {{"rpc.call", 512, With(&OneConnection::Call)}, {"rpc.eight_calls", 256, With(&OneConnection::CallEight)}};
}

}  // namespace skein::instructions
