// How durable calls behave, at either end.
#ifndef SKEIN_THRIFT_DURABLE_OPTIONS_H_
#define SKEIN_THRIFT_DURABLE_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace skein::thrift_transport {

// The server's log gives its safety by a name: a "persistent" call survives a power failure, an "emulated" one a crash
// of the process only (tests, /tmp); docs/durable.md has all names.

struct TSkeinDurableClientOptions {
  // The least that is good enough; empty: as much as the server's log gives. A server that gives less takes no calls:
  // TTransportException (NOT_OPEN).
  std::string wanted;
  // For so long after a loss the transport tries to make the connection anew, before all calls fail. 0: not at all.
  std::chrono::milliseconds reconnect = std::chrono::seconds(30);
  // Calls without an answer; with more, flush() waits for some. And the bytes of calls that are not safe.
  uint64_t max_calls = 4096;
  uint64_t max_bytes = uint64_t{64} << 20;
};

struct TSkeinDurableServerOptions {
  // The redo log's file: made if there is none; else the server goes on with its calls. One process at a time.
  std::string path;
  // The file's bytes, all taken from the start; the same each time. The largest call has less than a quarter of it.
  uint64_t bytes = uint64_t{64} << 20;
  // "host:port" of each replica of the log (`skein durable replica`): it gets all that is written to the log.
  std::vector<std::string> replicas;
  // So many logs, this one included, have what is acknowledged: calls, and replies. 0: all of them. While fewer have
  // it, calls wait, and stop(); after `replica_patience` the log takes nothing more, as if its disk had failed.
  uint32_t acknowledge = 0;
  std::chrono::milliseconds replica_patience = std::chrono::seconds(30);
  // The least that the file's volume must give for the server to start; empty: as much as it gives.
  std::string required;
  // Threads that run the handlers. Of one client, one call at a time, in order, unless its calls overlap: then they
  // begin in order, and may end in any.
  int threads = 4;
  bool overlap = false;
  // With more unfinished calls the server asks clients to send more slowly.
  uint64_t slow_requests = 1024;
  // Replies are kept for clients that come back for them until the client has them, or there are so many newer ones, or
  // they are so old, or they take a quarter of the log. After a crash, replies that the client has already had count
  // once more.
  uint64_t kept_outcomes = uint64_t{64} << 10;
  std::chrono::milliseconds kept_for = std::chrono::minutes(10);
  // Clients that the server knows at a time. It may forget one that was gone for `client_expiry` for another, but none
  // that is connected. 0: up to 16,384, as the log's size allows.
  uint64_t clients = 0;
  std::chrono::milliseconds client_expiry = std::chrono::hours(1);
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_DURABLE_OPTIONS_H_
