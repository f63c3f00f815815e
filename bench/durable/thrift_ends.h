// Both ends of a Thrift service whose calls are durable, or plain: what the benchmarks of durable calls serve and
// connect.
#ifndef SKEIN_BENCH_DURABLE_THRIFT_ENDS_H_
#define SKEIN_BENCH_DURABLE_THRIFT_ENDS_H_

#include <thrift/TProcessor.h>
#include <thrift/transport/TTransport.h>

#include <memory>
#include <string>
#include <vector>

namespace skein::bench {

struct ThriftCarrier {
  bool skein = false;                 // over shared memory, or else over TCP
  std::string log;                    // the server's redo log; empty: calls are plain ones
  std::vector<std::string> replicas;  // of that log, addresses
};

// Serves in a process of its own, until it is killed; for ServerProcess. Returns the exit status.
int ServeThrift(const ThriftCarrier& carrier, std::shared_ptr<apache::thrift::TProcessor> processor, int port_fd);

// Not connected.
std::shared_ptr<apache::thrift::transport::TTransport> ThriftSocket(const ThriftCarrier& carrier, int port);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_DURABLE_THRIFT_ENDS_H_
