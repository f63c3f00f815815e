// examples/transactions under load: its coordinators over the channels of a path.
#ifndef SKEIN_BENCH_APPS_TRANSACTIONS_H_
#define SKEIN_BENCH_APPS_TRANSACTIONS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "bench/apps/channel.h"
#include "bench/apps/load.h"
#include "bench/apps/measured.h"

namespace skein::bench {

// Servers that all have a copy of everything. `options.operation`: "tatp" or "smallbank", of `options.size`.
Service TransactionService(const LoadOptions& options, size_t server);

// Requests to one server that so many coroutines have under way.
size_t TransactionWindow(const LoadOptions& options, size_t coroutines);

// One thread's: `coroutines` do one transaction after the other. Validates by ReadWord where there is memory, else by
// calls.
void WorkTransactions(std::vector<std::unique_ptr<Channel>> servers, const LoadOptions& options, uint32_t seed,
                      size_t coroutines, double seconds, Measured& measured);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_APPS_TRANSACTIONS_H_
