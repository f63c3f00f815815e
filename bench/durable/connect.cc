#include "bench/durable/ends.h"
#include "core/durable/flush/flush_mode.h"

namespace skein::bench::durable {

std::vector<std::string> Exchanges() {
  std::vector<std::string> names;
  for (const uint8_t mode : {1, 2, 3, 4}) {
    names.emplace_back(FlushModeName(static_cast<skein::durable::FlushMode>(mode)));
  }
  for (std::string& name : PlainExchanges()) names.push_back(std::move(name));
  return names;
}

absl::StatusOr<Connection> Connect(absl::string_view exchange, fabric::Device& sending, fabric::Device& receiving,
                                   const ConnectionOptions& options, const Costs& costs) {
  if (skein::durable::FlushModeOf(exchange)) return ConnectFlush(exchange, sending, receiving, options, costs);
  return ConnectExchange(exchange, sending, receiving, options, costs);
}

}  // namespace skein::bench::durable
