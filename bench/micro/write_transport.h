// WRITEs into the peer's memory, by the fabric's contract alone: what ib_write_lat and ib_write_bw do, done so.
#ifndef SKEIN_BENCH_MICRO_WRITE_TRANSPORT_H_
#define SKEIN_BENCH_MICRO_WRITE_TRANSPORT_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "bench/micro/socket.h"
#include "bench/micro/transport.h"
#include "core/fabric/fabric.h"

namespace skein::bench {

// WRITEs under way in a flood; perftest has as many.
inline constexpr uint32_t kWriteDepth = 128;

// Connects to the peer over `control`; one end offers, the other does not. `bytes` is a multiple of 8.
absl::StatusOr<std::unique_ptr<Transport>> OpenWrites(std::shared_ptr<fabric::Device> device, Socket& control,
                                                      bool offers, size_t bytes);

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MICRO_WRITE_TRANSPORT_H_
