// Takes unary calls off their channel and makes them durable ones.
#ifndef SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_INTERCEPTOR_H_
#define SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_INTERCEPTOR_H_

#include <grpcpp/support/client_interceptor.h>
#include <skein/grpc_durable.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "grpc_transport/durable/durable_client.h"

namespace skein::grpc_transport {

// Bytes of a message, of the channel's arguments; negative: any.
struct MessageLimits {
  int64_t sent = GRPC_DEFAULT_MAX_SEND_MESSAGE_LENGTH;
  int64_t received = GRPC_DEFAULT_MAX_RECV_MESSAGE_LENGTH;
};

// The channel's: with it, the client ends. The channel's last owner may let go of it in a callback.
class DurableInterceptorFactory final : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  DurableInterceptorFactory(std::shared_ptr<DurableClient> client, bool every_call, std::vector<std::string> metadata,
                            const MessageLimits& limits)
      : client_(std::move(client)), every_call_(every_call), metadata_(std::move(metadata)), limits_(limits) {}
  ~DurableInterceptorFactory() override { DurableClient::CloseElsewhere(std::move(client_)); }
  grpc::experimental::Interceptor* CreateClientInterceptor(grpc::experimental::ClientRpcInfo* info) override;

 private:
  std::shared_ptr<DurableClient> client_;
  const bool every_call_;
  const std::vector<std::string> metadata_;
  const MessageLimits limits_;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_DURABLE_DURABLE_INTERCEPTOR_H_
