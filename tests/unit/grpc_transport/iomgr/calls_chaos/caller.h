// The client's end of each call.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_CALLER_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_CALLER_H_

#include <cstddef>
#include <cstdint>

#include "tests/unit/grpc_transport/iomgr/calls_chaos/ends.h"
#include "tests/unit/grpc_transport/iomgr/calls_chaos/journal.h"

namespace skein::calls_chaos {

// Makes the call with this number, and judges how it ends. Any thread.
void MakeCall(Journal& journal, const Ends& ends, size_t channel, uint64_t call);

}  // namespace skein::calls_chaos

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_CALLER_H_
