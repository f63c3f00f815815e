// The one difference between the plain programs and the Skein ones.
#ifndef SKEIN_BENCH_MACRO_INIT_H_
#define SKEIN_BENCH_MACRO_INIT_H_

namespace skein::bench {

// Defined by plain_init.cc (does nothing) or skein_init.cc (skein::grpc_transport::Init). Exits when it fails.
void InitTransport();

// Value of the channel argument skein.mode, or null for none.
const char* SkeinMode();

}  // namespace skein::bench

#endif  // SKEIN_BENCH_MACRO_INIT_H_
