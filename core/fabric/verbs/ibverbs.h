// libibverbs, opened at run time: a host without it runs everything else. What the header has inline (posting, polling)
// goes through the device's own table and needs no library.
#ifndef SKEIN_CORE_FABRIC_VERBS_IBVERBS_H_
#define SKEIN_CORE_FABRIC_VERBS_IBVERBS_H_

#include <infiniband/verbs.h>

#include "absl/status/statusor.h"

namespace skein::fabric::verbs {

#define SKEIN_IBVERBS_FUNCTIONS(F) \
  F(get_device_list)               \
  F(free_device_list)              \
  F(get_device_name)               \
  F(open_device)                   \
  F(close_device)                  \
  F(get_async_event)               \
  F(ack_async_event)               \
  F(query_device)                  \
  F(query_port)                    \
  F(alloc_pd)                      \
  F(dealloc_pd)                    \
  F(reg_mr)                        \
  F(dereg_mr)                      \
  F(create_comp_channel)           \
  F(destroy_comp_channel)          \
  F(create_cq)                     \
  F(destroy_cq)                    \
  F(create_srq)                    \
  F(destroy_srq)                   \
  F(get_cq_event)                  \
  F(ack_cq_events)                 \
  F(create_qp)                     \
  F(modify_qp)                     \
  F(destroy_qp)                    \
  F(event_type_str)                \
  F(wc_status_str)

struct Ibverbs {
// NOLINTNEXTLINE(bugprone-macro-parentheses): it declares the name
#define SKEIN_DECLARE(name) decltype(&::ibv_##name) name = nullptr;
  SKEIN_IBVERBS_FUNCTIONS(SKEIN_DECLARE)
#undef SKEIN_DECLARE
  decltype(&::_ibv_query_gid_table) query_gid_table = nullptr;
  decltype(&::ibv_qp_to_qp_ex) qp_to_qp_ex = nullptr;  // null: of no use without
};

// Loaded once; the library stays. UNAVAILABLE: not installed, or too old; what to install is said.
absl::StatusOr<const Ibverbs*> LoadIbverbs();

}  // namespace skein::fabric::verbs

#endif  // SKEIN_CORE_FABRIC_VERBS_IBVERBS_H_
