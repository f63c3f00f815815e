#include "bench/macro/init.h"

namespace skein::bench {

void InitTransport() {}

void BeginStages() {}

std::vector<absl::Duration> EndStages() { return {}; }

const char* SkeinMode() { return nullptr; }

}  // namespace skein::bench
