#include <skein/grpc.h>

#include <cstdlib>
#include <iostream>

#include "tests/system/probe_flags.h"

void skein::probe::InitTransport() {
  const absl::Status status = skein::grpc_transport::Init();
  if (status.ok()) return;
  std::cerr << "Init: " << status << std::endl;
  // With a mistake in the environment a program may go on: each of its connections will say it again.
  if (!absl::IsInvalidArgument(status)) std::exit(3);
}
