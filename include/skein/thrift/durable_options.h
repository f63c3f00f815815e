// How durable calls behave, at either end.
#ifndef SKEIN_THRIFT_DURABLE_OPTIONS_H_
#define SKEIN_THRIFT_DURABLE_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace skein::thrift_transport {

// How safe a call is that counts as persisted goes by name, from the server's log: "persistent" survives a power
// failure, "emulated" a crash of the process only (tests, /tmp); docs/durable.md has all.

struct TSkeinDurableClientOptions {
  // The least that is good enough; empty: whatever the server's log gives. A server that gives less takes no calls:
  // TTransportException (NOT_OPEN).
  std::string wanted;
  // For so long a lost connection is made anew, from when it was lost, before all calls fail. 0: not at all.
  std::chrono::milliseconds reconnect = std::chrono::seconds(30);
  // Without an answer; with more, flush() waits for some. And of what is not safe, the bytes.
  uint64_t most_calls = 4096;
  uint64_t most_bytes = uint64_t{64} << 20;
};

struct TSkeinDurableServerOptions {
  // The redo log's file: made if there is none, else what it holds is gone on with. One process at a time.
  std::string path;
  // Of that file, all taken from the start; the same each time. The largest call has less than a quarter of it.
  uint64_t bytes = uint64_t{64} << 20;
  // The least that the file's volume must give for the server to start; empty: whatever it gives.
  std::string required;
  // That run the handlers. Of one client, one call at a time, in order, unless they overlap: then they are begun in
  // order, and may end in any.
  int threads = 4;
  bool overlap = false;
  // With more that are not finished, clients are asked to send more slowly.
  uint64_t slow_requests = 1024;
  // Replies are kept for clients that come back for them until the client has them, or there are so many newer ones, or
  // they are so old, or they take a quarter of the log. After a crash also those that the client had count, once more.
  uint64_t kept_outcomes = uint64_t{64} << 10;
  std::chrono::milliseconds kept_for = std::chrono::minutes(10);
  // Whose calls are told apart at once. One that was gone for `client_expiry` may be forgotten for another; nobody that
  // is connected is. 0: up to 16,384, as the log's size allows.
  uint64_t clients = 0;
  std::chrono::milliseconds client_expiry = std::chrono::hours(1);
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_DURABLE_OPTIONS_H_
