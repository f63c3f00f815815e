// The server's end of each call.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_SERVICE_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <string>

#include "tests/unit/grpc_transport/iomgr/calls_chaos/chaos.grpc.pb.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/journal.h"

namespace skein::calls_chaos {

// What a handler says that ends its call by its plan.
std::string LastWords(uint64_t call);
// Metadata: the call's number in decimal. The handler sends it back behind its messages.
inline constexpr char kCallKey[] = "call";

// Each handler follows its call's plan, on gRPC's threads, and checks what it is sent.
class Service final : public Chaos::Service {
 public:
  // `number`: which server of the run it belongs to.
  Service(Journal& journal, uint32_t number) : journal_(journal), number_(number) {}

 private:
  grpc::Status Unary(grpc::ServerContext* context, const Payload* request, Payload* reply) override;
  grpc::Status Up(grpc::ServerContext* context, grpc::ServerReader<Payload>* reader, Payload* reply) override;
  grpc::Status Down(grpc::ServerContext* context, const Payload* request, grpc::ServerWriter<Payload>* writer) override;
  grpc::Status Both(grpc::ServerContext* context, grpc::ServerReaderWriter<Payload, Payload>* stream) override;
  grpc::Status Where(grpc::ServerContext* context, const Payload* request, Place* place) override;

  Journal& journal_;
  const uint32_t number_;
};

}  // namespace skein::calls_chaos

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_SERVICE_H_
