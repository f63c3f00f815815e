// What calls and connections must not leave behind.
#ifndef SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_LEFTOVERS_H_
#define SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_LEFTOVERS_H_

#include <grpcpp/resource_quota.h>

#include <cstddef>

namespace skein::calls_chaos {

inline constexpr size_t kQuotaBytes = size_t{1} << 30;

// Calls of which an end of a connection in this process has not said that they are over.
long CallsListed();
// Of a quota of kQuotaBytes. gRPC must have been started.
double BytesUsed(const grpc::ResourceQuota& quota);
size_t Threads();
size_t Descriptors();

}  // namespace skein::calls_chaos

#endif  // SKEIN_TESTS_UNIT_GRPC_TRANSPORT_IOMGR_CALLS_CHAOS_LEFTOVERS_H_
