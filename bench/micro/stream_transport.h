// A stream over a fabric; both ends spin on their link while they wait.
#ifndef SKEIN_BENCH_MICRO_STREAM_TRANSPORT_H_
#define SKEIN_BENCH_MICRO_STREAM_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "bench/micro/socket.h"
#include "bench/micro/transport.h"
#include "core/channel/channel.h"
#include "core/stream/connector.h"

namespace skein::bench {

// Negotiates over `control`; one end asks, the other does not.
absl::StatusOr<std::unique_ptr<Transport>> OpenStream(std::shared_ptr<channel::Transport> transport,
                                                      const stream::StreamOptions& options, Socket& control, bool asks,
                                                      size_t bytes);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MICRO_STREAM_TRANSPORT_H_
