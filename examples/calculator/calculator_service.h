// The calculator service: an ordinary Thrift service.
#ifndef SKEIN_EXAMPLES_CALCULATOR_CALCULATOR_SERVICE_H_
#define SKEIN_EXAMPLES_CALCULATOR_CALCULATOR_SERVICE_H_

#include <thrift/transport/TServerSocket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "examples/calculator/Calculator.h"

namespace skein::examples {

class CalculatorHandler final : public CalculatorIf {
 public:
  int64_t add(int64_t left, int64_t right) override;
  int64_t sum(const std::vector<int64_t>& numbers) override;
  void echo(std::string& result, const std::string& payload) override;
};

// Serves what connects to `socket`, each connection on a thread of its own. Says "listening on <port>" on stdout once
// it does. Returns the exit status, after SIGTERM or SIGINT; call it before any thread starts.
int ServeUntilSignal(const std::shared_ptr<apache::thrift::transport::TServerSocket>& socket);

}  // namespace skein::examples

#endif  // SKEIN_EXAMPLES_CALCULATOR_CALCULATOR_SERVICE_H_
