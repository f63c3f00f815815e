#include "bench/macro/server.h"

#include <climits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "bench/macro/echo_services.h"
#include "bench/macro/init.h"

namespace skein::bench {

Server::Server(absl::string_view style, const std::string& address,
               const std::shared_ptr<grpc::ServerCredentials>& credentials)
    : address_(address), service_(NewEchoService(style)) {
  grpc::ServerBuilder builder;
  if (SkeinMode() != nullptr) builder.AddChannelArgument("skein.mode", SkeinMode());
  builder.SetMaxReceiveMessageSize(INT_MAX);
  int port = 0;
  if (!address_.empty()) builder.AddListeningPort(address_, credentials, &port);
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  if (absl::EndsWith(address_, ":0")) address_ = absl::StrCat(absl::StripSuffix(address_, "0"), port);
}

}  // namespace skein::bench
