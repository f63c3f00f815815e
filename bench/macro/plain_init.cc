#include "bench/macro/init.h"

namespace skein::bench {

void InitTransport() {}

const char* SkeinMode() { return nullptr; }

}  // namespace skein::bench
