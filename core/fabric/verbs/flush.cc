#include "core/fabric/verbs/flush.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace skein::fabric::verbs {
namespace {

// Of rdma-core 45's verbs.h, which never change: bits of device_cap_flags_ex, send_ops_flags, ibv_access_flags; an
// opcode; placement types; and the level that flushes a range, not a region.
constexpr uint64_t kDeviceFlushGlobal = uint64_t{1} << 38;
constexpr uint64_t kDeviceFlushPersistent = uint64_t{1} << 39;
constexpr uint64_t kQueuePairWithFlush = uint64_t{1} << 11;
constexpr int kAccessFlushGlobal = 1 << 8;
constexpr int kAccessFlushPersistent = 1 << 9;
constexpr auto kFlush = static_cast<ibv_wr_opcode>(14);
constexpr uint8_t kFlushGlobal = 1 << 0;
constexpr uint8_t kFlushPersistent = 1 << 1;
constexpr uint8_t kFlushRange = 0;

using PostFlush = void (*)(ibv_qp_ex* queue_pair, uint32_t rkey, uint64_t address, size_t bytes, uint8_t type,
                           uint8_t level);

// In the table of a queue pair, two behind the last that all headers declare: wr_abort, wr_atomic_write, wr_flush. A
// driver that has made a queue pair for FLUSHes has a table that long.
PostFlush PostFlushOf(const ibv_qp_ex* queue_pair) {
  constexpr size_t kAt = offsetof(ibv_qp_ex, wr_abort) + 2 * sizeof(PostFlush);
  PostFlush post = nullptr;
  std::memcpy(&post, reinterpret_cast<const char*>(queue_pair) + kAt, sizeof(post));
  return post;
}

int PostOne(ibv_qp_ex* queue_pair, const ibv_send_wr& work) {
  queue_pair->wr_start(queue_pair);
  queue_pair->wr_id = work.wr_id;
  queue_pair->wr_flags = work.send_flags;
  PostFlushOf(queue_pair)(queue_pair, work.wr.atomic.rkey, work.wr.atomic.remote_addr, work.wr.atomic.compare_add,
                          static_cast<uint8_t>(work.wr.atomic.swap), kFlushRange);
  return queue_pair->wr_complete(queue_pair);
}

}  // namespace

bool QueryExtended(const Context& context, ibv_device_attr_ex& attributes) {
  const verbs_context* const table = verbs_get_ctx(context.get());
  // The table is as long as it says, from its end: what is newer lies before what is older.
  if (table == nullptr || table->sz < sizeof(*table) - offsetof(verbs_context, query_device_ex) ||
      table->query_device_ex == nullptr) {
    return false;
  }
  const ibv_query_device_ex_input input = {};
  return table->query_device_ex(context.get(), &input, &attributes, sizeof(attributes)) == 0;
}

FlushTypes FlushesOf(const Context& context) {
  ibv_device_attr_ex attributes = {};
  const bool can_ask = context.lib().qp_to_qp_ex != nullptr && QueryExtended(context, attributes);
  if (!can_ask || verbs_get_ctx(context.get())->create_qp_ex == nullptr) return {};
  return {.visible = (attributes.device_cap_flags_ex & kDeviceFlushGlobal) != 0,
          .persistent = (attributes.device_cap_flags_ex & kDeviceFlushPersistent) != 0};
}

ibv_qp* CreateForFlushes(const Context& context, ibv_pd* domain, const ibv_qp_init_attr& attributes) {
  ibv_qp_init_attr_ex extended = {};
  extended.send_cq = attributes.send_cq;
  extended.recv_cq = attributes.recv_cq;
  extended.srq = attributes.srq;
  extended.cap = attributes.cap;
  extended.qp_type = attributes.qp_type;
  extended.pd = domain;
  extended.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  extended.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
                            IBV_QP_EX_WITH_RDMA_READ | kQueuePairWithFlush;
  if (context.attributes().atomic_cap != IBV_ATOMIC_NONE) {
    extended.send_ops_flags |= IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
  }
  ibv_qp* const made = verbs_get_ctx(context.get())->create_qp_ex(context.get(), &extended);
  if (made == nullptr) return nullptr;
  const ibv_qp_ex* const table = context.lib().qp_to_qp_ex(made);
  if (table != nullptr && PostFlushOf(table) != nullptr) return made;
  context.lib().destroy_qp(made);
  errno = EOPNOTSUPP;
  return nullptr;
}

int FlushFlags(const FlushTypes& allowed) {
  return (allowed.visible ? kAccessFlushGlobal : 0) | (allowed.persistent ? kAccessFlushPersistent : 0);
}

FlushTypes FlushesIn(uint32_t access) {
  return {.visible = (access & kRemoteFlush) != 0, .persistent = (access & kRemoteFlushPersistent) != 0};
}

ibv_send_wr FlushWork(const SendRequest& request) {
  ibv_send_wr work = {};
  work.opcode = kFlush;
  work.wr.atomic.remote_addr = request.remote.address;
  work.wr.atomic.rkey = request.remote.rkey;
  work.wr.atomic.compare_add = request.operand;
  work.wr.atomic.swap = request.placement == Placement::kPersistent ? kFlushPersistent : kFlushGlobal;
  return work;
}

int PostWithFlushes(const Ibverbs& lib, ibv_qp* queue_pair, absl::Span<ibv_send_wr> work, size_t& taken) {
  ibv_qp_ex* const table = lib.qp_to_qp_ex(queue_pair);
  taken = 0;
  while (taken < work.size()) {
    if (work[taken].opcode == kFlush) {
      if (const int error = PostOne(table, work[taken]); error != 0) return error;
      ++taken;
      continue;
    }
    // What the other table's setters do with several segments, and with inline data, is not right in all drivers.
    size_t end = taken;
    while (end < work.size() && work[end].opcode != kFlush) ++end;
    work[end - 1].next = nullptr;
    ibv_send_wr* refused = nullptr;
    const int error = ibv_post_send(queue_pair, &work[taken], &refused);
    if (error != 0) {
      taken = refused == nullptr ? end : static_cast<size_t>(refused - work.data());
      return error;
    }
    taken = end;
  }
  return 0;
}

}  // namespace skein::fabric::verbs
