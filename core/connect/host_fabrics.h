// The fabrics of this host: shared memory for processes on it, RDMA for whom its ports reach.
#ifndef SKEIN_CORE_CONNECT_HOST_FABRICS_H_
#define SKEIN_CORE_CONNECT_HOST_FABRICS_H_

#include <memory>

#include "core/base/options.h"
#include "core/connect/fabrics.h"

namespace skein::connect {

// Opens nothing before it is needed. A refusal of the kernel's (descriptors, a system call) is a candidate's why_not,
// found out before anything is offered or accepted. The RDMA port for a peer is the one that has the address
// by which the connection of the route leaves this host (the kernel has routed it), unless the options name one. After
// a failure, RDMA to that peer address is left alone for RdmaOptions::retry_delay.
std::shared_ptr<Fabrics> CreateHostFabrics(const SharedMemoryOptions& shm, const RdmaOptions& rdma);

// The same, one for all in this process that have these options at the same time: they share the socket where peers
// meet this process, devices, and what has failed lately. Any thread.
std::shared_ptr<Fabrics> HostFabricsOfProcess(const SharedMemoryOptions& shm, const RdmaOptions& rdma);

}  // namespace skein::connect

#endif  // SKEIN_CORE_CONNECT_HOST_FABRICS_H_
