// What the calculator's clients do with their socket, whichever it is.
#ifndef SKEIN_EXAMPLES_CALCULATOR_CALCULATOR_CALLS_H_
#define SKEIN_EXAMPLES_CALCULATOR_CALCULATOR_CALLS_H_

#include <thrift/transport/TSocket.h>

#include <functional>
#include <memory>
#include <string>

namespace skein::examples {

// Measures, or with --watch sees the server go and come back (examples/client.h). Says by `path` on stderr, of each
// connection, what it uses. Returns the exit status.
int CallCalculator(const std::shared_ptr<apache::thrift::transport::TSocket>& socket,
                   const std::function<std::string()>& path);

// Skein's socket tells its path, and why it is no better one; Thrift's knows of one only.
template <typename Socket>
int CallCalculator(const std::shared_ptr<Socket>& socket) {
  return CallCalculator(socket, [socket]() -> std::string {
    if constexpr (requires { socket->getSkeinPath(); }) {
      return socket->getSkeinPath() + (socket->getSkeinReason().empty() ? "" : ": " + socket->getSkeinReason());
    }
    return "tcp";
  });
}

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_CALCULATOR_CALCULATOR_CALLS_H_
