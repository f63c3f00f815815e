// The asked side of a negotiation: looks at a connection's first bytes until it is certain whose they are.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_SERVER_NEGOTIATION_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_SERVER_NEGOTIATION_H_

#include <utility>

#include "grpc_transport/common/negotiation.h"

namespace skein::grpc_transport {

class ServerNegotiation final : public Negotiation {
 public:
  ServerNegotiation(absl::StatusOr<Options> options, Connection& connection, ProcessState& process)
      : Negotiation(Path::Role::kServer, std::move(options), connection, process) {}
  ~ServerNegotiation() override { DropOutcome(); }

 private:
  void Begin() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void Written() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void BytesCame() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void Lost(const absl::Status& why) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu) { Fail(why); }
  void TimedOut() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  stream::Listener::Result Accept(absl::string_view offer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);

  void DropOutcome() ABSL_NO_THREAD_SAFETY_ANALYSIS { LetGo(outcome_); }  // nobody else is there

  stream::Outcome outcome_ ABSL_GUARDED_BY(connection_.mu);  // while the answer is being written
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_SERVER_NEGOTIATION_H_
