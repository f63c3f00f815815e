// Echoes until its standard input ends. Prints "listening on ADDRESS" when it is ready.
#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "bench/macro/files.h"
#include "bench/macro/init.h"
#include "bench/macro/server.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:0", "address to listen on");
ABSL_FLAG(std::string, style, "sync", "which of gRPC's server interfaces: callback, or else sync");
ABSL_FLAG(std::string, tls_cert, "", "PEM file; with --tls_key makes it a TLS server");
ABSL_FLAG(std::string, tls_key, "", "PEM file");

namespace skein::bench {
namespace {

std::shared_ptr<grpc::ServerCredentials> Credentials() {
  if (absl::GetFlag(FLAGS_tls_cert).empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back(
      {ReadFile(absl::GetFlag(FLAGS_tls_key)), ReadFile(absl::GetFlag(FLAGS_tls_cert))});
  return grpc::SslServerCredentials(options);
}

int Serve() {
  const Server server(absl::GetFlag(FLAGS_style), absl::GetFlag(FLAGS_listen), Credentials());
  if (!server) return 1;
  std::cout << "listening on " << server.address() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
  }
  return 0;
}

}  // namespace
}  // namespace skein::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  skein::bench::InitTransport();
  skein::bench::KeepGrpc();
  return skein::bench::Serve();
}
