// Static probes (USDT) of provider "skein", for bpftrace, perf and SystemTap: each is one nop until somebody attaches.
// What each tells is public, in docs/tracing.md: arguments are only ever added behind those that are there.
#ifndef SKEIN_CORE_TRACE_PROBES_H_
#define SKEIN_CORE_TRACE_PROBES_H_

#include <sys/sdt.h>

#include <cstddef>
#include <cstdint>

#include "core/trace/record.h"

namespace skein::trace::probes {

// A traced call or message is over, on the thread that ended it; `method` ends with a 0, `times` are kStages.
inline void Recorded(const Record& record, const char* method) {
  const Interval whole = WholeOf(record.kind, record.side);
  const uint64_t from = At(record.times, whole.from);
  const uint64_t to = At(record.times, whole.to);
  const uint64_t ns = from != 0 && to > from ? to - from : 0;
  DTRACE_PROBE8(skein, record, static_cast<int>(record.kind), static_cast<int>(record.side),
                static_cast<int>(record.path), method, record.bytes, ns, record.times.data(), record.degree);
}

// A message of `bytes` of items, of `senders` threads, was posted or has been read. `channel` tells links apart.
inline void Posted(const void* channel, size_t bytes, size_t senders) {
  DTRACE_PROBE3(skein, posted, channel, bytes, senders);
}
inline void Received(const void* channel, size_t bytes) { DTRACE_PROBE2(skein, received, channel, bytes); }

// A thread that slept on a link's descriptor polls again.
inline void Woken(const void* link) { DTRACE_PROBE1(skein, woken, link); }

// A connection's path is known: texts end with a 0, `why` is empty for the best one.
inline void Connected(const char* framework, bool client, const char* peer, const char* path, const char* why) {
  DTRACE_PROBE5(skein, connected, framework, static_cast<int>(client), peer, path, why);
}

}  // namespace skein::trace::probes

#endif  // SKEIN_CORE_TRACE_PROBES_H_
