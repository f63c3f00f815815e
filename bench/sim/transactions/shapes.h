// Transactions as their coordinator sees them: steps, each of which is requests that go at the same time; the answers
// to all of them begin the next one.
//
//   execute -> validate -> log -> (FaSST: back up) -> commit
//
// Keys are dealt out to servers by chance. What is asked of a server in one step is one request.
#ifndef SKEIN_BENCH_SIM_TRANSACTIONS_SHAPES_H_
#define SKEIN_BENCH_SIM_TRANSACTIONS_SHAPES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "core/fabric/sim/random.h"

namespace skein::bench {

enum class Mix : uint8_t { kTatp, kSmallbank };

struct Protocol {
  bool one_sided = true;   // validates by READs
  bool log_apart = false;  // before the backups, at two servers more: FaSST's own, of five phases
};

struct Ask {
  size_t server = 0;
  size_t bytes = 0;
  size_t answer_bytes = 0;
  absl::Duration work = {};  // of the server, beyond a handler's
  bool one_sided = false;    // a READ
};

using Step = std::vector<Ask>;
using Shape = std::vector<Step>;

inline constexpr size_t kTransactionServers = 3;  // and each key has a copy on all of them

// A transaction of that mix, drawn by chance. Each key but a request's first costs the server `handler` more.
Shape Draw(Mix mix, const Protocol& protocol, absl::Duration handler, fabric::sim::Random& random);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_SIM_TRANSACTIONS_SHAPES_H_
