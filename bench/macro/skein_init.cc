#include <cstdlib>
#include <iostream>

#include "bench/macro/init.h"
#include "grpc_transport/skein.h"

namespace skein::bench {

void InitTransport() {
  const absl::Status status = skein::grpc_transport::Init();
  if (status.ok()) return;
  std::cerr << "Init: " << status << std::endl;
  std::exit(3);
}

const char* SkeinMode() { return "prefer"; }

}  // namespace skein::bench
