// What the greeter's clients do with their channel, whatever it runs over.
#ifndef SKEIN_EXAMPLES_GREETER_GREETER_CALLS_H_
#define SKEIN_EXAMPLES_GREETER_GREETER_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <iostream>
#include <memory>
#include <string>

namespace skein::examples {

// Reads the flags; returns the one positional argument. Exits with usage when there is none.
std::string ParseTarget(int argc, char** argv);

// Measures (unary p50 and p99, 1 MiB echo bandwidth, one line on stdout), or with --watch calls until the server was
// lost and came back, one line per change. Returns the exit status.
int CallGreeter(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_GREETER_GREETER_CALLS_H_
