// What gRPC's program of a load is called with besides (options.h).
#ifndef SKEIN_TESTS_LOAD_GRPC_OPTIONS_H_
#define SKEIN_TESTS_LOAD_GRPC_OPTIONS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/flags/declare.h"

ABSL_DECLARE_FLAG(std::vector<std::string>, kinds);
ABSL_DECLARE_FLAG(double, cancelled);
ABSL_DECLARE_FLAG(std::string, api);

namespace skein::load {

// Whether the process is one without Skein: gRPC as it was installed.
bool Stock();

// TLS if there is a certificate for it. Servers' is localhost's, wherever they are.
grpc::ChannelArguments ClientArguments();
std::shared_ptr<grpc::ChannelCredentials> ClientCredentials();
std::shared_ptr<grpc::ServerCredentials> ServerCredentials();

}  // namespace skein::load

#endif  // SKEIN_TESTS_LOAD_GRPC_OPTIONS_H_
