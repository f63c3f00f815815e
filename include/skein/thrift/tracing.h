// Where the time of this process's Thrift calls goes, told to the program itself.
#ifndef SKEIN_THRIFT_TRACING_H_
#define SKEIN_THRIFT_TRACING_H_

#include <skein/export.h>
#include <skein/traced.h>

#include <cstdint>

namespace skein::thrift_transport {

// From now on `on_call` hears of one call of `every` over Skein's transports, as far as a transport can tell calls
// (docs/ tracing.md), at either end; of none if `every` is 0 or there is none to hear. At any time; the last said
// counts. TTransportException (INTERNAL_ERROR): no thread is to be had. Any thread, one at
// a time.
SKEIN_EXPORT void TraceCalls(uint32_t every, OnTracedCall on_call);

}  // namespace skein::thrift_transport

#endif  // SKEIN_THRIFT_TRACING_H_
