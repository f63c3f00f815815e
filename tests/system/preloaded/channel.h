// A channel by gRPC's C interface alone, for programs that are linked to one gRPC or another.
#ifndef SKEIN_TESTS_PROCESS_PRELOADED_CHANNEL_H_
#define SKEIN_TESTS_PROCESS_PRELOADED_CHANNEL_H_

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#if __has_include(<grpc/credentials.h>)
#include <grpc/credentials.h>  // gRPC 1.73 has credentials there
#endif

#include <string>

namespace skein {

// To `target`; skein.mode says `mode`, unless that is "".
inline grpc_channel* MakeChannel(const char* target, const std::string& mode) {
  grpc_arg argument = {};
  argument.type = GRPC_ARG_STRING;
  argument.key = const_cast<char*>("skein.mode");
  argument.value.string = const_cast<char*>(mode.c_str());
  const grpc_channel_args arguments = {1, &argument};
  grpc_channel_credentials* const credentials = grpc_insecure_credentials_create();
  grpc_channel* const channel = grpc_channel_create(target, credentials, mode.empty() ? nullptr : &arguments);
  grpc_channel_credentials_release(credentials);
  return channel;
}

}  // namespace skein

#endif  // SKEIN_TESTS_PROCESS_PRELOADED_CHANNEL_H_
