#include <grpcpp/create_channel.h>
#include <grpcpp/support/client_interceptor.h>
#include <skein/grpc_durable.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc_transport/durable/durable_call.h"
#include "grpc_transport/durable/durable_client.h"
#include "grpc_transport/durable/durable_interceptor.h"

namespace skein::grpc_transport {
namespace {

MessageLimits LimitsOf(const grpc::ChannelArguments& arguments) {
  const grpc_channel_args given = arguments.c_channel_args();
  MessageLimits limits;
  for (size_t i = 0; i < given.num_args; ++i) {
    const grpc_arg& arg = given.args[i];
    if (arg.type != GRPC_ARG_INTEGER) continue;
    if (absl::string_view(arg.key) == GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH) limits.received = arg.value.integer;
    if (absl::string_view(arg.key) == GRPC_ARG_MAX_SEND_MESSAGE_LENGTH) limits.sent = arg.value.integer;
  }
  return limits;
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::Channel>> CreateDurableChannel(
    const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    const grpc::ChannelArguments& arguments, const DurableChannelOptions& options) {
  durable::OutboxOptions outbox;
  outbox.max_calls = options.max_calls;
  outbox.max_bytes = options.max_bytes;
  outbox.wanted = durable::PersistenceOf(options.level);
  if (!options.level.empty() && !outbox.wanted.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "no level \"", options.level, "\"; there are visible, cpu-flushed, flushed, persistent and emulated"));
  }
  for (const std::string& name : options.metadata) {
    if (IsReserved(name)) return absl::InvalidArgumentError(absl::StrCat("no metadata named ", name, " goes along"));
  }
  // No message may be the end of the stream that carries all of them.
  grpc::ChannelArguments of_stream = arguments;
  of_stream.SetMaxReceiveMessageSize(-1);
  of_stream.SetMaxSendMessageSize(-1);
  const auto client =
      std::make_shared<DurableClient>(grpc::CreateCustomChannel(target, credentials, of_stream), outbox);
  client->Open();
  std::vector<std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>> factories;
  factories.push_back(
      std::make_unique<DurableInterceptorFactory>(client, options.every_call, options.metadata, LimitsOf(arguments)));
  return grpc::experimental::CreateCustomChannelWithInterceptors(target, credentials, arguments, std::move(factories));
}

}  // namespace skein::grpc_transport
