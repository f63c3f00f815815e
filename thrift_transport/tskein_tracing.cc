#include <skein/thrift/tracing.h>

#include <string>
#include <utility>

#include "core/trace/telling.h"
#include "thrift/transport/TTransportException.h"

namespace skein::thrift_transport {

using apache::thrift::transport::TTransportException;

void TraceCalls(uint32_t every, OnTracedCall on_call) {
  const absl::Status status = trace::TellCalls(every, std::move(on_call));
  if (!status.ok()) throw TTransportException(TTransportException::INTERNAL_ERROR, std::string(status.message()));
}

}  // namespace skein::thrift_transport
