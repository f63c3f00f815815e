// What the environment asked of Skein when the process began.
#ifndef SKEIN_GRPC_TRANSPORT_PRELOAD_ASKED_H_
#define SKEIN_GRPC_TRANSPORT_PRELOAD_ASKED_H_

namespace skein::preload {

struct Asked {
  const char* mode;        // SKEIN_GRPC's value; null when it is unset: Skein is not asked for
  const char** variables;  // each SKEIN_* variable as "NAME=value", null at the end
};

// A copy made by the first call, so that daemons that clear or overwrite their environment later change nothing. Null:
// Skein is not asked for. Any thread.
const Asked* WhatIsAsked();

bool Is(const char* mode, const char* name);

}  // namespace skein::preload

#endif  // SKEIN_GRPC_TRANSPORT_PRELOAD_ASKED_H_
