// The service of a load, by each of gRPC's APIs for servers.
#ifndef SKEIN_TESTS_LOAD_GRPC_SERVICE_H_
#define SKEIN_TESTS_LOAD_GRPC_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/strings/string_view.h"

namespace skein::load {

class LoadService {
 public:
  virtual ~LoadService() = default;
  // Before the server is built.
  virtual void AddTo(grpc::ServerBuilder& builder) = 0;
  // Once the server is there; and once it is shut down, before this is destroyed.
  virtual void Start() {}
  virtual void Stop() {}
};

// By the API called sync, callback or queue; nullptr for others.
std::unique_ptr<LoadService> NewLoadService(absl::string_view api);

}  // namespace skein::load

#endif  // SKEIN_TESTS_LOAD_GRPC_SERVICE_H_
