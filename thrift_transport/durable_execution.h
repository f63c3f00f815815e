// Durable calls as a Thrift processor executes them: out of memory, into memory.
#ifndef SKEIN_THRIFT_TRANSPORT_DURABLE_EXECUTION_H_
#define SKEIN_THRIFT_TRANSPORT_DURABLE_EXECUTION_H_

#include <thrift/TProcessor.h>
#include <thrift/protocol/TProtocol.h>

#include <memory>
#include <string>

#include "core/durable/calls/call_service.h"

namespace skein::thrift_transport {

// Any thread.
class DurableExecution {
 public:
  DurableExecution(std::shared_ptr<apache::thrift::TProcessor> processor,
                   std::shared_ptr<apache::thrift::protocol::TProtocolFactory> protocol);

  // The reply's bytes, none of a oneway call. What the processor throws becomes a reply, too: a call that cannot be
  // executed would otherwise be tried for ever.
  std::string operator()(const durable::DurableCall& call) const;

 private:
  std::string Process(const durable::DurableCall& call) const;
  std::string Refuse(const durable::DurableCall& call, const std::string& why) const;

  const std::shared_ptr<apache::thrift::TProcessor> processor_;
  const std::shared_ptr<apache::thrift::protocol::TProtocolFactory> protocol_;
};

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRANSPORT_DURABLE_EXECUTION_H_
