// Where the time of this process's Thrift calls goes, told to the program itself.
#ifndef SKEIN_THRIFT_TRACING_H_
#define SKEIN_THRIFT_TRACING_H_

#include <skein/export.h>
#include <skein/traced.h>

#include <cstdint>

namespace skein::thrift_transport {

// From now on Skein calls `on_call` with one call of `every` over its transports, as far as a transport can tell calls
// (docs/tracing.md), at either end; with none if `every` is 0 or `on_call` is empty. At any time; the last setting
// counts, and hears of the process's gRPC calls, too, if these are traced. TTransportException (INTERNAL_ERROR): no
// thread is to be had. Any thread, one at a time.
SKEIN_EXPORT void TraceCalls(uint32_t every, OnTracedCall on_call);

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRACING_H_
