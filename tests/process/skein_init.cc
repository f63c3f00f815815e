#include <cstdlib>
#include <iostream>

#include "grpc_transport/skein.h"
#include "tests/process/probe_flags.h"

void skein::probe::InitTransport() {
  const absl::Status status = skein::grpc_transport::Init();
  if (status.ok()) return;
  std::cerr << "Init: " << status << std::endl;
  std::exit(3);
}
