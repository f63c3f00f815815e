// What the greeter's clients do with their channel, whatever it runs over.
#ifndef SKEIN_EXAMPLES_GREETER_GREETER_CALLS_H_
#define SKEIN_EXAMPLES_GREETER_GREETER_CALLS_H_

#include <grpcpp/grpcpp.h>

#include <memory>

namespace skein::examples {

// Measures, or with --watch sees the server go and come back (examples/client.h). Returns the exit status.
int CallGreeter(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_GREETER_GREETER_CALLS_H_
