// The asking side of a negotiation.
#ifndef SKEIN_GRPC_TRANSPORT_COMMON_CLIENT_NEGOTIATION_H_
#define SKEIN_GRPC_TRANSPORT_COMMON_CLIENT_NEGOTIATION_H_

#include <memory>
#include <string>

#include "grpc_transport/common/negotiation.h"

namespace skein::grpc_transport {

// Plaintext: the offer hides in the beginning of HTTP/2, so that a server without Skein just goes on. TLS: a server
// without Skein drops a client that speaks first in another tongue; the client comes back on a new connection, and
// remembers.
class ClientNegotiation final : public Negotiation {
 public:
  // `address`: of the server, for plain_peers().
  ClientNegotiation(absl::StatusOr<Options> options, std::string address, bool behind_proxy, Connection& connection,
                    ProcessState& process)
      : Negotiation(Path::Role::kClient, std::move(options), connection, process),
        address_(std::move(address)),
        behind_proxy_(behind_proxy) {}
  ~ClientNegotiation() override { DropOffer(); }

  void EndWaits() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);

 private:
  void Begin() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void Written() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void BytesCame() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void Lost(const absl::Status& why) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void TimedOut() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void Reached(const absl::Status& status) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void Reconnected(const absl::Status& status) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);

  // The offer was HTTP/2's beginning, and the server goes on with that.
  void FinishBehindOffer(const Fallback& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  Fallback PreventedHere() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  absl::Status MakeOffer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  void OnAnswer(absl::string_view answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  // Both ends have said yes; whether anything arrives remains to be seen.
  void TryOut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);
  // And what has become of it. Also by the destructor, when nobody else is there.
  void DropOffer() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void OnUnreachable(absl::string_view why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);

  // A new connection, on which nothing is asked.
  enum class Remember { kNo, kPeerIsPlain };
  void Reconnect(Fallback why, Remember remember) ABSL_EXCLUSIVE_LOCKS_REQUIRED(connection_.mu);

  const std::string address_;
  const bool behind_proxy_;

  bool secure_ ABSL_GUARDED_BY(connection_.mu) = false;
  bool asked_ ABSL_GUARDED_BY(connection_.mu) = false;  // the offer is on its way
  std::unique_ptr<stream::Connector::Attempt> attempt_ ABSL_GUARDED_BY(connection_.mu);
  stream::Outcome outcome_ ABSL_GUARDED_BY(connection_.mu);  // while it is tried out
  bool tried_out_ ABSL_GUARDED_BY(connection_.mu) = false;   // it was given some time
  // While reconnecting:
  bool reconnecting_ ABSL_GUARDED_BY(connection_.mu) = false;
  Fallback why_ ABSL_GUARDED_BY(connection_.mu);
  Remember remember_ ABSL_GUARDED_BY(connection_.mu) = Remember::kNo;
};

}  // namespace skein::grpc_transport

#endif  // SKEIN_GRPC_TRANSPORT_COMMON_CLIENT_NEGOTIATION_H_
