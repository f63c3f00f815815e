// FLUSH of RDMA devices (InfiniBand Architecture Specification vol. 1, annex A19). It is newer than Debian 12's
// headers, so what it needs of the library's interface is written down here (rdma-core 45 and later have it), and each
// device is asked when its port is opened.
#ifndef SKEIN_CORE_FABRIC_VERBS_FLUSH_H_
#define SKEIN_CORE_FABRIC_VERBS_FLUSH_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "core/fabric/fabric.h"
#include "core/fabric/verbs/context.h"

namespace skein::fabric::verbs {

struct FlushTypes {
  bool visible = false;
  bool persistent = false;
  bool any() const { return visible || persistent; }
};

// Asks the device, through its own table. False where that has no way to ask.
bool QueryExtended(const Context& context, ibv_device_attr_ex& attributes);

// What the device says of itself; nothing where the library has no way to ask or to post. Whether its driver in this
// process can post a FLUSH, only a queue pair that is made for it shows: see OpenPort.
FlushTypes FlushesOf(const Context& context);

// A queue pair for FLUSHes as well. Null, and errno.
ibv_qp* CreateForFlushes(const Context& context, ibv_pd* domain, const ibv_qp_init_attr& attributes);

// ibv_access_flags that let a region or a queue pair be flushed.
int FlushFlags(const FlushTypes& allowed);
FlushTypes FlushesIn(uint32_t access);

// The two halves of a FLUSH among other work: what it asks, kept in the fields of an atomic's.
ibv_send_wr FlushWork(const SendRequest& request);
// As ibv_post_send, for a queue pair of CreateForFlushes, with FLUSHes among the work; the others go by ibv_post_send
// itself. errno or 0; `taken`: how many the device has been given.
int PostWithFlushes(const Ibverbs& lib, ibv_qp* queue_pair, absl::Span<ibv_send_wr> work, size_t& taken);

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_FLUSH_H_
