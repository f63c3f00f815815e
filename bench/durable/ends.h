// The two ends of a connection, in whatever way they exchange requests. Everything they do happens in the instant of
// the call; what it costs is asked for first, and waited for by who calls.
#ifndef SKEIN_BENCH_DURABLE_ENDS_H_
#define SKEIN_BENCH_DURABLE_ENDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "bench/durable/costs.h"
#include "bench/durable/workload.h"
#include "core/fabric/sim/simulation.h"

namespace skein::bench::durable {

// Requests are numbered in the order in which they are sent, from 1 on; the second sender to a log goes on from there.
class SenderEnd {
 public:
  virtual ~SenderEnd() = default;
  // The number of the first that is to be sent: the receiver has all before it.
  virtual uint64_t first() const { return 1; }
  // A write is over when it is safe, before it is executed.
  virtual bool early() const = 0;
  // Of those, whether the receiver's core says so.
  virtual bool receiver_acknowledges() const { return true; }
  // Whether so many more may be sent.
  virtual bool HasRoom(size_t operations) const = 0;
  virtual absl::Duration SendCost(absl::Span<const Operation> batch) const = 0;
  virtual absl::Status Send(absl::Span<const Operation> batch) = 0;

  // What has come since.
  struct News {
    uint64_t safe_up_to = 0;        // of all requests
    std::vector<uint64_t> replies;  // numbers
    absl::Duration cost;            // of taking it
  };
  virtual absl::StatusOr<News> Poll() = 0;
};

class ReceiverEnd {
 public:
  struct Request {
    uint64_t number = 0;
    Operation operation{};
  };
  virtual ~ReceiverEnd() = default;
  // Whether something has come, or is to be done. With what it costs to take it.
  virtual absl::Duration TakeCost() = 0;  // zero: nothing
  virtual absl::Status Take(std::vector<Request>& requests) = 0;
  // Of a handler's work on an object, but for what all handlers do.
  virtual absl::Duration ExecuteCost(const Operation& operation) const = 0;
  virtual absl::Duration FinishCost(absl::Span<const Request> requests) const = 0;
  virtual absl::Status Finish(absl::Span<const Request> requests) = 0;
};

// Persistent memory that a receiver's log lies in. It keeps what it has, if its receiver does not live on.
class ModelledPmem;

struct ConnectionOptions {
  size_t object_bytes = 0;
  size_t batch = 1;
  std::shared_ptr<ModelledPmem> pmem{};  // a former life's; nullptr: a new one
};

struct Connection {
  std::unique_ptr<ReceiverEnd> receiver;
  std::unique_ptr<SenderEnd> sender;
  std::shared_ptr<ModelledPmem> pmem{};  // nullptr: the exchange has no log
};

// All there are: those that are durable early first, then those that wait for the reply.
std::vector<std::string> Exchanges();
// INVALID_ARGUMENT for another name.
absl::StatusOr<Connection> Connect(absl::string_view exchange, fabric::Device& sending, fabric::Device& receiving,
                                   const ConnectionOptions& options, const Costs& costs);

// Of a durable connection in the mode so called, and of the others; nullptr for an unknown name.
absl::StatusOr<Connection> ConnectFlush(absl::string_view mode, fabric::Device& sending, fabric::Device& receiving,
                                        const ConnectionOptions& options, const Costs& costs);
absl::StatusOr<Connection> ConnectExchange(absl::string_view exchange, fabric::Device& sending,
                                           fabric::Device& receiving, const ConnectionOptions& options,
                                           const Costs& costs);
std::vector<std::string> PlainExchanges();

}  // namespace skein::bench::durable

#endif  // SKEIN_BENCH_DURABLE_ENDS_H_
