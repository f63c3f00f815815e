#include "tests/system/load/grpc_options.h"

#include <fstream>
#include <sstream>

#include "absl/flags/flag.h"
#include "tests/system/load/options.h"

ABSL_FLAG(std::vector<std::string>, kinds,
          std::vector<std::string>({"blocking", "queued", "callback", "chat", "get", "put"}),
          "of a client's calls: each is any of these");
ABSL_FLAG(double, cancelled, 0.01, "share of a chat's messages behind which the client cancels it");
ABSL_FLAG(std::string, api, "sync", "of gRPC's, that the server uses: sync, callback or queue");
ABSL_FLAG(std::string, tls_cert, "", "file of a server's certificate: with it, connections are secure");
ABSL_FLAG(std::string, tls_key, "", "file of its key");
ABSL_FLAG(std::string, tls_ca, "", "file of the certificate that a client trusts: with it, connections are secure");

namespace skein::load {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

bool Stock() { return absl::GetFlag(FLAGS_mode) == "stock"; }

grpc::ChannelArguments ClientArguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  // What an attempt may take, at least.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   static_cast<int>(absl::ToInt64Milliseconds(absl::GetFlag(FLAGS_connecting))));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetMaxReceiveMessageSize(-1);
  if (!Stock()) arguments.SetString("skein.mode", absl::GetFlag(FLAGS_mode));
  if (!absl::GetFlag(FLAGS_tls_ca).empty()) arguments.SetSslTargetNameOverride("localhost");
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> ClientCredentials() {
  const std::string file = absl::GetFlag(FLAGS_tls_ca);
  if (file.empty()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = Contents(file);
  return grpc::SslCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> ServerCredentials() {
  const std::string file = absl::GetFlag(FLAGS_tls_cert);
  if (file.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({Contents(absl::GetFlag(FLAGS_tls_key)), Contents(file)});
  return grpc::SslServerCredentials(options);
}

}  // namespace skein::load
