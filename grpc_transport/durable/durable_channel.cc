#include <grpcpp/create_channel.h>
#include <grpcpp/support/client_interceptor.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc_transport/durable/durable_client.h"
#include "grpc_transport/durable/durable_interceptor.h"
#include "grpc_transport/durable/skein_durable.h"

namespace skein::grpc_transport {

absl::StatusOr<std::shared_ptr<grpc::Channel>> CreateDurableChannel(
    const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const grpc::ChannelArguments& arguments, const DurableChannelOptions& options) {
  durable::OutboxOptions outbox;
  outbox.most_calls = options.most_calls;
  outbox.most_bytes = options.most_bytes;
  outbox.wanted = durable::PersistenceOf(options.level);
  if (!options.level.empty() && !outbox.wanted.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no level \"", options.level, "\"; there are visible, cpu-flushed, flushed, persistent and emulated"));
  }
  // Two channels that differ in nothing but the interceptor share their connections.
  const auto client =
      std::make_shared<DurableClient>(grpc::CreateCustomChannel(target, credentials, arguments), outbox);
  client->Open();
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> factories;
  factories.push_back(std::make_unique<DurableInterceptorFactory>(client, options.every_call, options.metadata));
  return grpc::experimental::CreateCustomChannelWithInterceptors(target, credentials, arguments, std::move(factories));
}

}  // namespace skein::grpc_transport
